"""Bugs of the group coordinator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import attrs
import pytest
from immutables import Map

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups import admin, offsets, session
from kraft.coordinator.groups.consumer import (
    heartbeat,
    migration,
    reconciliation,
    regexes,
    registry,
    replay,
    target,
)
from kraft.coordinator.groups.consumer.assignors import ASSIGNORS, AssignedMember, Shares
from kraft.coordinator.groups.consumer.group import ConsumerGroup, ConsumerMember
from kraft.coordinator.groups.consumer.records import ConsumerGroupRecord, group_metadata
from kraft.coordinator.groups.consumer.registry import ConsumerGroups, Timeouts
from kraft.coordinator.groups.group import Group
from kraft.coordinator.groups.offsets import Offsets
from kraft.coordinator.groups.rebalance import Step
from kraft.coordinator.groups.records import OffsetRecord
from kraft.messages.consumer_group_current_member_assignment_value import ConsumerGroupCurrentMemberAssignmentValue
from kraft.messages.delete_groups_response import DeleteGroupsResponse
from kraft.messages.sync_group_request import SyncGroupRequest
from kraft.metadata.steps import Steps
from tests.coordinator.groups.members import GROUP
from tests.coordinator.planted import PlantedBug


def a_revocation_that_nobody_acknowledged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reconciliation.Reconciliation, "_owns_any", lambda self, revoking: False)


def a_partition_that_another_member_still_has(patch: pytest.MonkeyPatch) -> None:
    assigned = replay._assigned

    def without_owners(group: ConsumerGroup, member_id: str, value: Any) -> ConsumerGroup:
        return attrs.evolve(assigned(group, member_id, value), owners=Map())

    patch.setattr(replay, "_assigned", without_owners)


def an_upgrade_that_takes_unrevoked_partitions_for_free(patch: pytest.MonkeyPatch) -> None:
    def unchanged(members: list[ConsumerMember], claims: object) -> Steps[list[ConsumerMember]]:
        yield 1
        return members

    patch.setattr(migration, "_revoking", unchanged)


def a_response_that_does_not_wait_for_the_commit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Step, "reply_once_committed", Step.reply)


def an_assignment_that_is_sent_before_it_is_committed(patch: pytest.MonkeyPatch) -> None:
    assign = session._assign

    def assign_and_tell(step: Step, group: Group, message: SyncGroupRequest) -> Steps[None]:
        yield from assign(step, group, message)
        if group.storing is not None:
            yield from session.assignment_committed(step, group)

    patch.setattr(session, "_assign", assign_and_tell)


def an_offset_that_is_shown_before_it_is_committed(patch: pytest.MonkeyPatch) -> None:
    write = Offsets.write

    def write_and_apply(self: Offsets, step: Step, record: OffsetRecord) -> None:
        write(self, step, record)
        if record.committed is not None:
            self.replay(record)

    patch.setattr(Offsets, "write", write_and_apply)


def a_commit_with_any_member_epoch(patch: pytest.MonkeyPatch) -> None:
    def unchecked(*_: object) -> Steps[None]:
        yield 1

    patch.setattr(registry, "check_commit", unchecked)


def a_commit_with_any_generation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(offsets, "_check_committer", lambda step, groups, request: None)


def a_session_that_never_ends(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Timeouts, "deadline", lambda self: 1e12)


def a_session_of_a_static_member_that_returned(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Timeouts, "keep", lambda self, members: None)


def a_new_topic_that_is_not_noticed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ConsumerGroups, "has_seen", lambda self, group_id, image: True)


def found_topics_that_raise_no_epoch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(regexes, "group_metadata", lambda group_id, epoch, found: group_metadata(group_id, epoch - 1, found))


def an_assignor_that_forgets_a_partition(patch: pytest.MonkeyPatch) -> None:
    def forgets(members: list[AssignedMember], counts: Mapping[UUID, int]) -> Steps[Shares]:
        shares = yield from ASSIGNORS["range"](members, counts)
        for share in shares.values():
            for partitions in share.values():
                partitions.discard(3)
        return shares

    patch.setattr(target, "ASSIGNORS", {"uniform": forgets})


def an_epoch_that_a_fence_does_not_raise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(heartbeat, "group_metadata", lambda group_id, epoch, found: group_metadata(group_id, 1, found))


def a_downgrade_that_leaves_records_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(migration, "group_tombstones", lambda group: [])


def a_load_that_forgets_revocations(patch: pytest.MonkeyPatch) -> None:
    load = ConsumerGroups.load

    def forgetting(self: ConsumerGroups, record: ConsumerGroupRecord) -> None:
        if isinstance(record.message, ConsumerGroupCurrentMemberAssignmentValue):
            record.message.partitions_pending_revocation.clear()
        load(self, record)

    patch.setattr(ConsumerGroups, "load", forgetting)


def an_offset_that_expires_while_it_is_read(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ConsumerGroup, "subscribed_topics", lambda self: frozenset())


def an_offset_that_expires_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(offsets, "_lapsed", lambda *_: True)


def a_group_that_is_deleted_with_its_members(patch: pytest.MonkeyPatch) -> None:
    def delete(
        step: Step, groups: dict[str, Group], consumers: ConsumerGroups, known: Offsets, request: CoordinatorRequest
    ) -> Steps[None]:
        if step.may_write() and GROUP in consumers.groups:
            yield from offsets.forget(step, known, GROUP, known.written(GROUP))
            yield from consumers.delete(step, GROUP)
        step.reply_once_committed(request.token, DeleteGroupsResponse())

    patch.setattr(admin, "delete", delete)


PLANTED = [
    PlantedBug("groups", a_revocation_that_nobody_acknowledged, "OneOwner"),
    PlantedBug("groups", a_partition_that_another_member_still_has, "OneAssignment"),
    PlantedBug("groups", an_upgrade_that_takes_unrevoked_partitions_for_free, "OneOwner"),
    PlantedBug("groups", a_response_that_does_not_wait_for_the_commit, "AnsweredIsCommitted"),
    PlantedBug("groups", an_assignment_that_is_sent_before_it_is_committed, "AnsweredIsCommitted"),
    PlantedBug("groups", an_offset_that_is_shown_before_it_is_committed, "ReplayIsLive"),
    PlantedBug("groups", a_commit_with_any_member_epoch, "OffsetsAdvance"),
    PlantedBug("groups", a_commit_with_any_generation, "OffsetsAdvance"),
    PlantedBug("groups", a_session_that_never_ends, "GroupSettles"),
    PlantedBug("groups", a_session_of_a_static_member_that_returned, "DeadlinesMove"),
    PlantedBug("groups", a_new_topic_that_is_not_noticed, "StableCoversAll"),
    PlantedBug("groups", found_topics_that_raise_no_epoch, "StableCoversAll"),
    PlantedBug("groups", an_assignor_that_forgets_a_partition, "GroupSettles"),
    PlantedBug("groups", an_epoch_that_a_fence_does_not_raise, "EpochsRise"),
    PlantedBug("groups", a_downgrade_that_leaves_records_behind, "EpochsRise"),
    PlantedBug("groups", a_load_that_forgets_revocations, "ReplayIsLive"),
    PlantedBug("groups", an_offset_that_expires_while_it_is_read, "ExpiryIsAllowed"),
    PlantedBug("groups", an_offset_that_expires_at_once, "ExpiryIsAllowed"),
    PlantedBug("groups", a_group_that_is_deleted_with_its_members, "OnlyEmptyGroupsGo"),
]
