"""The DescribeQuorum response of the leader: its replicas and their progress (KIP-595, KIP-836)."""

from __future__ import annotations

import math
from uuid import UUID

import trio

from kraft.messages.describe_quorum_request import DescribeQuorumRequest
from kraft.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)
from kraft.quorum.driver import NotLeader, Quorum
from kraft.quorum.rpcs import PARTITION, Identity, sole_partition
from kraft.raft.leader import MAX_OBSERVERS
from kraft.raft.state import Leader, Progress
from kraft.wire.errors import ErrorCode
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC
from kraft.wire.mapped import mapped
from kraft.wire.uuids import ZERO_UUID
from kraft.world.clock import Clock

#: The first version with directory ids and the endpoints of the voters.
_DIRECTORIES_VERSION = 2
_UNKNOWN = -1


class Directories:
    """The directory id of each replica, from its last Fetch (KIP-853).

    The core knows a replica by its id alone, so it does not store them. Like the leader's observers, the number is
    bounded: the replicas that fetched last are kept.
    """

    def __init__(self) -> None:
        self._ids: dict[int, UUID] = {}

    def note(self, replica_id: int, directory_id: UUID) -> None:
        self._ids.pop(replica_id, None)
        self._ids[replica_id] = directory_id
        if len(self._ids) > MAX_OBSERVERS:
            del self._ids[next(iter(self._ids))]

    def of(self, replica_id: int) -> UUID:
        """Return the directory id of a replica, or the zero UUID if it sent none."""
        return self._ids.get(replica_id, ZERO_UUID)


def describe_quorum(
    quorum: Quorum, directories: Directories, clock: Clock, message: DescribeQuorumRequest, version: int
) -> DescribeQuorumResponse:
    """Describe the quorum as its leader sees it. Raises NotLeader on any other node.

    The response has the directory ids of observers. Static voters have none (kraft.version 0).
    """
    if sole_partition(message.topics) is None:
        return refused(message, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    state = quorum.state
    if not isinstance(state, Leader):
        raise NotLeader
    now_s = trio.current_time()
    horizon_s = now_s - quorum.timing.observer_session_s
    own = Progress(quorum.end_offset, fetched_at=now_s, caught_up_at=now_s)
    voters = {**state.progress, quorum.node_id: own}
    observers = {key: each for key, each in state.observers.items() if each.fetched_at >= horizon_s}
    described = [_replica(each, observers[each], now_s, clock) for each in sorted(observers)]
    if version >= _DIRECTORIES_VERSION:
        for observer in described:
            observer.replica_directory_id = directories.of(observer.replica_id)
    partition = PartitionData(
        partition_index=PARTITION,
        leader_id=state.leader_id,
        leader_epoch=state.epoch,
        high_watermark=quorum.high_watermark if quorum.in_touch else _UNKNOWN,
        current_voters=[_replica(each, voters[each], now_s, clock) for each in sorted(voters)],
        observers=described,
    )
    topics = [TopicData(CLUSTER_METADATA_TOPIC, [partition])]
    nodes = _nodes(quorum.identity) if version >= _DIRECTORIES_VERSION else []
    return DescribeQuorumResponse(topics=topics, nodes=nodes)


def _replica(replica_id: int, progress: Progress, now_s: float, clock: Clock) -> ReplicaState:
    """Convert ``progress``, in seconds of Trio's clock, to a response in milliseconds of the wall clock.

    For the leader, a replica without a Fetch in this epoch counts from the start of the epoch. The response has no
    times for it.
    """
    if progress.end_offset < 0:
        return ReplicaState(replica_id, log_end_offset=_UNKNOWN)
    now_ms = clock.now_ms()

    def wall_ms(then_s: float) -> int:
        return _UNKNOWN if math.isinf(then_s) else now_ms - round((now_s - then_s) * 1000)

    return ReplicaState(
        replica_id=replica_id,
        log_end_offset=progress.end_offset,
        last_fetch_timestamp=wall_ms(progress.fetched_at),
        last_caught_up_timestamp=wall_ms(progress.caught_up_at),
    )


def _nodes(identity: Identity) -> list[Node]:
    return [
        Node(voter.node_id, [Listener(identity.listener, voter.host, voter.port)]) for voter in identity.voters.values()
    ]


def refused(message: DescribeQuorumRequest, code: ErrorCode) -> DescribeQuorumResponse:
    """Return a response with the same error for each partition of the request."""
    return DescribeQuorumResponse(
        topics=mapped(
            message.topics,
            lambda topic: TopicData(
                topic.topic_name,
                mapped(topic.partitions, lambda each: PartitionData(each.partition_index, code, code.message)),
            ),
        )
    )
