"""Bugs of the leader of a share partition, and of the share coordinator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import pytest

from kraft.broker.share.partition import Acknowledgement, Acquired, SharePartition
from kraft.broker.share.runs import NO_LOCK, RecordState, Run, Runs, ShareTransition, StateChange
from kraft.coordinator.share.core import ShareCoordinator, ShareEffects, ShareEntry, ShareEvent
from kraft.coordinator.share.records import ShareUpdate
from kraft.coordinator.share.state import NO_EPOCH, SharePartitionKey, ShareState
from kraft.metadata.steps import Steps
from tests.coordinator.planted import PlantedBug


def a_lock_that_ends_at_once(patch: pytest.MonkeyPatch) -> None:
    lock = Run.lock
    patch.setattr(Run, "lock", lambda self, member_id, until: lock(self, member_id, until - 5.9))


def a_delivery_that_is_not_counted(patch: pytest.MonkeyPatch) -> None:
    lock = Run.lock

    def uncounted(self: Run, member_id: str, until: float) -> None:
        lock(self, member_id, until)
        self.deliveries = 1

    patch.setattr(Run, "lock", uncounted)


def a_limit_that_is_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Run, "freed", lambda self, max_deliveries: RecordState.AVAILABLE)


def an_outcome_that_holds_although_its_write_failed(patch: pytest.MonkeyPatch) -> None:
    finish = SharePartition.finish

    def always(self: SharePartition, now: float, transition: ShareTransition, *, committed: bool) -> None:
        finish(self, now, transition, committed=True)

    patch.setattr(SharePartition, "finish", always)


def an_outcome_that_does_not_wait_for_its_write(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Run, "is_done", property(lambda self: self.state.is_terminal))


def a_start_that_passes_acquired_records(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Run, "is_done", property(lambda self: not self.is_free and self.transition is None))


def an_acknowledgement_of_another_member(patch: pytest.MonkeyPatch) -> None:
    acknowledge = SharePartition._acknowledge

    def anybody(
        self: SharePartition, now: float, member_id: str, batch: Acknowledgement, transition: ShareTransition
    ) -> None:
        for run in self.runs.overlapping(batch.first_offset, batch.last_offset):
            if run.state is RecordState.ACQUIRED:
                run.member_id = member_id
        acknowledge(self, now, member_id, batch, transition)

    patch.setattr(SharePartition, "_acknowledge", anybody)


def a_session_that_frees_the_records_of_others(patch: pytest.MonkeyPatch) -> None:
    release = SharePartition.release

    def all_released(self: SharePartition, member_id: str) -> ShareTransition:
        for run in self.runs:
            run.member_id = member_id if run.state is RecordState.ACQUIRED else run.member_id
        return release(self, member_id)

    patch.setattr(SharePartition, "release", all_released)


def a_renewal_that_is_ignored(patch: pytest.MonkeyPatch) -> None:
    acknowledge = SharePartition._acknowledge

    def without_time(
        self: SharePartition, now: float, member_id: str, batch: Acknowledgement, transition: ShareTransition
    ) -> None:
        before = {run.first: run.locked_until for run in self.runs}
        acknowledge(self, now, member_id, batch, transition)
        for run in self.runs:
            if run.state is RecordState.ACQUIRED and run.first in before:
                run.locked_until = before[run.first]

    patch.setattr(SharePartition, "_acknowledge", without_time)


def a_lock_that_never_ends(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SharePartition, "deadline", property(lambda self: NO_LOCK))


def a_record_that_is_never_offered_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SharePartition, "next_fetch_offset", lambda self: self.end_offset)


def an_aborted_record_that_is_delivered(patch: pytest.MonkeyPatch) -> None:
    def kept(self: SharePartition, acquired: list[Acquired], first: int, last: int) -> list[Acquired]:
        return acquired

    patch.setattr(SharePartition, "_archive_aborted", kept)


def a_load_without_delivery_counts(patch: pytest.MonkeyPatch) -> None:
    load = SharePartition.load

    def uncounted(self: SharePartition, batches: Iterable[StateChange]) -> None:
        load(self, [each._replace(delivery_count=0) for each in batches])

    patch.setattr(SharePartition, "load", uncounted)


def a_load_that_begins_behind_the_known_records(patch: pytest.MonkeyPatch) -> None:
    load = SharePartition.load

    def skipping(self: SharePartition, batches: Iterable[StateChange]) -> None:
        load(self, batches)
        self.start_offset, self.runs = self.end_offset, Runs()

    patch.setattr(SharePartition, "load", skipping)


def a_write_of_an_earlier_leader(patch: pytest.MonkeyPatch) -> None:
    write = ShareCoordinator._write

    def unfenced(self: ShareCoordinator, now: float, key: SharePartitionKey, data: Any, effects: Any) -> Steps[object]:
        return (yield from write(self, now, key, data.evolve(leader_epoch=NO_EPOCH), effects))

    patch.setattr(ShareCoordinator, "_write", unfenced)


def a_write_of_an_earlier_state(patch: pytest.MonkeyPatch) -> None:
    write = ShareCoordinator._write

    def unfenced(self: ShareCoordinator, now: float, key: SharePartitionKey, data: Any, effects: Any) -> Steps[object]:
        return (yield from write(self, now, key, data.evolve(state_epoch=NO_EPOCH), effects))

    patch.setattr(ShareCoordinator, "_write", unfenced)


def a_read_that_fences_nobody(patch: pytest.MonkeyPatch) -> None:
    read = ShareCoordinator._read

    def unnoted(self: ShareCoordinator, now: float, key: SharePartitionKey, data: Any, effects: Any) -> Steps[object]:
        return (yield from read(self, now, key, data.evolve(leader_epoch=NO_EPOCH), effects))

    patch.setattr(ShareCoordinator, "_read", unnoted)


def an_initialization_that_forgets_the_leader(patch: pytest.MonkeyPatch) -> None:
    replay = ShareCoordinator._replay

    def forgetting(self: ShareCoordinator, record: Any) -> Steps[None]:
        yield from replay(self, record)
        if isinstance(record.change, ShareState) and not record.change.batches:
            self.entries[record.share_partition].leader_epoch = 0

    patch.setattr(ShareCoordinator, "_replay", forgetting)


def an_update_that_replaces_the_state(patch: pytest.MonkeyPatch) -> None:
    applied_to = ShareUpdate.applied_to

    def replacing(self: ShareUpdate, state: ShareState | None) -> Steps[ShareState]:
        return (yield from applied_to(self, state and attrs.evolve(state, batches=())))

    patch.setattr(ShareUpdate, "applied_to", replacing)


def a_snapshot_without_the_last_update(patch: pytest.MonkeyPatch) -> None:
    update = ShareCoordinator._update

    def older(
        self: ShareCoordinator, now: float, key: SharePartitionKey, entry: ShareEntry, change: Any, effects: Any
    ) -> Steps[None]:
        if entry.updates >= self.world.updates_per_snapshot:
            change = attrs.evolve(change, batches=())
        yield from update(self, now, key, entry, change, effects)

    patch.setattr(ShareCoordinator, "_update", older)


def a_log_that_is_pruned_too_far(patch: pytest.MonkeyPatch) -> None:
    def newest(self: ShareCoordinator) -> int:
        return max((entry.snapshot_offset for entry in self.entries.values()), default=0)

    patch.setattr(ShareCoordinator, "redundant_offset", property(newest))


def a_response_that_does_not_wait_for_the_commit(patch: pytest.MonkeyPatch) -> None:
    in_steps = ShareCoordinator.in_steps

    def at_once(self: ShareCoordinator, now: float, event: ShareEvent, effects: ShareEffects) -> Steps[None]:
        yield from in_steps(self, now, event, effects)
        effects.replies += effects.replies_once_committed
        effects.replies_once_committed.clear()

    patch.setattr(ShareCoordinator, "in_steps", at_once)


PLANTED = [
    PlantedBug("shares", a_lock_that_ends_at_once, "LocksEnd"),
    PlantedBug("shares", a_delivery_that_is_not_counted, "CountsAreKept"),
    PlantedBug("shares", a_limit_that_is_ignored, "DeliveryLimit"),
    PlantedBug("shares", an_outcome_that_holds_although_its_write_failed, "NothingIsSkipped"),
    PlantedBug("shares", an_outcome_that_does_not_wait_for_its_write, "NothingIsSkipped"),
    PlantedBug("shares", a_start_that_passes_acquired_records, "NothingIsSkipped"),
    PlantedBug("shares", an_acknowledgement_of_another_member, "OneHolder"),
    PlantedBug("shares", a_session_that_frees_the_records_of_others, "OneHolder"),
    PlantedBug("shares", a_renewal_that_is_ignored, "OneHolder"),
    PlantedBug("shares", a_lock_that_never_ends, "LocksEnd"),
    PlantedBug("shares", a_record_that_is_never_offered_again, "EverythingIsDelivered"),
    PlantedBug("shares", an_aborted_record_that_is_delivered, "AbortedIsNotDelivered"),
    PlantedBug("shares", a_load_without_delivery_counts, "CountsAreKept"),
    PlantedBug("shares", a_load_that_begins_behind_the_known_records, "NothingIsSkipped"),
    PlantedBug("shares", a_write_of_an_earlier_leader, "StaleWritesAreFenced"),
    PlantedBug("shares", a_write_of_an_earlier_state, "StaleWritesAreFenced"),
    PlantedBug("shares", a_read_that_fences_nobody, "AcceptedIsFinal"),
    PlantedBug("shares", an_initialization_that_forgets_the_leader, "StaleWritesAreFenced"),
    PlantedBug("shares", an_update_that_replaces_the_state, "ReplayIsLive"),
    PlantedBug("shares", a_snapshot_without_the_last_update, "ReplayIsLive"),
    PlantedBug("shares", a_log_that_is_pruned_too_far, "ReplayIsLive"),
    PlantedBug("shares", a_response_that_does_not_wait_for_the_commit, "AnsweredIsCommitted"),
]
