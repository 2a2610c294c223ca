"""Encodes the quorum requests of this node and decodes the responses of peers (KIP-595, KIP-630, KIP-853, KIP-996).

The core works with the values of ``kraft.raft.messages``. The messages on the wire have more fields, such as the
directory id and the endpoint of a member. ``kraft.quorum.inbound_requests`` decodes the requests of peers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from kraft.messages import begin_quorum_epoch_request as begin
from kraft.messages import end_quorum_epoch_request as end
from kraft.messages import fetch_request as fetch
from kraft.messages import fetch_snapshot_request as fetch_snapshot
from kraft.messages import vote_request as vote
from kraft.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from kraft.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from kraft.messages.fetch_response import FetchResponse
from kraft.messages.fetch_snapshot_response import FetchSnapshotResponse
from kraft.messages.registry import ApiKey
from kraft.messages.vote_response import VoteResponse
from kraft.quorum.rpcs import (
    MAX_FETCH_BYTES,
    PARTITION,
    PRE_VOTE_VERSION,
    REPLICA_STATE_VERSION,
    VERSIONS,
    Identity,
    fetch_topic,
    sole_partition,
)
from kraft.raft import messages as raft
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC, METADATA_TOPIC_ID
from kraft.wire.schema import Message


class BadResponse(Exception):
    """A response that cannot be used: it refuses the whole request, or is not about the metadata log."""


@attrs.frozen
class Outbound:
    """A request and the version to send it in."""

    message: Message
    version: int


def request_message(
    request: raft.Request, identity: Identity, to: int, offered: Mapping[int, tuple[int, int]]
) -> Outbound:
    """Encode a request to voter ``to``. ``offered`` maps API keys to the lowest and highest version of that voter.

    Raises KafkaError UNSUPPORTED_VERSION if no offered version can carry the request.
    """
    match request:
        case raft.VoteRequest():
            oldest = PRE_VOTE_VERSION if request.pre_vote else 0
            return Outbound(_vote(request, identity, to), _version(ApiKey.VOTE, offered, oldest))
        case raft.BeginQuorumEpochRequest():
            version = _version(ApiKey.BEGIN_QUORUM_EPOCH, offered)
            return Outbound(_begin(request, identity, to), version)
        case raft.EndQuorumEpochRequest():
            return Outbound(_end(request, identity), _version(ApiKey.END_QUORUM_EPOCH, offered))
        case raft.FetchRequest():
            version = _version(ApiKey.FETCH, offered)
            return Outbound(_fetch(request, identity, version), version)
        case raft.FetchSnapshotRequest():
            return Outbound(_fetch_snapshot(request, identity), _version(ApiKey.FETCH_SNAPSHOT, offered))


def _version(key: ApiKey, offered: Mapping[int, tuple[int, int]], at_least: int = 0) -> int:
    oldest, newest = VERSIONS[key]
    lowest, highest = offered.get(key, (0, -1))
    if min(newest, highest) < max(oldest, lowest, at_least):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{key.name} is offered in versions {lowest} to {highest}.")
    return min(newest, highest)


def _vote(request: raft.VoteRequest, identity: Identity, to: int) -> vote.VoteRequest:
    partition = vote.PartitionData(
        partition_index=PARTITION,
        replica_epoch=request.epoch,
        replica_id=request.candidate_id,
        replica_directory_id=identity.directory_id,
        last_offset_epoch=request.last_epoch,
        last_offset=request.last_offset,
        pre_vote=request.pre_vote,
    )
    topics = [vote.TopicData(CLUSTER_METADATA_TOPIC, [partition])]
    return vote.VoteRequest(cluster_id=identity.cluster_id, voter_id=to, topics=topics)


def _begin(request: raft.BeginQuorumEpochRequest, identity: Identity, to: int) -> begin.BeginQuorumEpochRequest:
    partition = begin.PartitionData(PARTITION, leader_id=request.leader_id, leader_epoch=request.epoch)
    leader = identity.voters[request.leader_id]
    return begin.BeginQuorumEpochRequest(
        cluster_id=identity.cluster_id,
        voter_id=to,
        topics=[begin.TopicData(CLUSTER_METADATA_TOPIC, [partition])],
        leader_endpoints=[begin.LeaderEndpoint(identity.listener, leader.host, leader.port)],
    )


def _end(request: raft.EndQuorumEpochRequest, identity: Identity) -> end.EndQuorumEpochRequest:
    successors = list(request.preferred_successors)
    partition = end.PartitionData(
        partition_index=PARTITION,
        leader_id=request.leader_id,
        leader_epoch=request.epoch,
        preferred_successors=successors,
        preferred_candidates=[end.ReplicaInfo(successor) for successor in successors],
    )
    leader = identity.voters[request.leader_id]
    return end.EndQuorumEpochRequest(
        cluster_id=identity.cluster_id,
        topics=[end.TopicData(CLUSTER_METADATA_TOPIC, [partition])],
        leader_endpoints=[end.LeaderEndpoint(identity.listener, leader.host, leader.port)],
    )


def _fetch(request: raft.FetchRequest, identity: Identity, version: int) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(
        partition=PARTITION,
        current_leader_epoch=request.epoch,
        fetch_offset=request.fetch_offset,
        last_fetched_epoch=request.last_fetched_epoch,
        replica_directory_id=identity.directory_id,
    )
    if request.high_watermark is not None:
        partition.high_watermark = request.high_watermark
    message = fetch.FetchRequest(
        cluster_id=identity.cluster_id,
        max_wait_ms=round(request.max_wait_s * 1000),
        max_bytes=MAX_FETCH_BYTES,
        topics=[fetch.FetchTopic(CLUSTER_METADATA_TOPIC, METADATA_TOPIC_ID, [partition])],
    )
    if version < REPLICA_STATE_VERSION:
        message.replica_id = request.replica_id
    else:
        message.replica_state = fetch.ReplicaState(replica_id=request.replica_id)
    return message


def _fetch_snapshot(request: raft.FetchSnapshotRequest, identity: Identity) -> fetch_snapshot.FetchSnapshotRequest:
    partition = fetch_snapshot.PartitionSnapshot(
        partition=PARTITION,
        current_leader_epoch=request.epoch,
        snapshot_id=fetch_snapshot.SnapshotId(request.snapshot.end_offset, request.snapshot.epoch),
        position=request.position,
        replica_directory_id=identity.directory_id,
    )
    return fetch_snapshot.FetchSnapshotRequest(
        cluster_id=identity.cluster_id,
        replica_id=request.replica_id,
        max_bytes=MAX_FETCH_BYTES,
        topics=[fetch_snapshot.TopicSnapshot(CLUSTER_METADATA_TOPIC, [partition])],
    )


def response_value(request: raft.Request, message: Message, version: int) -> tuple[raft.Response, bytes]:
    """Decode the response to ``request``. Return it with the bytes of its records, or of its part of a snapshot.

    ``records`` of a FetchResponse stays None: only the log can find the complete batches. An unknown error
    code is decoded as UNKNOWN_SERVER_ERROR. Raises BadResponse.
    """
    match message:
        case VoteResponse():
            partition = _partition_of(message, message.topics)
            return raft.VoteResponse(*_common(partition, partition), granted=partition.vote_granted), b""
        case BeginQuorumEpochResponse():
            partition = _partition_of(message, message.topics)
            return raft.BeginQuorumEpochResponse(*_common(partition, partition)), b""
        case EndQuorumEpochResponse():
            partition = _partition_of(message, message.topics)
            return raft.EndQuorumEpochResponse(*_common(partition, partition)), b""
        case FetchResponse():
            partition = _partition_of(message, message.responses, **fetch_topic(version))
            return _fetched(partition), bytes(partition.records or b"")
        case FetchSnapshotResponse():
            assert isinstance(request, raft.FetchSnapshotRequest), "the response has the type of its request"
            partition = _partition_of(message, message.topics, topic="name", index="index")
            data = bytes(partition.unaligned_records or b"")
            return _fetched_snapshot(request, partition, len(data)), data
    raise BadResponse(f"{type(message).__name__} is not a response of a quorum")


def _partition_of(message: Any, topics: Sequence[Any], **names: Any) -> Any:
    if message.error_code:
        raise BadResponse(ErrorCode(message.error_code).name)
    partition = sole_partition(topics, **names)
    if partition is None:
        raise BadResponse("it does not name the metadata partition alone")
    return partition


def _common(partition: Any, leader: Any) -> tuple[ErrorCode, int, int | None]:
    """Return the fields of every response: the error, the epoch and its leader. ``leader`` has the last two."""
    leader_id = None if leader.leader_id < 0 else leader.leader_id
    return ErrorCode(partition.error_code), leader.leader_epoch, leader_id


def _fetched(partition: Any) -> raft.FetchResponse:
    common = _common(partition, partition.current_leader)
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    if diverging.epoch >= 0:
        _check_numbers("diverging epoch", diverging.epoch, diverging.end_offset)
        end = raft.EpochEnd(diverging.epoch, diverging.end_offset)
        return raft.FetchResponse(*common, high_watermark=partition.high_watermark, diverging=end)
    if snapshot.epoch >= 0 or snapshot.end_offset >= 0:
        _check_numbers("snapshot id", snapshot.epoch, snapshot.end_offset)
        begin_with = raft.SnapshotId(snapshot.end_offset, snapshot.epoch)
        return raft.FetchResponse(*common, high_watermark=partition.high_watermark, snapshot=begin_with)
    return raft.FetchResponse(*common, high_watermark=partition.high_watermark)


def _fetched_snapshot(request: raft.FetchSnapshotRequest, partition: Any, length: int) -> raft.FetchSnapshotResponse:
    common = _common(partition, partition.current_leader)
    snapshot = raft.SnapshotId(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
    if not partition.error_code:
        _check_numbers("snapshot", partition.position, partition.size)
        if snapshot != request.snapshot:
            raise BadResponse(f"requested {request.snapshot}, received a part of {snapshot}")
    return raft.FetchSnapshotResponse(*common, partition.position, length, partition.size)


def _check_numbers(what: str, *numbers: int) -> None:
    if min(numbers) < 0:
        raise BadResponse(f"invalid {what} {numbers}")
