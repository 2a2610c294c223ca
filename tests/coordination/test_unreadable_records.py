"""A state topic with a record that no coordinator can read: its partition is not served, and the others are.

In Apache a load that fails leaves ``CoordinatorRuntime`` in state FAILED, and requests get NOT_COORDINATOR. Its
``TransactionStateManager`` serves the records before the damaged one instead. Here no partition is served in part.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import attrs
import pytest
import trio

from kraft.api import describe_transactions, list_groups, list_transactions, offset_fetch, read_share_group_state
from kraft.api.context import BrokerContext
from kraft.config.broker import NodeConfig
from kraft.coordination.groups import Groups
from kraft.coordination.share_states import ShareStates
from kraft.coordination.transactions import Transactions
from kraft.coordinator.framing import VERSION
from kraft.coordinator.groups.records import CommittedOffset, OffsetRecord
from kraft.coordinator.partitions import coordinator_partition
from kraft.coordinator.share.records import share_record
from kraft.coordinator.share.state import SharePartitionKey, ShareState
from kraft.coordinator.transactions.records import TransactionRecord, transaction_value
from kraft.coordinator.transactions.transaction import Transaction
from kraft.messages.describe_transactions_request import DescribeTransactionsRequest
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.list_transactions_request import ListTransactionsRequest
from kraft.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.read_share_group_state_request import (
    PartitionData,
    ReadShareGroupStateRequest,
    ReadStateData,
)
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.steps import finished
from kraft.records.record import Record, encode_batch
from kraft.replication.replicas import Replicas
from kraft.rpc.channel import ConnectionInfo, Request, response_of
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_TOPIC
from tests.coordination.desk import SETTINGS, WORLD, no_share_coordinator, settle
from tests.support.held import TOPIC, TOPIC_ID, broker_in, registration, serving, topic, with_coordinators

LEADER, PREVIOUS = 1, 2
STATE_ID = UUID(int=5)
NUMBER = 42
"""The offset, producer id or start offset of each state."""

Answer = tuple[ErrorCode, int]


async def call(broker: BrokerContext, api: Any, message: Any) -> Any:
    version = type(message).VALID_VERSIONS[1]
    connection = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "h", 1, "h:1")
    request = Request(0, version, 0, "test", b"", 0, connection)
    try:
        return await response_of(await api.at_broker(broker, request, message))
    except KafkaError as refused:
        return api.error(message, version, refused.code, refused.message)


@attrs.frozen
class StateTopic:
    """A state topic, its coordinator as a field of the broker's context, and a state in it for an id."""

    name: str
    coordinator: Callable[[NodeConfig, Replicas], dict[str, Any]]
    record: Callable[[str], tuple[bytes, bytes]]
    ask: Callable[[BrokerContext, str], Awaitable[Answer]]
    listed: Callable[[BrokerContext], Awaitable[list[str]]] | None = None
    coordinator_key: Callable[[str], str] = str

    def ids(self, index: int) -> list[str]:
        """Two ids of one partition, of two."""
        ids = (f"id-{number}" for number in range(100))
        return [each for each in ids if coordinator_partition(self.coordinator_key(each), 2) == index][:2]


def groups_of(config: NodeConfig, replicas: Replicas) -> dict[str, Any]:
    return {"groups": Groups(replicas, WORLD, SETTINGS, 600_000, no_share_coordinator)}


def offset_of(group_id: str) -> tuple[bytes, bytes]:
    record = OffsetRecord(group_id, TOPIC, 0, CommittedOffset(NUMBER, -1, "", 0))
    assert record.value is not None
    return record.key, record.value


async def offset(broker: BrokerContext, group_id: str) -> Answer:
    group = OffsetFetchRequestGroup(group_id, topics=[OffsetFetchRequestTopics(TOPIC, TOPIC_ID, [0])])
    [found] = (await call(broker, offset_fetch, OffsetFetchRequest(groups=[group]))).groups
    return ErrorCode(found.error_code), -1 if found.error_code else found.topics[0].partitions[0].committed_offset


async def groups(broker: BrokerContext) -> list[str]:
    response = await call(broker, list_groups, ListGroupsRequest())
    assert response.error_code == ErrorCode.NONE
    return [each.group_id for each in response.groups]


def transactions_of(config: NodeConfig, replicas: Replicas) -> dict[str, Any]:
    absent = cast(Any, None)
    return {"transactions": Transactions(config, replicas, WORLD, lambda: NUMBER, absent, absent)}


def transaction_of(transactional_id: str) -> tuple[bytes, bytes]:
    value = finished(transaction_value(Transaction(NUMBER, 60.0, 0, 0), 1))
    return TransactionRecord(transactional_id, None, None).key, value


async def producer_id(broker: BrokerContext, transactional_id: str) -> Answer:
    [found] = (
        await call(broker, describe_transactions, DescribeTransactionsRequest([transactional_id]))
    ).transaction_states
    return ErrorCode(found.error_code), -1 if found.error_code else found.producer_id


async def transactions(broker: BrokerContext) -> list[str]:
    response = await call(broker, list_transactions, ListTransactionsRequest())
    assert response.error_code == ErrorCode.NONE
    return [each.transactional_id for each in response.transaction_states]


def share_states_of(config: NodeConfig, replicas: Replicas) -> dict[str, Any]:
    return {"share_states": ShareStates(config, replicas, WORLD)}


def share_state_of(group_id: str) -> tuple[bytes, bytes]:
    record = finished(share_record(SharePartitionKey(group_id, TOPIC_ID, 0), ShareState(0, 0, 0, NUMBER, -1)))
    assert record.value is not None
    return record.key, record.value


async def start_offset(broker: BrokerContext, group_id: str) -> Answer:
    message = ReadShareGroupStateRequest(group_id, [ReadStateData(TOPIC_ID, [PartitionData(0, -1)])])
    found = (await call(broker, read_share_group_state, message)).results[0].partitions[0]
    return ErrorCode(found.error_code), -1 if found.error_code else found.start_offset


STATE_TOPICS = [
    StateTopic(OFFSETS_TOPIC, groups_of, offset_of, offset, groups),
    StateTopic(TRANSACTION_TOPIC, transactions_of, transaction_of, producer_id, transactions),
    StateTopic(
        SHARE_STATE_TOPIC,
        share_states_of,
        share_state_of,
        start_offset,
        coordinator_key=lambda each: SharePartitionKey(each, TOPIC_ID, 0).coordinator_key,
    ),
]
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "torn off": lambda value: value[:-1],
    "without a version": lambda value: value[:1],
    "of a newer version": lambda value: VERSION.pack(99) + value[VERSION.size :],
}


@asynccontextmanager
async def elected(path: Path, state: StateTopic, *written: list[tuple[bytes, bytes]]) -> AsyncIterator[BrokerContext]:
    """A broker that is elected for the partitions of a state topic, in which the previous leader wrote these pairs."""
    broker = broker_in(path, LEADER)
    await broker.replicas.registered(5)
    context = serving(broker.replicas)
    [(field, coordinator)] = state.coordinator(context.config, broker.replicas).items()
    partitions = [
        PartitionRecord(
            partition_id=index,
            topic_id=STATE_ID,
            replicas=[LEADER, PREVIOUS],
            isr=[LEADER, PREVIOUS],
            leader=LEADER,
            leader_epoch=0,
            partition_epoch=0,
            directories=[UUID(int=100)] * 2,
        )
        for index in range(len(written))
    ]
    nodes = registration(LEADER, 5), registration(PREVIOUS, 6)
    names = TopicRecord(name=state.name, topic_id=STATE_ID), *topic(PREVIOUS, leader=PREVIOUS)
    await broker.hear(*nodes, *names, *partitions)
    for index, pairs in enumerate(written):
        records = [Record(at, 0, *each) for at, each in enumerate(pairs)]
        broker.replicas.partitions[state.name][index].append(bytearray(encode_batch(records)), 0)
    for leader, isr in ((PREVIOUS, [LEADER, PREVIOUS]), (LEADER, [LEADER])):
        changes = [PartitionChangeRecord(each.partition_id, STATE_ID, isr=isr, leader=leader) for each in partitions]
        coordinator.apply(await broker.hear(*changes))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(coordinator.run)
        await settle()
        yield with_coordinators(context, **{field: coordinator})
        nursery.cancel_scope.cancel()
    for partition in broker.replicas.all():
        partition.log.abandon()


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("state", STATE_TOPICS, ids=lambda each: each.name)
async def test_a_partition_with_an_unreadable_value_is_not_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, state: StateTopic, damage: Callable[[bytes], bytes]
) -> None:
    (before, damaged), (sound, other) = state.ids(0), state.ids(1)
    key, value = state.record(damaged)
    first = [state.record(before), (key, damage(value)), state.record(before)]
    async with elected(tmp_path, state, first, [state.record(sound), state.record(other)]) as broker:
        for each in (before, damaged):
            assert await state.ask(broker, each) == (ErrorCode.NOT_COORDINATOR, -1)
        for each in (sound, other):
            assert await state.ask(broker, each) == (ErrorCode.NONE, NUMBER)
        if state.listed is not None:
            assert sorted(await state.listed(broker)) == sorted((sound, other))
    [line] = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert re.fullmatch(
        rf"cannot load {state.name}-0: the record at offset 1: .+; its clients get NOT_COORDINATOR until .+", line
    )


@pytest.mark.parametrize("state", STATE_TOPICS, ids=lambda each: each.name)
async def test_a_record_of_an_unknown_type_is_skipped(tmp_path: Path, state: StateTopic) -> None:
    """Apache ignores keys of an unknown version: they may be left over from an aborted upgrade."""
    (known, newer), (sound, _) = state.ids(0), state.ids(1)
    key, value = state.record(newer)
    first = [(VERSION.pack(99) + key[VERSION.size :], value), state.record(known)]
    async with elected(tmp_path, state, first, [state.record(sound)]) as broker:
        for each in (known, sound):
            assert await state.ask(broker, each) == (ErrorCode.NONE, NUMBER)
        if state.listed is not None:
            assert sorted(await state.listed(broker)) == sorted((known, sound))
