"""Bugs of the group coordinator in share groups."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kraft.coordinator.core import Token
from kraft.coordinator.groups.rebalance import Step
from kraft.coordinator.groups.share import admin, heartbeat, requests, states
from kraft.coordinator.groups.share.assignor import assign_simple
from kraft.coordinator.groups.share.decision import ShareDecision
from kraft.coordinator.groups.share.group import ShareGroup, ShareMember
from kraft.coordinator.groups.share.records import ShareGroupRecord, member_tombstones
from kraft.coordinator.groups.share.registry import ShareGroups
from kraft.metadata.steps import Steps
from tests.coordinator.planted import PlantedBug


def nothing(*_: Any, **__: Any) -> Steps[None]:
    yield 1


def a_partition_that_is_assigned_without_a_state(patch: pytest.MonkeyPatch) -> None:
    def assign_all(members: Any, assignable: Any) -> Any:
        topics = {topic_id for member in members for topic_id in member.topics}
        return (yield from assign_simple(members, dict.fromkeys(topics, range(2))))

    patch.setattr(heartbeat, "assign_simple", assign_all)


def an_assignor_with_one_member(patch: pytest.MonkeyPatch) -> None:
    def assign_one(members: Any, assignable: Any) -> Any:
        return (yield from assign_simple(members[:1], assignable))

    patch.setattr(heartbeat, "assign_simple", assign_one)


def an_epoch_that_a_subscription_does_not_raise(patch: pytest.MonkeyPatch) -> None:
    raise_epoch = heartbeat._raise_epoch

    def without_bump(decision: Any, shares: Any, image: Any, *, bump: bool) -> Any:
        return (yield from raise_epoch(decision, shares, image, bump=bump and not decision.draft.epoch))

    patch.setattr(heartbeat, "_raise_epoch", without_bump)


def a_member_epoch_that_goes_back(patch: pytest.MonkeyPatch) -> None:
    reconciled = heartbeat._reconciled

    def older(group: ShareGroup, member: ShareMember, image: Any, *, bumped: bool) -> ShareMember:
        after = reconciled(group, member, image, bumped=bumped)
        return attrs.evolve(after, member_epoch=after.member_epoch - bumped * 2) if after.member_epoch > 2 else after

    patch.setattr(heartbeat, "_reconciled", older)


def a_member_that_shares_what_it_does_not_subscribe_to(patch: pytest.MonkeyPatch) -> None:
    def anything(group: ShareGroup, member: ShareMember, image: Any, *, bumped: bool) -> ShareMember:
        shared = next(iter(group.target.values()), {})
        epochs = {"member_epoch": group.assignment_epoch, "previous_member_epoch": member.member_epoch}
        return attrs.evolve(member, assigned=dict(shared), **epochs)

    patch.setattr(heartbeat, "_reconciled", anything)


def a_new_partition_that_is_not_noticed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ShareGroup, "has_unassigned", property(lambda group: False))


def a_fence_that_keeps_the_target(patch: pytest.MonkeyPatch) -> None:
    def without_target(group_id: str, member_id: str) -> list[ShareGroupRecord]:
        assignment, _, metadata = member_tombstones(group_id, member_id)
        return [assignment, metadata]

    patch.setattr(heartbeat, "member_tombstones", without_target)


def a_session_that_never_ends(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ShareGroups, "late", lambda self, now, group_id: [])


def a_loaded_member_without_a_session(patch: pytest.MonkeyPatch) -> None:
    def begin(self: ShareGroups, now: float, settings: Any) -> Steps[None]:
        self.committed = dict(self.groups)
        yield 1

    patch.setattr(ShareGroups, "begin", begin)


def a_response_that_does_not_wait_for_the_commit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Step, "reply_once_committed", Step.reply)


def a_group_that_is_shown_before_it_is_committed(patch: pytest.MonkeyPatch) -> None:
    decided = ShareGroups.decided

    def shown(self: ShareGroups, decision: ShareDecision) -> None:
        decided(self, decision)
        if decision.group is not None:
            self.committed[decision.group_id] = decision.group

    patch.setattr(ShareGroups, "decided", shown)


def a_group_that_is_deleted_with_its_members(patch: pytest.MonkeyPatch) -> None:
    def delete(step: Step, shares: ShareGroups, group_id: str, token: Token) -> Steps[None]:
        yield from admin._append_tombstones(step, shares, group_id, token)

    patch.setattr(requests, "delete_group", delete)


def a_group_that_is_deleted_before_its_states(patch: pytest.MonkeyPatch) -> None:
    def delete(step: Step, shares: ShareGroups, group_id: str, token: Token) -> Steps[None]:
        admin._check_empty(shares.groups[group_id])
        yield from admin._append_tombstones(step, shares, group_id, token)

    patch.setattr(requests, "delete_group", delete)


def a_state_of_a_deleted_topic_that_is_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(heartbeat, "forget_deleted", nothing)


def a_refused_state_that_counts_as_initialized(patch: pytest.MonkeyPatch) -> None:
    finish = states.finish

    def succeeded(decision: Any, asked: Any, image: Any, *, failed: bool) -> Steps[None]:
        yield from finish(decision, asked, image, failed=False)

    patch.setattr(admin, "finish", succeeded)


def a_state_that_is_initialized_before_its_deletion(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(states, "_is_deleting", lambda *_: False)


def a_state_that_is_not_asked_for_again(patch: pytest.MonkeyPatch) -> None:
    initialize = states.initialize_missing

    def once(decision: ShareDecision, shares: ShareGroups, image: Any) -> Steps[None]:
        if decision.group_id not in shares.initializing_since:
            yield from initialize(decision, shares, image)

    patch.setattr(heartbeat, "initialize_missing", once)


PLANTED = [
    PlantedBug("share-groups", a_partition_that_is_assigned_without_a_state, "AssignedHasState"),
    PlantedBug("share-groups", an_assignor_with_one_member, "AllAreAssigned"),
    PlantedBug("share-groups", an_epoch_that_a_subscription_does_not_raise, "GroupSettles"),
    PlantedBug("share-groups", a_member_epoch_that_goes_back, "EpochsRise"),
    PlantedBug("share-groups", a_member_that_shares_what_it_does_not_subscribe_to, "OnlyMembersShare"),
    PlantedBug("share-groups", a_new_partition_that_is_not_noticed, "GroupSettles"),
    PlantedBug("share-groups", a_fence_that_keeps_the_target, "OnlyMembersShare"),
    PlantedBug("share-groups", a_session_that_never_ends, "DeadlinesMove"),
    PlantedBug("share-groups", a_loaded_member_without_a_session, "OnlyMembersShare"),
    PlantedBug("share-groups", a_response_that_does_not_wait_for_the_commit, "AnsweredIsCommitted"),
    PlantedBug("share-groups", a_group_that_is_shown_before_it_is_committed, "ReplayIsLive"),
    PlantedBug("share-groups", a_group_that_is_deleted_with_its_members, "OnlyEmptyGroupsGo"),
    PlantedBug("share-groups", a_group_that_is_deleted_before_its_states, "StatesGoFirst"),
    PlantedBug("share-groups", a_state_of_a_deleted_topic_that_is_kept, "StatesGoWithTopics"),
    PlantedBug("share-groups", a_refused_state_that_counts_as_initialized, "AssignedHasState"),
    PlantedBug("share-groups", a_state_that_is_initialized_before_its_deletion, "AssignedHasState"),
    PlantedBug("share-groups", a_state_that_is_not_asked_for_again, "GroupSettles"),
]
