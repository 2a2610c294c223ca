"""Logs kept in step with the metadata, and with what a former run of the node left on the disk."""

from __future__ import annotations

from pathlib import Path

from kraft.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.rpc.client import Connection
from tests.node.nodes import node_in
from tests.node.talk import EARLIEST, batch, create, list_offset, produce, values


async def delete_records(broker: Connection, topic: str, offset: int) -> int:
    wanted = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)])
    response = await broker.request(DeleteRecordsRequest(topics=[wanted]))
    assert response.topics[0].partitions[0].error_code == 0
    low_watermark: int = response.topics[0].partitions[0].low_watermark
    return low_watermark


async def delete_topic(broker: Connection, topic: str) -> None:
    response = await broker.request(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)]))
    assert response.responses[0].error_code == 0


async def test_deleted_records_stay_deleted_after_a_kill(tmp_path: Path) -> None:
    """KIP-107: records before the low watermark that was answered are gone."""
    async with node_in(tmp_path) as first:
        await create(first.broker, "topic")
        await produce(first.broker, "topic", batch(b"a", b"b", b"c"))
        assert await delete_records(first.broker, "topic", 2) == 2
        first.kill()
    async with node_in(tmp_path) as second:
        assert (await list_offset(second.broker, "topic", EARLIEST)).offset == 2


async def test_a_new_topic_inherits_no_start_offset_from_an_old_one_of_its_name(tmp_path: Path) -> None:
    """log-start-offset-checkpoint knows topics by name alone."""
    async with node_in(tmp_path) as first:
        await create(first.broker, "topic")
        await produce(first.broker, "topic", batch(b"old", b"old", b"old"))
        await delete_records(first.broker, "topic", 3)
        await delete_topic(first.broker, "topic")
        await create(first.broker, "topic")
        await produce(first.broker, "topic", batch(b"a", b"b", b"c", b"d"))
        first.kill()
    async with node_in(tmp_path) as second:
        assert (await list_offset(second.broker, "topic", EARLIEST)).offset == 0
        assert await values(second.broker, "topic") == [b"a", b"b", b"c", b"d"]


async def test_checkpoints_of_topics_that_are_gone_are_forgotten_at_the_start(tmp_path: Path) -> None:
    """The node may have been killed between a deletion and the next checkpoint."""
    async with node_in(tmp_path):
        pass
    checkpoint = tmp_path / "log-start-offset-checkpoint"
    checkpoint.write_text("0\n1\ntopic 0 3\n")
    async with node_in(tmp_path) as first:
        await create(first.broker, "topic")
        await produce(first.broker, "topic", batch(b"a", b"b", b"c", b"d"))
        first.kill()
    async with node_in(tmp_path) as second:
        assert await values(second.broker, "topic") == [b"a", b"b", b"c", b"d"]


async def test_a_start_that_was_cut_short_is_no_damage(tmp_path: Path) -> None:
    """The metadata log is written to before the data logs are open and the mark of the clean stop is gone."""
    async with node_in(tmp_path) as first:
        await create(first.broker, "topic")
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    log = tmp_path / "__cluster_metadata-0" / "00000000000000000000.log"
    log.write_bytes(log.read_bytes() + b"\0" * 30)
    async with node_in(tmp_path) as second:
        assert await values(second.broker, "topic") == []
