"""The DescribeQuorum response between an append and its flush."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio

from kraft.messages.describe_quorum_request import DescribeQuorumRequest, TopicData
from kraft.messages.describe_quorum_request import PartitionData as Wanted
from kraft.messages.topic_record import TopicRecord
from kraft.quorum import flusher
from kraft.quorum.description import Directories, describe_quorum
from kraft.storage.flush import Flush
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC
from kraft.world.world import World
from tests.support.quorums import append, running


async def test_a_leader_describes_the_end_of_its_log_before_the_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KafkaRaftClient.flushLeaderLog updates the leader's end offset before it flushes. A follower fetches meanwhile,
    and would otherwise be ahead of its leader: the lag of ``kafka-metadata-quorum`` would be negative.
    """
    world, flushing, may_end = World(), trio.Event(), trio.Event()
    may_end.set()

    async def in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
        if arguments and isinstance(arguments[0], Flush):
            flushing.set()
            await may_end.wait()
        return await world.in_thread(work, *arguments)

    wanted = DescribeQuorumRequest([TopicData(CLUSTER_METADATA_TOPIC, [Wanted(0)])])
    monkeypatch.setattr(flusher, "_QUICK_S", 0.0)  # a worker thread flushes, as for a leader with followers
    async with running(tmp_path, in_thread=in_thread) as (quorum, _):
        may_end, flushing = trio.Event(), trio.Event()
        append(quorum, [TopicRecord(name="t", topic_id=UUID(int=1))], quorum.epoch)
        await flushing.wait()
        described = describe_quorum(quorum, Directories(), world.clock, wanted, 2)
        (leader,) = described.topics[0].partitions[0].current_voters
        assert leader.log_end_offset == quorum.end_offset > quorum.high_watermark
        may_end.set()
