"""Bugs of the group coordinator in the offsets of transactions."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kraft.coordinator.groups import core, offsets, transactions
from kraft.coordinator.groups.core import GroupCoordinator
from kraft.coordinator.groups.offsets import Offsets
from kraft.coordinator.groups.rebalance import Step
from kraft.coordinator.groups.records import OffsetRecord
from kraft.coordinator.groups.transactional_offsets import TransactionalOffsets
from kraft.metadata.steps import Steps
from tests.coordinator.planted import PlantedBug


def an_offset_that_counts_before_its_transaction_ends(patch: pytest.MonkeyPatch) -> None:
    replay = Offsets.replay

    def replay_at_once(self: Offsets, record: OffsetRecord) -> None:
        replay(self, record)
        replay(self, attrs.evolve(record, producer_id=-1))

    patch.setattr(Offsets, "replay", replay_at_once)


def an_abort_that_commits_offsets(patch: pytest.MonkeyPatch) -> None:
    end = Offsets.end
    patch.setattr(Offsets, "end", lambda self, producer_id, *, is_committed: end(self, producer_id, is_committed=True))


def an_end_that_forgets_an_offset(patch: pytest.MonkeyPatch) -> None:
    def end(self: TransactionalOffsets, producer_id: int, by_group: Any, *, is_committed: bool) -> Steps[None]:
        for group_id, keys in self._of_producer.pop(producer_id, {}).items():
            key = next(iter(keys))
            if is_committed:
                self._commit(group_id, key, producer_id, by_group)
            self._remove(group_id, key, producer_id)
            yield 1

    patch.setattr(TransactionalOffsets, "end", end)


def a_pending_offset_that_is_stable(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TransactionalOffsets, "is_unstable", lambda self, group_id, key: False)


def a_load_that_forgets_open_transactions(patch: pytest.MonkeyPatch) -> None:
    load = GroupCoordinator.load

    def forgetting(self: GroupCoordinator, records: Any) -> Steps[None]:
        yield from load(self, (each for each in records if each.producer_id < 0))

    patch.setattr(GroupCoordinator, "load", forgetting)


def _commit_with(patch: pytest.MonkeyPatch, changed: Any) -> None:
    """Let ``changed`` check the producers of TxnOffsetCommit. It gets the real check first."""
    commit = transactions.commit

    def checked(*arguments: Any) -> Steps[None]:
        *others, check = arguments
        yield from commit(*others, lambda *producer, **what: changed(check, *producer, **what))

    patch.setattr(core.transactions, "commit", checked)


def a_commit_of_a_fenced_producer(patch: pytest.MonkeyPatch) -> None:
    _commit_with(patch, lambda check, *producer, verified_at: None)


def a_commit_that_was_verified_for_an_ended_transaction(patch: pytest.MonkeyPatch) -> None:
    _commit_with(patch, lambda check, *producer, verified_at: check(*producer))


def a_marker_of_a_fenced_coordinator(patch: pytest.MonkeyPatch) -> None:
    end = transactions.end
    unchecked = lambda *_, **__: None  # noqa: E731
    patch.setattr(core.transactions, "end", lambda step, token, message, check: end(step, token, message, unchecked))


def a_marker_that_is_answered_before_it_is_committed(patch: pytest.MonkeyPatch) -> None:
    end = transactions.end

    def at_once(step: Step, *arguments: Any) -> None:
        end(step, *arguments)
        step.effects.replies += step.effects.replies_once_committed
        step.effects.replies_once_committed.clear()

    patch.setattr(core.transactions, "end", at_once)


def a_commit_that_is_answered_before_it_is_committed(patch: pytest.MonkeyPatch) -> None:
    commit = transactions.commit

    def at_once(step: Step, *arguments: Any) -> Steps[None]:
        yield from commit(step, *arguments)
        step.effects.replies += step.effects.replies_once_committed
        step.effects.replies_once_committed.clear()

    patch.setattr(core.transactions, "commit", at_once)


def an_offset_that_expires_in_a_transaction(patch: pytest.MonkeyPatch) -> None:
    expire = offsets.expire

    def blind(step: Step, groups: Any, consumers: Any, known: Offsets, group_id: str) -> Steps[None]:
        kept, known.transactional = known.transactional, TransactionalOffsets()
        yield from expire(step, groups, consumers, known, group_id)
        known.transactional = kept

    patch.setattr(core.offsets, "expire", blind)


def a_deleted_offset_that_its_transaction_brings_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TransactionalOffsets, "deleted", lambda self, group_id, key: None)


def an_offset_of_the_transaction_that_ends_last(patch: pytest.MonkeyPatch) -> None:
    def commit(self: TransactionalOffsets, group_id: str, key: Any, producer_id: int, by_group: Any) -> None:
        offset = self.by_group[group_id][key][producer_id]
        if offset is not None:
            by_group.setdefault(group_id, {})[key] = offset

    patch.setattr(TransactionalOffsets, "_commit", commit)


def an_offset_that_replaces_a_later_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TransactionalOffsets, "replaced", lambda self, group_id, key: None)


def a_deletion_that_leaves_pending_offsets(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Offsets, "written", lambda self, group_id: dict.fromkeys(self.of(group_id)))


PLANTED = [
    PlantedBug("transactions-2", an_offset_that_counts_before_its_transaction_ends, "OffsetsAreTheLogs"),
    PlantedBug("transactions", an_abort_that_commits_offsets, "OffsetsAreTheLogs"),
    PlantedBug("transactions-2", an_end_that_forgets_an_offset, "OnlyPendingIsUnstable"),
    PlantedBug("transactions", a_pending_offset_that_is_stable, "PendingIsUnstable"),
    PlantedBug("transactions-2", a_load_that_forgets_open_transactions, "ReplayIsLive"),
    PlantedBug("transactions-2", a_commit_of_a_fenced_producer, "ZombiesAreFenced"),
    PlantedBug("transactions", a_commit_that_was_verified_for_an_ended_transaction, "Atomicity"),
    PlantedBug("transactions-2", a_marker_of_a_fenced_coordinator, "Atomicity"),
    PlantedBug("transactions-2", a_marker_that_is_answered_before_it_is_committed, "AnsweredIsCommitted"),
    PlantedBug("transactions-2", a_commit_that_is_answered_before_it_is_committed, "AnsweredIsCommitted"),
    PlantedBug("transactions", an_offset_that_expires_in_a_transaction, "ExpiryIsAllowed"),
    PlantedBug("transactions", a_deleted_offset_that_its_transaction_brings_back, "OffsetsAreTheLogs"),
    PlantedBug("transactions-2", an_offset_of_the_transaction_that_ends_last, "OffsetsAreTheLogs"),
    PlantedBug("transactions", an_offset_that_replaces_a_later_one, "OffsetsAreTheLogs"),
    PlantedBug("transactions", a_deletion_that_leaves_pending_offsets, "ExpiryIsAllowed"),
]
