"""The share coordinator: epochs that fence, snapshots and updates, and what a load restores."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import attrs
import pytest

from kraft.coordinator.core import Committed, CoordinatorRequest, StoredRecord
from kraft.coordinator.share.core import ShareCoordinator, ShareStateRequest, ShareWorld, TidyShareStates
from kraft.coordinator.share.records import ShareUpdate
from kraft.coordinator.share.state import SharePartitionKey, ShareState
from kraft.messages import (
    delete_share_group_state_request as delete_request,
)
from kraft.messages import (
    initialize_share_group_state_request as initialize_request,
)
from kraft.messages import (
    read_share_group_state_request as read_request,
)
from kraft.messages import (
    read_share_group_state_summary_request as summary_request,
)
from kraft.messages import (
    write_share_group_state_request as write_request,
)
from kraft.metadata.steps import finished
from kraft.wire.errors import ErrorCode

TOPIC = UUID(int=7)
KEY = SharePartitionKey("g", TOPIC, 0)


@attrs.define
class ShareDesk:
    """A coordinator with one topic, and the log that it has appended."""

    partitions: dict[UUID, int] = attrs.Factory(lambda: {TOPIC: 2})
    may_write: bool = True
    max_batch_bytes: int = 1 << 20
    log: list[Any] = attrs.Factory(list)
    core: ShareCoordinator = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.core = self.new_core()

    def new_core(self) -> ShareCoordinator:
        world = ShareWorld(
            lambda topic_id: self.partitions.get(topic_id, 0),
            lambda: self.may_write,
            lambda: self.max_batch_bytes,
            updates_per_snapshot=3,
        )
        return ShareCoordinator(world)

    def send(self, data: Any, key: SharePartitionKey = KEY, now: float = 1.0) -> Any:
        effects = self.core.step(now, CoordinatorRequest("token", ShareStateRequest(key, data), 0))
        base_offset = len(self.log)
        self.log += effects.append
        if effects.append:
            self.core.step(now, Committed(effects.append, base_offset))
        [(token, reply)] = effects.replies_once_committed
        assert token == "token"
        assert not effects.replies
        return reply

    def initialize(self, state_epoch: int = 1, start_offset: int = -1) -> Any:
        return self.send(initialize_request.PartitionData(0, state_epoch, start_offset))

    def read(self, leader_epoch: int = -1) -> Any:
        return self.send(read_request.PartitionData(0, leader_epoch))

    def write(
        self, first: int, last: int, *, state: int = 2, start: int = 0, leader_epoch: int = 5, state_epoch: int = 1
    ) -> Any:
        batch = write_request.StateBatch(first, last, state, 1)
        return self.send(write_request.PartitionData(0, state_epoch, leader_epoch, start, 0, [batch]))

    def summary(self) -> Any:
        return self.send(summary_request.PartitionData(0, -1))

    def delete(self) -> Any:
        return self.send(delete_request.PartitionData(0))

    def tidied(self, now: float) -> list[Any]:
        """Tidy once; return the records, which are committed."""
        records = self.core.step(now, TidyShareStates()).append
        base_offset = len(self.log)
        self.log += records
        if records:
            self.core.step(now, Committed(records, base_offset))
        return records

    def reloaded(self) -> ShareCoordinator:
        core = self.new_core()
        finished(core.load(StoredRecord(each.key, each.value, offset=n) for n, each in enumerate(self.log)))
        return core


@pytest.fixture
def desk() -> ShareDesk:
    return ShareDesk()


def test_a_new_state_has_no_start_offset(desk: ShareDesk) -> None:
    assert desk.initialize().error_code == ErrorCode.NONE
    read = desk.read()
    assert (read.error_code, read.state_epoch, read.start_offset, read.state_batches) == (0, 1, -1, [])
    assert desk.summary().delivery_complete_count == -1


def test_an_altered_start_offset_counts_from_zero(desk: ShareDesk) -> None:
    """``ShareGroupOffset.fromRequest``: with a start offset, the completed deliveries are 0."""
    desk.initialize(start_offset=9)
    summary = desk.summary()
    assert (summary.start_offset, summary.delivery_complete_count) == (9, 0)


def test_a_read_by_a_new_leader_is_recorded_and_fences_the_former(desk: ShareDesk) -> None:
    """``readStateAndMaybeUpdateLeaderEpoch``: the read writes the new leader epoch."""
    desk.initialize()
    assert desk.read(5).error_code == ErrorCode.NONE
    assert isinstance(desk.log[-1].change, ShareUpdate)
    appended = len(desk.log)
    assert desk.read(5).error_code == ErrorCode.NONE
    assert len(desk.log) == appended
    assert desk.read(4).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert desk.write(0, 1, leader_epoch=4).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert desk.write(0, 1, leader_epoch=5).error_code == ErrorCode.NONE


def test_a_state_that_is_initialised_again_still_fences_former_leaders(desk: ShareDesk) -> None:
    """The log before the new snapshot may be deleted. Apache's snapshot has no leader epoch."""
    desk.initialize(1)
    desk.read(5)
    desk.initialize(2, start_offset=9)
    core = desk.new_core()
    last = desk.log[-1]
    finished(core.load([StoredRecord(last.key, last.value, offset=len(desk.log) - 1)]))
    desk.core = core
    assert desk.read(4).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert desk.read(5).error_code == ErrorCode.NONE


def test_a_lower_state_epoch_is_fenced(desk: ShareDesk) -> None:
    """The group coordinator raises the state epoch when the offsets of a group are altered."""
    desk.initialize(3)
    assert desk.write(0, 1, state_epoch=2).error_code == ErrorCode.FENCED_STATE_EPOCH
    assert desk.initialize(2).error_code == ErrorCode.FENCED_STATE_EPOCH
    assert desk.initialize(3).error_code == ErrorCode.NONE
    assert desk.initialize(-1).error_code == ErrorCode.NONE


def test_an_uninitialised_state_is_neither_read_nor_written(desk: ShareDesk) -> None:
    assert desk.read(1).error_code == ErrorCode.INVALID_REQUEST
    assert desk.write(0, 1).error_code == ErrorCode.INVALID_REQUEST
    summary = desk.summary()
    assert (summary.error_code, summary.start_offset, summary.delivery_complete_count) == (0, -1, -1)
    assert desk.delete().error_code == ErrorCode.NONE
    assert not desk.log


def test_unknown_and_negative_partitions_are_refused(desk: ShareDesk) -> None:
    far, negative = KEY._replace(partition=2), KEY._replace(partition=-1)
    assert desk.send(initialize_request.PartitionData(2, 1, -1), far).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert desk.send(summary_request.PartitionData(-1, 1), negative).error_code == ErrorCode.INVALID_REQUEST
    assert desk.send(delete_request.PartitionData(2), far).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    "batch", [(5, 4, 2, 1), (-1, 4, 2, 1), (0, 4, 1, 1), (0, 4, 3, 1), (0, 4, 9, 1)], ids=lambda batch: str(batch)
)
def test_a_state_that_no_leader_could_load_is_refused(desk: ShareDesk, batch: tuple[int, int, int, int]) -> None:
    """A leader refuses such a state (``SharePartition.maybeInitialize``), and would never serve the group again."""
    desk.initialize()
    data = write_request.PartitionData(0, 1, 5, 0, 0, [write_request.StateBatch(*batch)])
    assert desk.send(data).error_code == ErrorCode.INVALID_REQUEST
    assert len(desk.log) == 1


def test_a_snapshot_follows_enough_updates(desk: ShareDesk) -> None:
    """``share.coordinator.snapshot.update.records.per.snapshot``, here 3."""
    desk.initialize()
    for offset in range(5):
        desk.write(offset * 2, offset * 2, start=0)
    kinds = [type(each.change) for each in desk.log]
    assert kinds == [ShareState, *[ShareUpdate] * 3, ShareState, ShareUpdate]
    snapshot = desk.log[4].change
    assert snapshot.snapshot_epoch == 1
    assert [each.first_offset for each in snapshot.batches] == [0, 2, 4, 6]


def test_a_load_restores_states_and_epochs(desk: ShareDesk) -> None:
    desk.initialize()
    desk.read(5)
    for offset in range(7):
        desk.write(offset, offset, start=offset // 2, state=2 if offset % 2 else 0)
        assert desk.reloaded().entries == desk.core.entries
    desk.delete()
    assert desk.reloaded().entries == desk.core.entries == {}


def test_the_last_snapshot_is_enough_to_load(desk: ShareDesk) -> None:
    """The log before the last snapshot is deleted."""
    desk.initialize()
    for offset in range(5):
        desk.write(offset * 2, offset * 2, start=0)
    desk.log = desk.log[4:]
    assert desk.reloaded().entries[KEY].state == desk.core.entries[KEY].state


def test_nothing_is_written_with_too_few_replicas_or_too_large(desk: ShareDesk) -> None:
    desk.initialize()
    desk.may_write = False
    assert desk.write(0, 1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    desk.may_write, desk.max_batch_bytes = True, 100
    assert desk.write(0, 1).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert len(desk.log) == 1
    assert desk.core.entries[KEY].updates == 0


def test_states_of_deleted_topics_are_buried(desk: ShareDesk) -> None:
    desk.initialize()
    desk.partitions.clear()
    effects = desk.core.step(2.0, TidyShareStates())
    assert [each.value for each in effects.append] == [None]
    assert not desk.core.entries
    assert not desk.core.step(2.0, TidyShareStates()).append


def test_a_cold_state_gets_one_snapshot(desk: ShareDesk) -> None:
    """``snapshotColdPartitions``: a state that nobody changes must not keep the log before it."""
    desk.initialize()
    desk.write(0, 1)
    assert not desk.core.step(2.0, TidyShareStates()).append
    [snapshot] = desk.core.step(400.0, TidyShareStates()).append
    assert isinstance(snapshot.change, ShareState)
    assert not desk.core.step(900.0, TidyShareStates()).append


def test_a_state_that_never_changes_does_not_keep_the_log_of_those_that_do(desk: ShareDesk) -> None:
    """``snapshotColdPartitions``: only while all are cold, none gets another snapshot."""
    idle = KEY._replace(group_id="h")
    desk.initialize()
    desk.send(initialize_request.PartitionData(0, 1, -1), idle)
    for hour in range(1, 4):
        for offset in range(20):
            desk.write(offset * 2, offset * 2)
        written = len(desk.log)
        assert {each.share_partition for each in desk.tidied(hour * 3600.0)} == {KEY, idle}
        assert desk.core.redundant_offset == desk.reloaded().redundant_offset == written
    assert not desk.tidied(9 * 3600.0)


def test_records_before_the_oldest_snapshot_are_redundant(desk: ShareDesk) -> None:
    """``ShareCoordinatorOffsetsManager``: the oldest of the last snapshots of all share partitions."""
    other = KEY._replace(group_id="h")
    desk.initialize()
    desk.send(initialize_request.PartitionData(0, 1, -1), other)
    assert desk.core.redundant_offset == 0
    for offset in range(4):
        desk.write(offset * 2, offset * 2)
    assert isinstance(desk.log[5].change, ShareState)
    assert desk.core.redundant_offset == desk.reloaded().redundant_offset == 1
    desk.send(delete_request.PartitionData(0), other)
    assert desk.core.redundant_offset == desk.reloaded().redundant_offset == 5
    desk.log = desk.log[:0] + desk.log[5:]
    assert desk.reloaded().entries.keys() == desk.core.entries.keys()


def test_an_uncommitted_snapshot_makes_nothing_redundant(desk: ShareDesk) -> None:
    desk.initialize()
    for offset in range(3):
        desk.write(offset * 2, offset * 2)
    data = write_request.PartitionData(0, 1, 5, 0, 0, [])
    effects = desk.core.step(1.0, CoordinatorRequest("token", ShareStateRequest(KEY, data), 0))
    assert isinstance(effects.append[0].change, ShareState)
    assert desk.core.redundant_offset == 0
    desk.core.step(1.0, Committed(effects.append, 9))
    assert desk.core.redundant_offset == 9
