"""Decodes the quorum requests of peers and encodes the responses to them (KIP-595, KIP-630, KIP-853, KIP-996).

It makes the checks that the core does not make. ``kraft.quorum.outbound_requests`` encodes the requests of this node.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any
from uuid import UUID

from kraft.messages import begin_quorum_epoch_response as begun
from kraft.messages import end_quorum_epoch_response as ended
from kraft.messages import fetch_response as fetched
from kraft.messages import fetch_snapshot_response as fetched_snapshot
from kraft.messages import vote_response as voted
from kraft.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from kraft.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from kraft.messages.end_quorum_epoch_request import PartitionData as EndedPartition
from kraft.messages.fetch_request import FetchPartition, FetchRequest
from kraft.messages.fetch_snapshot_request import FetchSnapshotRequest
from kraft.messages.vote_request import PartitionData as VotePartition
from kraft.messages.vote_request import VoteRequest
from kraft.quorum.refusals import RefusalReason, RefusedRequest
from kraft.quorum.rpcs import NOBODY, PARTITION, REPLICA_STATE_VERSION, Identity, fetch_topic, sole_partition
from kraft.raft import messages as raft
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC, METADATA_TOPIC_ID
from kraft.wire.schema import Message
from kraft.wire.uuids import ZERO_UUID

#: The first version of a Fetch response with the endpoint of the leader.
_FETCH_ENDPOINTS_VERSION = 17
_ENDPOINTS_VERSION = 1
#: A replica without KIP-1166 sends this value instead of its high watermark.
_NO_HIGH_WATERMARK = 2**63 - 1


def request_value(message: Message, version: int, identity: Identity) -> raft.Request:
    """Decode a request for the core.

    Raises RefusedRequest for a request as a whole:

    - INCONSISTENT_CLUSTER_ID if it is for another cluster;
    - INVALID_REQUEST if it does not name the metadata partition alone.

    Raises RefusedRequest for its partition:

    - INVALID_VOTER_KEY if it is for another voter, or for this voter with another directory;
    - INVALID_REQUEST if it has a negative wait.
    """
    partition = _partition_of(message, version)
    request = None if partition is None else _value(message, partition, version, identity)
    reason = _refusal_reason(message, partition, identity)
    if request is None or reason is not None:
        raise RefusedRequest(message, request, reason or RefusalReason.OTHER_LOG)
    return request


def _partition_of(message: Any, version: int) -> Any | None:
    match message:
        case FetchRequest():
            return sole_partition(message.topics, index="partition", **fetch_topic(version))
        case FetchSnapshotRequest():
            return sole_partition(message.topics, topic="name", index="partition")
    return sole_partition(message.topics)


def _refusal_reason(message: Any, partition: Any | None, identity: Identity) -> RefusalReason | None:
    if message.cluster_id is not None and message.cluster_id != identity.cluster_id:
        return RefusalReason.OTHER_CLUSTER
    match message:
        case VoteRequest() | BeginQuorumEpochRequest() if partition is not None and message.voter_id >= 0:
            # An old request does not name its receiver, and the sender of a new one need not know the directory id.
            is_known = partition.voter_directory_id in (ZERO_UUID, identity.directory_id)
            return None if message.voter_id == identity.node_id and is_known else RefusalReason.OTHER_VOTER
        case FetchRequest() if message.max_wait_ms < 0:
            return RefusalReason.IMPOSSIBLE_WAIT
    return None


def _value(message: Message, partition: Any, version: int, identity: Identity) -> raft.Request:
    match message:
        case VoteRequest():
            return _vote(partition)
        case BeginQuorumEpochRequest():
            return raft.BeginQuorumEpochRequest(partition.leader_epoch, partition.leader_id)
        case EndQuorumEpochRequest():
            return _end(partition, version, identity)
        case FetchRequest():
            return _fetch(message, partition, version)
        case FetchSnapshotRequest():
            snapshot = raft.SnapshotId(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
            epoch, position = partition.current_leader_epoch, partition.position
            return raft.FetchSnapshotRequest(epoch, message.replica_id, snapshot, position)
    raise AssertionError(f"{type(message).__name__} is not a request to a quorum")


def _vote(partition: VotePartition) -> raft.VoteRequest:
    return raft.VoteRequest(
        epoch=partition.replica_epoch,
        candidate_id=partition.replica_id,
        last_offset=partition.last_offset,
        last_epoch=partition.last_offset_epoch,
        pre_vote=partition.pre_vote,
    )


def _end(partition: EndedPartition, version: int, identity: Identity) -> raft.EndQuorumEpochRequest:
    if version == 0:
        successors = tuple(partition.preferred_successors)
    else:
        successors = tuple(
            _successor(each.candidate_id, each.candidate_directory_id, identity)
            for each in partition.preferred_candidates
        )
    return raft.EndQuorumEpochRequest(partition.leader_epoch, partition.leader_id, successors)


def _successor(node_id: int, directory_id: UUID, identity: Identity) -> int:
    """Return the id of a successor, or NOBODY if it is this voter with another directory."""
    is_other = node_id == identity.node_id and directory_id not in (ZERO_UUID, identity.directory_id)
    return NOBODY if is_other else node_id


def _fetch(message: FetchRequest, partition: FetchPartition, version: int) -> raft.FetchRequest:
    known = None if partition.high_watermark == _NO_HIGH_WATERMARK else max(partition.high_watermark, 0)
    return raft.FetchRequest(
        epoch=partition.current_leader_epoch,
        replica_id=message.replica_id if version < REPLICA_STATE_VERSION else message.replica_state.replica_id,
        fetch_offset=partition.fetch_offset,
        last_fetched_epoch=partition.last_fetched_epoch,
        max_wait_s=message.max_wait_ms / 1000,
        high_watermark=known,
    )


def response_message(
    request: raft.Request,
    response: raft.Response,
    identity: Identity,
    version: int,
    *,
    data: bytes = b"",
    log_start_offset: int = -1,
) -> Message:
    """Encode ``response``. ``data`` has the bytes of the records, or of the snapshot, that the peer requested."""
    leader_id = NOBODY if response.leader_id is None else response.leader_id
    since = _ENDPOINTS_VERSION
    module: ModuleType
    message: Any
    match response:
        case raft.VoteResponse():
            module = voted
            voting = voted.PartitionData(PARTITION, response.error, leader_id, response.epoch, response.granted)
            message = voted.VoteResponse(topics=[voted.TopicData(CLUSTER_METADATA_TOPIC, [voting])])
        case raft.BeginQuorumEpochResponse():
            module = begun
            beginning = begun.PartitionData(PARTITION, response.error, leader_id, response.epoch)
            message = begun.BeginQuorumEpochResponse(topics=[begun.TopicData(CLUSTER_METADATA_TOPIC, [beginning])])
        case raft.EndQuorumEpochResponse():
            module = ended
            ending = ended.PartitionData(PARTITION, response.error, leader_id, response.epoch)
            message = ended.EndQuorumEpochResponse(topics=[ended.TopicData(CLUSTER_METADATA_TOPIC, [ending])])
        case raft.FetchResponse():
            module, since = fetched, _FETCH_ENDPOINTS_VERSION
            fetching = _fetched(response, leader_id, data, log_start_offset)
            topic = fetched.FetchableTopicResponse(CLUSTER_METADATA_TOPIC, METADATA_TOPIC_ID, [fetching])
            message = fetched.FetchResponse(responses=[topic])
        case raft.FetchSnapshotResponse():
            module = fetched_snapshot
            assert isinstance(request, raft.FetchSnapshotRequest), "the response has the type of its request"
            piece = _fetched_snapshot(request, response, leader_id, data)
            topics = [fetched_snapshot.TopicSnapshot(CLUSTER_METADATA_TOPIC, [piece])]
            message = fetched_snapshot.FetchSnapshotResponse(topics=topics)
    leader = identity.voters.get(leader_id)
    if leader is not None and version >= since:
        message.node_endpoints = [module.NodeEndpoint(leader_id, leader.host, leader.port)]
    answer: Message = message
    return answer


def _fetched(response: raft.FetchResponse, leader_id: int, data: bytes, log_start_offset: int) -> fetched.PartitionData:
    partition = fetched.PartitionData(
        partition_index=PARTITION,
        error_code=response.error,
        high_watermark=response.high_watermark,
        log_start_offset=log_start_offset,
        current_leader=fetched.LeaderIdAndEpoch(leader_id, response.epoch),
        records=data,
    )
    if response.diverging is not None:
        partition.diverging_epoch = fetched.EpochEndOffset(response.diverging.epoch, response.diverging.end_offset)
    if response.snapshot is not None:
        partition.snapshot_id = fetched.SnapshotId(response.snapshot.end_offset, response.snapshot.epoch)
    return partition


def _fetched_snapshot(
    request: raft.FetchSnapshotRequest, response: raft.FetchSnapshotResponse, leader_id: int, data: bytes
) -> fetched_snapshot.PartitionSnapshot:
    piece = fetched_snapshot.PartitionSnapshot(
        index=PARTITION,
        error_code=response.error,
        current_leader=fetched_snapshot.LeaderIdAndEpoch(leader_id, response.epoch),
        unaligned_records=data,
    )
    if not response.error:
        piece.snapshot_id = fetched_snapshot.SnapshotId(request.snapshot.end_offset, request.snapshot.epoch)
        piece.size, piece.position = response.size, response.position
    return piece
