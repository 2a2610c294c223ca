"""Reads with ``isolation.level=read_committed`` (KIP-98), of transactions that hand-made requests write and end.

The node of these tests does not verify transactions, because there is no coordinator.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio

from kraft.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kraft.messages.fetch_response import PartitionData
from kraft.rpc.client import Connection
from kraft.testing import EmbeddedNode, embedded_node
from kraft.wire.errors import ErrorCode
from tests.api.transactions import READ_COMMITTED, UNVERIFIED, end, write
from tests.support.nodes import connected
from tests.support.talk import batch, fetch, list_offset, produce, values_in

TOPIC = "orders"


@pytest.fixture
async def node() -> AsyncIterator[EmbeddedNode]:
    async with embedded_node(topics={TOPIC: 1}, settings=UNVERIFIED) as node:
        yield node


@pytest.fixture
async def broker(node: EmbeddedNode) -> AsyncIterator[Connection]:
    async with connected(node) as connection:
        yield connection


async def committed(broker: Connection, offset: int = 0, version: int = 12) -> PartitionData:
    return await fetch(broker, TOPIC, offset, version, isolation_level=READ_COMMITTED)


def skipped(data: PartitionData) -> list[tuple[int, int]]:
    assert data.aborted_transactions is not None
    return [(each.producer_id, each.first_offset) for each in data.aborted_transactions]


async def test_an_open_transaction_hides_what_follows(broker: Connection) -> None:
    """KIP-98: the last stable offset is below the first record of every open transaction."""
    await produce(broker, TOPIC, batch(b"plain"))
    assert (await write(broker, TOPIC, b"a", b"b")).base_offset == 1
    await produce(broker, TOPIC, batch(b"later"))
    data = await committed(broker)
    assert (values_in(data), data.high_watermark, data.last_stable_offset) == ([b"plain"], 4, 1)
    assert (await fetch(broker, TOPIC)).last_stable_offset == 1
    assert len(values_in(await fetch(broker, TOPIC))) == 4
    stable = await list_offset(broker, TOPIC, isolation_level=READ_COMMITTED)
    assert (stable.offset, (await list_offset(broker, TOPIC)).offset) == (1, 4)
    assert values_in(await committed(broker, 2)) == [], "a consumer that read uncommitted records before"


@pytest.mark.parametrize("version", [4, 11, 12])
async def test_an_aborted_transaction_is_named(broker: Connection, version: int) -> None:
    """KIP-98: the consumer drops the records of each producer that is named, from the first offset to its marker."""
    await write(broker, TOPIC, b"a", b"b")
    await write(broker, TOPIC, b"c", producer_id=8)
    assert await end(broker, TOPIC, committed=False) == [ErrorCode.NONE]
    await end(broker, TOPIC, producer_id=8)
    data = await committed(broker, version=version)
    assert (len(values_in(data)), data.last_stable_offset, skipped(data)) == (5, 5, [(4711, 0)])
    assert skipped(await committed(broker, 4, version)) == [], "the marker of the abort lies below"
    assert (await fetch(broker, TOPIC, 0, version)).aborted_transactions is None


async def test_a_waiting_consumer_wakes_at_the_end_of_the_transaction(node: EmbeddedNode, broker: Connection) -> None:
    answers: list[PartitionData] = []
    await write(broker, TOPIC, b"a")
    async with connected(node) as waiting, trio.open_nursery() as nursery:

        async def wait() -> None:
            answers.append(await fetch(waiting, TOPIC, isolation_level=READ_COMMITTED, max_wait_ms=20_000, min_bytes=1))

        nursery.start_soon(wait)
        await write(broker, TOPIC, b"b", sequence=1)
        assert not answers
        await end(broker, TOPIC)
    assert len(values_in(answers[0])) == 3
    assert (answers[0].last_stable_offset, skipped(answers[0])) == (3, [])


async def test_records_that_are_deleted_do_not_hold_the_stable_offset_back(broker: Connection) -> None:
    """``UnifiedLog.fetchLastStableOffsetMetadata``: never below the start of the log."""

    await write(broker, TOPIC, b"a", b"b")
    wanted = DeleteRecordsTopic(TOPIC, [DeleteRecordsPartition(0, 1)])
    await broker.request(DeleteRecordsRequest([wanted], 5000))
    assert (await list_offset(broker, TOPIC, isolation_level=READ_COMMITTED)).offset == 1


async def test_a_transactional_batch_needs_a_transactional_id(broker: Connection) -> None:
    """``KafkaApis.handleProduceRequest``."""
    refused = await write(broker, TOPIC, b"a", transactional_id=None)
    assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


async def test_a_fenced_producer_writes_nothing(broker: Connection) -> None:
    """KIP-98: the marker of a newer epoch fences the producer in each partition."""
    await write(broker, TOPIC, b"a")
    await end(broker, TOPIC, committed=False, epoch=4)
    zombie = await write(broker, TOPIC, b"b", sequence=1)
    assert zombie.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert (await write(broker, TOPIC, b"b", epoch=4)).error_code == ErrorCode.NONE
