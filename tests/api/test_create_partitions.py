"""CreatePartitions: more partitions, never fewer."""

from __future__ import annotations

import pytest

from kraft.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kraft.messages.create_partitions_response import CreatePartitionsTopicResult
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.support.talk import batch, create, produce


async def _grow(
    broker: Connection, topic: CreatePartitionsTopic, version: int = 3, *, validate_only: bool = False
) -> CreatePartitionsTopicResult:
    request = CreatePartitionsRequest(topics=[topic], timeout_ms=5000, validate_only=validate_only)
    answer: CreatePartitionsTopicResult = (await broker.request(request, version)).results[0]
    return answer


@pytest.mark.parametrize("version", range(4))
async def test_more_partitions(broker: Connection, topic: str, version: int) -> None:
    assert (await _grow(broker, CreatePartitionsTopic(topic, 3, None), version)).error_code == 0
    assert (await produce(broker, topic, batch(b"a"), partition=2)).error_code == 0


async def test_partitions_are_never_fewer(broker: Connection, new_name: str) -> None:
    await create(broker, new_name, 2)
    placed = [CreatePartitionsAssignment([1])]
    for wanted, code in (
        (CreatePartitionsTopic(new_name, 1, None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic(new_name, 2, None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic("nowhere", 5, None), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (CreatePartitionsTopic(new_name, 5, placed), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (CreatePartitionsTopic(new_name, 3, [CreatePartitionsAssignment([7])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ):
        answer = await _grow(broker, wanted)
        explained = code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (ErrorCode(answer.error_code), bool(answer.error_message)) == (code, explained)
    assert (await _grow(broker, CreatePartitionsTopic(new_name, 3, placed), validate_only=True)).error_code == 0
    unknown = await produce(broker, new_name, batch(b"a"), partition=2)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
