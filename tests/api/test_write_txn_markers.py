"""WriteTxnMarkers: the ends of transactions in partitions, as a transaction coordinator orders them (KIP-98)."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any, cast

import pytest
import trio
import trio.testing

from kraft.broker.leadership import FollowerFetched
from kraft.config.properties import from_mapping
from kraft.coordination.marker_writer import MarkerWriter
from kraft.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from kraft.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kraft.messages.write_txn_markers_response import WriteTxnMarkersResponse
from kraft.records.batch import iter_headers
from kraft.rpc.client import Connection
from kraft.storage.flush import Flush
from kraft.testing import embedded_node
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode
from tests.api.transactions import PRODUCER, READ_COMMITTED, UNVERIFIED, end, write
from tests.support.held import TOPIC, leader_in
from tests.support.nodes import connected
from tests.support.steps import steps_of_tasks
from tests.support.talk import batch, create, fetch, list_offset, produce, records_in


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("committed", [True, False])
async def test_a_marker_has_the_bytes_of_apache(broker: Connection, topic: str, version: int, committed: bool) -> None:
    """``MemoryRecords.withEndTransactionMarker``: a transactional control batch without a sequence. The key is version
    and type, the value version and coordinator epoch."""
    assert await end(broker, topic, committed=committed, version=version) == [ErrorCode.NONE]
    data = await fetch(broker, topic)
    assert isinstance(data.records, bytes | bytearray | memoryview)
    ((_, header),) = iter_headers(data.records)
    assert (header.is_control, header.is_transactional, header.count) == (True, True, 1)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (PRODUCER, 3, -1)
    (record,) = records_in(data)
    assert (record.key, record.value) == (struct.pack(">hh", 0, committed), struct.pack(">hi", 0, 5))


async def test_the_log_knows_the_producer_of_a_marker(broker: Connection, topic: str) -> None:
    """KIP-664: DescribeProducers shows the epoch of the coordinator that wrote the last marker."""
    await end(broker, topic)
    request = DescribeProducersRequest(topics=[TopicRequest(topic, [0])])
    (producer,) = (await broker.request(request, 0)).topics[0].partitions[0].active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.coordinator_epoch) == (PRODUCER, 3, 5)
    assert (producer.last_sequence, producer.current_txn_start_offset) == (-1, -1)


async def test_each_partition_has_a_result(broker: Connection, topic: str) -> None:
    assert await end(broker, topic, 0, 7) == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert await end(broker, "absent") == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


async def test_many_markers_let_other_requests_run() -> None:
    """Slices: "Long work lets other tasks of the event loop run": while it appends, and while it waits for commits."""
    markers = [
        WritableTxnMarker(PRODUCER + number, 0, False, [WritableTxnMarkerTopic("orders", [0])], 5)
        for number in range(1000)
    ]
    async with embedded_node(topics={"orders": 1}) as node, connected(node) as broker:
        async with steps_of_tasks("connection") as steps:
            await broker.request(WriteTxnMarkersRequest(markers=markers), 1)
        # Slices of 20: three costs for a marker at the append, and one at the commit.
        assert steps.count >= (3 + 1) * 1000 // 20


async def test_a_marker_is_durable_before_its_response(monkeypatch: pytest.MonkeyPatch) -> None:
    """``flush.messages``."""
    flushed, sound = set[str](), Flush.run

    def run(flush: Flush) -> None:
        sound(flush)
        flushed.update(os.path.basename(os.path.dirname(each.path)) for each in flush.files)

    async with embedded_node() as node, connected(node) as broker:
        await create(broker, "orders", configs={"flush.messages": "1"})
        monkeypatch.setattr(Flush, "run", run)
        assert await end(broker, "orders") == [ErrorCode.NONE]
        assert "orders-0" in flushed


async def test_an_earlier_producer_epoch_is_fenced(broker: Connection, topic: str) -> None:
    """``ProducerAppendInfo.checkProducerEpoch``."""
    await end(broker, topic, epoch=3)
    assert await end(broker, topic, epoch=2) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    stale = batch(b"a", producer_id=PRODUCER, producer_epoch=2, base_sequence=0)
    assert (await produce(broker, topic, stale)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


async def test_an_earlier_coordinator_is_fenced(broker: Connection, topic: str) -> None:
    """KIP-98: "the broker will check the coordinator epoch"; a zombie coordinator cannot end a transaction."""
    await end(broker, topic, coordinator_epoch=5)
    assert await end(broker, topic, coordinator_epoch=4) == [ErrorCode.TRANSACTION_COORDINATOR_FENCED]
    assert (await list_offset(broker, topic)).offset == 1


@pytest.mark.parametrize("more", [{"producer_id": -1}, {"transaction_version": -1}])
async def test_a_marker_without_a_producer_or_a_protocol_is_refused(
    broker: Connection, topic: str, more: dict[str, int]
) -> None:
    """KIP-98: a marker belongs to one producer's transaction. Apache Kafka refuses both with UNKNOWN_SERVER_ERROR."""
    marker = WritableTxnMarker(PRODUCER, 3, False, [WritableTxnMarkerTopic(topic, [0])], 5)
    for name, value in more.items():
        setattr(marker, name, value)
    response = await broker.request(WriteTxnMarkersRequest(markers=[marker]), 2)
    assert response.markers[0].topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    assert (await list_offset(broker, topic)).offset == 0


async def test_a_marker_comes_behind_a_plain_batch(broker: Connection, topic: str) -> None:
    await produce(broker, topic, batch(b"a", b"b"))
    await end(broker, topic)
    for isolation_level in (0, READ_COMMITTED):
        assert (await list_offset(broker, topic, isolation_level=isolation_level)).offset == 3


@pytest.mark.parametrize(("transaction_version", "code"), [(1, ErrorCode.NONE), (2, ErrorCode.INVALID_PRODUCER_EPOCH)])
async def test_a_late_marker_does_not_end_the_next_transaction(transaction_version: int, code: ErrorCode) -> None:
    """KIP-1228: the marker of a producer that bumps its epoch has the epoch of the next transaction."""
    async with embedded_node(topics={"orders": 1}, settings=UNVERIFIED) as node, connected(node) as broker:
        assert (await write(broker, "orders", b"next", epoch=4)).error_code == ErrorCode.NONE
        answer = await end(broker, "orders", epoch=4, version=2, transaction_version=transaction_version)
        assert answer == [code]


async def test_a_marker_that_another_leader_truncated_is_not_committed(tmp_path: Path) -> None:
    """``DelayedProduce`` answers NOT_LEADER_OR_FOLLOWER when a leadership ends. The coordinator then sends the marker
    to the next leader. Other records at the offset of the lost marker do not make it committed.
    """
    response = WriteTxnMarkersResponse()
    async with leader_in(tmp_path, 2, 1, 2) as broker, trio.open_nursery() as nursery:
        await broker.replicas.make_ids_durable(broker.replicas.all())
        kept, moved = broker.replicas.all()
        config = from_mapping(SETTINGS).config
        writer = MarkerWriter(config, broker.replicas, cast(Any, None))
        topic = WritableTxnMarkerTopic(TOPIC, [0, 1])
        message = WriteTxnMarkersRequest([WritableTxnMarker(PRODUCER, 0, True, [topic])])

        async def write() -> None:
            response.markers += (await writer.write(message)).markers

        nursery.start_soon(write)
        await trio.testing.wait_all_tasks_blocked()
        await broker.lead_again(moved, batch(b"another"))
        kept.fetched(0.0, FollowerFetched(2, 6, 1, 0))
    codes = [each.error_code for each in response.markers[0].topics[0].partitions]
    assert codes == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]
