"""OffsetForLeaderEpoch: where an epoch ends in a log (KIP-320)."""

from __future__ import annotations

import pytest

from kraft.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kraft.messages.offset_for_leader_epoch_response import EpochEndOffset
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.support.talk import batch, produce


async def _end_of(
    broker: Connection, topic: str, epoch: int, version: int = 4, current: int = -1, partition: int = 0
) -> EpochEndOffset:
    wanted = OffsetForLeaderPartition(partition, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic, [wanted])])
    answer: EpochEndOffset = (await broker.request(request, version)).topics[0].partitions[0]
    return answer


@pytest.mark.parametrize("version", [2, 3, 4])
async def test_the_end_of_an_epoch(broker: Connection, topic: str, version: int) -> None:
    """KIP-320: the current epoch ends at the end of the log; the end of an unknown epoch is (-1, -1)."""
    await produce(broker, topic, batch(b"a", b"b"))
    now = await _end_of(broker, topic, 0, version)
    assert (now.error_code, now.leader_epoch, now.end_offset) == (0, 0, 2)
    later = await _end_of(broker, topic, 3, version)
    assert (later.error_code, later.leader_epoch, later.end_offset) == (0, -1, -1)


async def test_epochs_are_refused_as_by_fetch(broker: Connection, topic: str) -> None:
    assert (await _end_of(broker, topic, 0, current=9)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert (await _end_of(broker, topic, 0, partition=5)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await _end_of(broker, topic, -1)).end_offset == -1
