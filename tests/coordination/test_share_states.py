"""The share coordinator's partitions of ``__share_group_state``: what another leader loads, and what is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from kraft.coordinator.share.records import decode_share_record
from kraft.coordinator.share.state import ShareState
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.steps import finished
from kraft.wire.errors import ErrorCode
from kraft.wire.internal_topics import SHARE_STATE_TOPIC
from tests.api.shares import ACCEPT, STATE_ID, share_broker


async def test_the_next_coordinator_loads_the_states(tmp_path: Path, autojump_clock: object) -> None:
    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        desk.produce(b"a", b"b")
        member = desk.member("m")
        await member.fetch()
        await member.acknowledge([(1, 1, [ACCEPT])])
        before = await desk.state()
        await desk.hear(PartitionChangeRecord(partition_id=0, topic_id=STATE_ID, leader=2))
        assert (await desk.state()).error_code == ErrorCode.NOT_COORDINATOR
        await desk.hear(PartitionChangeRecord(partition_id=0, topic_id=STATE_ID, leader=1))
        await trio.testing.wait_all_tasks_blocked()
        after = await desk.state()
        assert (after.error_code, after.start_offset) == (ErrorCode.NONE, before.start_offset)
        assert [(each.first_offset, each.delivery_state) for each in after.state_batches] == [(1, 2)]


async def test_a_write_waits_for_the_next_coordinator(tmp_path: Path, autojump_clock: object) -> None:
    """An acknowledgement during a change of the coordinator is not lost, and is answered once it is written."""
    async with share_broker(tmp_path) as desk, trio.open_nursery() as nursery:
        await desk.initialize()
        desk.produce(b"a", b"b")
        member, answers = desk.member("m"), []
        await member.fetch()
        await desk.hear(PartitionChangeRecord(partition_id=0, topic_id=STATE_ID, leader=-1))

        async def acknowledge() -> None:
            answers.append(await member.acknowledge([(1, 1, [ACCEPT])]))

        nursery.start_soon(acknowledge)
        await trio.sleep(3)
        assert not answers
        await desk.hear(PartitionChangeRecord(partition_id=0, topic_id=STATE_ID, leader=1))
        await trio.sleep(2)
        assert [each.error_code for each in answers] == [ErrorCode.NONE]
        assert [each.delivery_state for each in (await desk.state()).state_batches] == [2]


async def test_records_before_the_oldest_snapshot_are_deleted(tmp_path: Path, autojump_clock: object) -> None:
    """``ShareCoordinatorService.performRecordPruning``, every five minutes."""
    async with share_broker(tmp_path, share_coordinator_snapshot_update_records_per_snapshot="2") as desk:
        await desk.initialize()
        log = desk.broker.replicas.partitions[SHARE_STATE_TOPIC][0].log
        member = desk.member("m")
        for offset in range(6):
            desk.produce(b"x")
            await member.fetch()
            await member.acknowledge([(offset, offset, [ACCEPT])])
        assert log.log_start_offset == 0
        await trio.sleep(301)
        assert log.log_start_offset == 6
        state = await desk.state()
        await desk.hear(PartitionChangeRecord(partition_id=0, topic_id=STATE_ID, leader=2))
        await desk.hear(PartitionChangeRecord(partition_id=0, topic_id=STATE_ID, leader=1))
        await trio.testing.wait_all_tasks_blocked()
        assert (await desk.state()).start_offset == state.start_offset


async def test_a_snapshot_has_the_time_of_the_system_s_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apache's ``ShareCoordinatorShard``: ``time.milliseconds()``, also after the clock was set."""
    async with share_broker(tmp_path) as desk:
        monkeypatch.setattr("time.time", lambda: 1_700_000_000.25)
        await desk.initialize()
        *_, last = desk.broker.replicas.partitions[SHARE_STATE_TOPIC][0].records()
        record = finished(decode_share_record(last.key, last.value))
        assert record is not None
        assert isinstance(record.change, ShareState)
        assert (record.change.created_ms, record.change.written_ms) == (1_700_000_000_250, 1_700_000_000_250)
