"""The requests of a broker to a share coordinator on another broker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import attrs
import pytest
import trio
import trio.testing

from kraft.config.properties import from_mapping
from kraft.coordination.share_channel import ShareStateChannel
from kraft.coordination.share_states import ShareStates
from kraft.coordinator.share.core import ShareStateRequest
from kraft.coordinator.share.state import SharePartitionKey
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.read_share_group_state_request import PartitionData as ReadPartition
from kraft.messages.read_share_group_state_request import ReadShareGroupStateRequest
from kraft.messages.topic_record import TopicRecord
from kraft.messages.write_share_group_state_request import (
    PartitionData as WrittenPartition,
)
from kraft.messages.write_share_group_state_request import (
    WriteShareGroupStateRequest,
)
from kraft.messages.write_share_group_state_response import (
    PartitionResult,
    WriteShareGroupStateResponse,
    WriteStateResult,
)
from kraft.rpc.client import Connection, Disconnected
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import SHARE_STATE_TOPIC
from tests.support.held import broker_in, registration

CONFIG = from_mapping(SETTINGS).config
STATE_ID, TOPIC_ID = UUID(int=5), UUID(int=6)


@attrs.define
class ShareCoordinatorStub:
    """Answers writes when ``answers`` is set, with the first of ``codes``, or without an error."""

    answers: trio.Event = attrs.Factory(trio.Event)
    codes: list[ErrorCode] = attrs.Factory(list)
    breaks: int = 0
    requests: list[Any] = attrs.Factory(list)

    @asynccontextmanager
    async def connect(self, host: str, port: int, client_id: str, timeout_s: float) -> AsyncIterator[Connection]:
        assert client_id == "broker-1-share"
        yield cast(Connection, self)

    def highest_common_version(self, request: Any) -> int:
        return 1

    async def request(self, request: Any, version: int) -> Any:
        self.requests.append(request)
        await self.answers.wait()
        if self.breaks:
            self.breaks -= 1
            raise Disconnected("gone")
        code = self.codes.pop(0) if self.codes else ErrorCode.NONE
        return WriteShareGroupStateResponse(
            [
                WriteStateResult(topic.topic_id, [PartitionResult(each.partition, code) for each in topic.partitions])
                for topic in request.topics
            ]
        )


@asynccontextmanager
async def channel_to(path: Path, stub: ShareCoordinatorStub, *, has_topic: bool = True) -> AsyncIterator[Any]:
    """A channel of broker 1, and the list of its attempts to create the topic. Broker 2 leads the state."""
    broker = broker_in(path, 1)
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), registration(2, 6))
    if has_topic:
        await broker.hear(
            TopicRecord(name=SHARE_STATE_TOPIC, topic_id=STATE_ID),
            PartitionRecord(
                partition_id=0, topic_id=STATE_ID, replicas=[2], isr=[2], leader=2, leader_epoch=0, partition_epoch=0
            ),
        )
    created: list[str] = []
    states = ShareStates(CONFIG, broker.replicas, broker.replicas.world)
    channel = ShareStateChannel(
        CONFIG, broker.replicas, states, cast(Any, stub.connect), lambda: created.append(SHARE_STATE_TOPIC)
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.run)
        yield channel, created
        nursery.cancel_scope.cancel()


def write(partition: int, group: str = "g") -> ShareStateRequest:
    return ShareStateRequest(SharePartitionKey(group, TOPIC_ID, partition), WrittenPartition(partition, 1, 1, 0))


async def test_elements_of_one_kind_and_group_share_a_request(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """``PersisterStateManager`` batches by kind and group. One share partition is in a request once, so that its writes
    stay in order."""
    stub = ShareCoordinatorStub()
    read = ShareStateRequest(SharePartitionKey("g", TOPIC_ID, 1), ReadPartition(1, 1))
    async with channel_to(tmp_path, stub) as (channel, _), trio.open_nursery() as nursery:
        for element in (write(0), write(1), write(2), write(1), write(3, "h"), read):
            nursery.start_soon(channel.request, element)
            await trio.testing.wait_all_tasks_blocked()
        stub.answers.set()
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    sent = [
        (type(each), each.group_id, [part.partition for topic in each.topics for part in topic.partitions])
        for each in stub.requests[:5]
    ]
    assert sent == [
        (WriteShareGroupStateRequest, "g", [0]),
        (WriteShareGroupStateRequest, "g", [1, 2]),
        (WriteShareGroupStateRequest, "g", [1]),
        (WriteShareGroupStateRequest, "h", [3]),
        (ReadShareGroupStateRequest, "g", [1]),
    ]


@pytest.mark.parametrize(
    "code", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE]
)
async def test_an_absent_coordinator_is_asked_again(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, code: ErrorCode
) -> None:
    stub = ShareCoordinatorStub(codes=[code, code], breaks=1)
    stub.answers.set()
    async with channel_to(tmp_path, stub) as (channel, _):
        assert (await channel.request(write(0))).error_code == ErrorCode.NONE
    assert len(stub.requests) == 4


async def test_a_refusal_is_passed_on(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    stub = ShareCoordinatorStub(codes=[ErrorCode.FENCED_STATE_EPOCH])
    stub.answers.set()
    async with channel_to(tmp_path, stub) as (channel, _):
        with pytest.raises(KafkaError) as refused:
            await channel.request(write(0))
    assert refused.value.code == ErrorCode.FENCED_STATE_EPOCH


async def test_a_missing_topic_is_created_and_waited_for_in_vain_for_some_time_only(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with channel_to(tmp_path, ShareCoordinatorStub(), has_topic=False) as (channel, created):
        with pytest.raises(KafkaError) as refused:
            await channel.request(write(0))
    assert refused.value.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert created
    assert trio.current_time() >= CONFIG.network.request_timeout_ms / 1000
