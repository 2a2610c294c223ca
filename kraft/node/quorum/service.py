"""The quorum's RPCs as a member hears them from another (KIP-595, KIP-630, KIP-853, KIP-996).

Requests become values, after the checks that the core does not make, and values responses.
The other half, for requests of our own, is ``kraft.node.quorum.wire``.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any
from uuid import UUID

from kraft.controller.context import CLUSTER_METADATA_TOPIC
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
from kraft.messages.vote_request import VoteRequest
from kraft.node.quorum.wire import (
    NOBODY,
    PARTITION,
    REPLICA_STATE_VERSION,
    Identity,
    fetch_topic,
    sole_partition,
)
from kraft.raft import messages as raft
from kraft.raft.member import RESPONSES
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message
from kraft.wire.uuids import METADATA_TOPIC_ID, ZERO_UUID

#: From here on a Fetch response says where the leader is.
_FETCH_ENDPOINTS_VERSION = 17
_ENDPOINTS_VERSION = 1
#: What a replica that takes no part in it says instead of its high watermark (KIP-1166).
_NO_HIGH_WATERMARK = 2**63 - 1


class Refused(Exception):
    """A request that only this partition's part is refused of, before the quorum is asked: ``code`` says why."""

    def __init__(self, request: raft.Request, code: ErrorCode) -> None:
        super().__init__(code.message)
        self.request = request
        self.code = code

    def response(self, epoch: int, leader_id: int | None) -> raft.Response:
        """The answer, which tells the present epoch and its leader as every answer does."""
        return RESPONSES[type(self.request)](self.code, epoch, leader_id)


def request_value(message: Message, version: int, identity: Identity) -> raft.Request:
    """What a request asks.

    Raises:
        KafkaError: the whole request is refused: INCONSISTENT_CLUSTER_ID if it is for another cluster,
            INVALID_REQUEST if it is not about the metadata log alone.
        Refused: INVALID_VOTER_KEY if it is meant for another voter, or this one with another directory;
            INVALID_REQUEST for a wait that cannot be.
    """
    match message:
        case VoteRequest():
            return _vote(message, identity)
        case BeginQuorumEpochRequest():
            return _begin(message, identity)
        case EndQuorumEpochRequest():
            return _end(message, version, identity)
        case FetchRequest():
            return _fetch(message, version, identity)
        case FetchSnapshotRequest():
            return _fetch_snapshot(message, identity)
    raise AssertionError(f"{type(message).__name__} is no request to a quorum")


def _partition_of(message: Any, identity: Identity, **names: Any) -> Any:
    if message.cluster_id is not None and message.cluster_id != identity.cluster_id:
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID)
    partition = sole_partition(message.topics, **names)
    if partition is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    return partition


def _check_voter(message: Any, directory_id: UUID, request: raft.Request, identity: Identity) -> None:
    """An old request does not say whom it is for, and the sender of a new one need not know the directory."""
    if message.voter_id < 0:
        return
    if message.voter_id != identity.node_id or directory_id not in (ZERO_UUID, identity.directory_id):
        raise Refused(request, ErrorCode.INVALID_VOTER_KEY)


def _vote(message: VoteRequest, identity: Identity) -> raft.VoteRequest:
    partition = _partition_of(message, identity)
    request = raft.VoteRequest(
        epoch=partition.replica_epoch,
        candidate_id=partition.replica_id,
        last_offset=partition.last_offset,
        last_epoch=partition.last_offset_epoch,
        pre_vote=partition.pre_vote,
    )
    _check_voter(message, partition.voter_directory_id, request, identity)
    return request


def _begin(message: BeginQuorumEpochRequest, identity: Identity) -> raft.BeginQuorumEpochRequest:
    partition = _partition_of(message, identity)
    request = raft.BeginQuorumEpochRequest(partition.leader_epoch, partition.leader_id)
    _check_voter(message, partition.voter_directory_id, request, identity)
    return request


def _end(message: EndQuorumEpochRequest, version: int, identity: Identity) -> raft.EndQuorumEpochRequest:
    partition: EndedPartition = _partition_of(message, identity)
    if version == 0:
        successors = tuple(partition.preferred_successors)
    else:
        successors = tuple(
            _successor(each.candidate_id, each.candidate_directory_id, identity)
            for each in partition.preferred_candidates
        )
    return raft.EndQuorumEpochRequest(partition.leader_epoch, partition.leader_id, successors)


def _successor(node_id: int, directory_id: UUID, identity: Identity) -> int:
    """Nobody in the place of this voter, if its directory is not the one that is meant."""
    is_other = node_id == identity.node_id and directory_id not in (ZERO_UUID, identity.directory_id)
    return NOBODY if is_other else node_id


def _fetch(message: FetchRequest, version: int, identity: Identity) -> raft.FetchRequest:
    partition: FetchPartition = _partition_of(message, identity, index="partition", **fetch_topic(version))
    known = None if partition.high_watermark == _NO_HIGH_WATERMARK else max(partition.high_watermark, 0)
    request = raft.FetchRequest(
        epoch=partition.current_leader_epoch,
        replica_id=message.replica_id if version < REPLICA_STATE_VERSION else message.replica_state.replica_id,
        fetch_offset=partition.fetch_offset,
        last_fetched_epoch=partition.last_fetched_epoch,
        max_wait_s=message.max_wait_ms / 1000,
        high_watermark=known,
    )
    if message.max_wait_ms < 0:
        raise Refused(request, ErrorCode.INVALID_REQUEST)
    return request


def _fetch_snapshot(message: FetchSnapshotRequest, identity: Identity) -> raft.FetchSnapshotRequest:
    partition = _partition_of(message, identity, topic="name", index="partition")
    snapshot = raft.SnapshotId(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
    return raft.FetchSnapshotRequest(partition.current_leader_epoch, message.replica_id, snapshot, partition.position)


def response_message(
    request: raft.Request,
    response: raft.Response,
    identity: Identity,
    version: int,
    *,
    data: bytes = b"",
    log_start_offset: int = -1,
) -> Message:
    """The message that says ``response``. ``data`` is what it brings of the log, or of the snapshot asked for."""
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
            assert isinstance(request, raft.FetchSnapshotRequest), "a response answers what was asked"
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
