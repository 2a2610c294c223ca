"""The offsets of share groups: the lag is measured at the leader, here or on another broker (KIP-1226)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
import trio

from kraft.config.properties import from_mapping
from kraft.coordination.share_offsets import ShareOffset, ShareOffsets
from kraft.coordinator.share.core import ShareStateRequest
from kraft.messages.list_offsets_request import ListOffsetsRequest
from kraft.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kraft.messages.read_share_group_state_summary_response import PartitionResult
from kraft.replication.replicas import Replicas
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode, KafkaError

T, GONE = UUID(int=1), UUID(int=9)
OTHER = 2


class _Replicas:
    """Partition 0 is led here and ends at 100. Partition 1 is led by another broker."""

    def __init__(self, node_id: int) -> None:
        endpoint = SimpleNamespace(host="other", port=1)
        self.node_id = node_id
        self.image = SimpleNamespace(
            topics={T: SimpleNamespace(name="t")},
            endpoint=lambda broker_id, listener: endpoint if broker_id == OTHER else None,
        )

    def known_leader(self, topic: str, index: int) -> tuple[int, int]:
        return (self.node_id, 0) if index == 0 else (OTHER, 0)

    def leader_of(self, topic: str, index: int) -> Any:
        return SimpleNamespace(high_watermark=100)


def offsets(summary: dict[int, PartitionResult], answer: ListOffsetsPartitionResponse | None = None) -> ShareOffsets:
    """Offsets whose share coordinator returns ``summary``. The other broker returns ``answer``, or is unreachable."""
    config = from_mapping(SETTINGS).config

    async def ask(request: ShareStateRequest) -> Any:
        await trio.lowlevel.checkpoint()
        if request.share_partition.partition not in summary:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return summary[request.share_partition.partition]

    async def request(message: ListOffsetsRequest) -> ListOffsetsResponse:
        await trio.lowlevel.checkpoint()
        assert [(topic.name, [each.timestamp for each in topic.partitions]) for topic in message.topics] == [
            ("t", [-1])
        ]
        assert answer is not None
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", [answer])])

    @asynccontextmanager
    async def connect(host: str, port: int, client_id: str, timeout_s: float) -> AsyncIterator[Any]:
        await trio.lowlevel.checkpoint()
        if answer is None:
            raise ConnectionRefusedError
        yield SimpleNamespace(request=request)

    return ShareOffsets(config, cast(Replicas, _Replicas(config.node_id)), connect, ask)


async def test_acknowledged_records_are_no_lag() -> None:
    """KIP-1226: the lag is the end of the partition without the offsets that are processed from the start on."""
    state = PartitionResult(0, start_offset=40, leader_epoch=3, delivery_complete_count=5)
    assert await offsets({0: state}).of("g", [(T, 0)]) == {(T, 0): ShareOffset(40, 3, 55)}


@pytest.mark.parametrize(
    "state",
    [
        PartitionResult(0, start_offset=-1, leader_epoch=3, delivery_complete_count=0),
        PartitionResult(0, start_offset=7, leader_epoch=3, delivery_complete_count=-1),
    ],
)
async def test_without_a_count_the_lag_is_unknown(state: PartitionResult) -> None:
    found = await offsets({0: state}).of("g", [(T, 0)])
    assert found == {(T, 0): ShareOffset(state.start_offset, 3, -1)}


async def test_a_partition_without_a_state_is_no_error() -> None:
    """Apache: absence of data, as in OffsetFetch."""
    assert await offsets({}).of("g", [(T, 0)]) == {(T, 0): ShareOffset()}


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (ListOffsetsPartitionResponse(1, offset=50), ShareOffset(40, 3, 10)),
        (ListOffsetsPartitionResponse(1, ErrorCode.NOT_LEADER_OR_FOLLOWER), ShareOffset(0, 0, -1, ErrorCode(6))),
        (None, ShareOffset(0, 0, -1, ErrorCode.NETWORK_EXCEPTION)),
    ],
)
async def test_another_leader_is_asked(answer: ListOffsetsPartitionResponse | None, found: ShareOffset) -> None:
    state = PartitionResult(1, start_offset=40, leader_epoch=3, delivery_complete_count=0)
    assert await offsets({1: state}, answer).of("g", [(T, 1)]) == {(T, 1): found}


async def test_a_topic_that_is_gone_has_its_error() -> None:
    state = PartitionResult(0, start_offset=40, leader_epoch=3, delivery_complete_count=0)
    found = await offsets({0: state}).of("g", [(GONE, 0)])
    assert found[GONE, 0].code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
