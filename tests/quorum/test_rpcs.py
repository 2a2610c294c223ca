"""The quorum's RPCs, there and back through bytes, in every version that a quorum can be run with.

The sentences quoted are those of KIP-595 (the RPCs), KIP-630 (snapshots), KIP-853 (directory ids, endpoints), KIP-996
(pre-vote) and KIP-1166 (the high watermark in Fetch).
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraft.config.listeners import Voter
from kraft.messages.registry import ApiKey, request_class, response_class
from kraft.quorum.inbound_requests import RefusedRequest, request_value, response_message
from kraft.quorum.outbound_requests import BadResponse, request_message, response_value
from kraft.quorum.rpcs import NOBODY, VERSIONS, Identity
from kraft.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    EpochEnd,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Request,
    Response,
    SnapshotId,
    VoteRequest,
    VoteResponse,
)
from kraft.wire.codec import decode, encode
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import METADATA_TOPIC_ID
from kraft.wire.uuids import ZERO_UUID
from tests.messages.strategies import messages
from tests.support.sweep import sweep

VOTERS = {n: Voter(n, f"controller{n}", 9090 + n) for n in (1, 2, 3)}
ONE, TWO = (Identity(n, "the-cluster", UUID(int=100 + n), VOTERS, "CONTROLLER") for n in (1, 2))
SNAPSHOT = SnapshotId(500, 3)

VOTE = VoteRequest(7, 1, 120, 6)
BEGIN = BeginQuorumEpochRequest(7, 1)
END = EndQuorumEpochRequest(7, 1, (3, 2))
FETCH = FetchRequest(7, 1, 120, 6, 0.5)
FETCH_SNAPSHOT = FetchSnapshotRequest(7, 1, SNAPSHOT, 4096)

EXCHANGES: list[tuple[ApiKey, Request, Response]] = [
    (ApiKey.VOTE, VOTE, VoteResponse(ErrorCode.NONE, 7, None, granted=True)),
    (ApiKey.VOTE, VOTE, VoteResponse(ErrorCode.FENCED_LEADER_EPOCH, 9, 3)),
    (ApiKey.BEGIN_QUORUM_EPOCH, BEGIN, BeginQuorumEpochResponse(ErrorCode.NONE, 7, 1)),
    (ApiKey.END_QUORUM_EPOCH, END, EndQuorumEpochResponse(ErrorCode.BROKER_NOT_AVAILABLE, 8, None)),
    (ApiKey.FETCH, FETCH, FetchResponse(ErrorCode.NONE, 7, 2, 100)),
    (ApiKey.FETCH, FETCH, FetchResponse(ErrorCode.NONE, 7, 2, 100, diverging=EpochEnd(5, 90))),
    (ApiKey.FETCH, FETCH, FetchResponse(ErrorCode.NONE, 7, 2, 100, snapshot=SNAPSHOT)),
    (ApiKey.FETCH, FETCH, FetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, 7, 3)),
    (ApiKey.FETCH_SNAPSHOT, FETCH_SNAPSHOT, FetchSnapshotResponse(ErrorCode.NONE, 7, 2, 4096, 6, 9000)),
    (ApiKey.FETCH_SNAPSHOT, FETCH_SNAPSHOT, FetchSnapshotResponse(ErrorCode.SNAPSHOT_NOT_FOUND, 7, 2)),
]

FAULTS = ["no topic", "two topics", "no partition", "two partitions", "another topic", "another partition"]


EVERYWHERE = [
    (key, request, response, version)
    for key, request, response in EXCHANGES
    for version in range(VERSIONS[key][0], VERSIONS[key][1] + 1)
]


def sent(request: Request, version: int) -> Any:
    """The message of a request of voter 1 to voter 2 who offers ``version`` alone, through its bytes."""
    key = next(key for key, asked, _ in EXCHANGES if type(asked) is type(request))
    outbound = request_message(request, ONE, 2, {key: (version, version)})
    assert outbound.version == version
    return decode(request_class(key), version, encode(outbound.message, version))[0]


def answered(request: Request, response: Response, version: int, **brought: Any) -> Any:
    """The message of voter 2's answer, through its bytes."""
    key = next(key for key, asked, _ in EXCHANGES if type(asked) is type(request))
    message = response_message(request, response, TWO, version, **brought)
    return decode(response_class(key), version, encode(message, version))[0]


@sweep(("key", "asked", "response", "version"), EVERYWHERE)
def test_a_request_arrives_unchanged(key: ApiKey, asked: Request, response: Response, version: int) -> None:
    assert request_value(sent(asked, version), version, TWO) == asked


@sweep(("key", "asked", "response", "version"), EVERYWHERE)
def test_a_response_arrives_unchanged(key: ApiKey, asked: Request, response: Response, version: int) -> None:
    data = b"record" if isinstance(response, FetchSnapshotResponse) and not response.error else b""
    message = answered(asked, response, version, data=data)
    assert response_value(asked, message, version) == (response, data)


@pytest.mark.parametrize("version", range(12, 19))
def test_records_come_beside_the_response(version: int) -> None:
    message = answered(FETCH, FetchResponse(ErrorCode.NONE, 7, 2, 100), version, data=b"batches", log_start_offset=40)
    response, data = response_value(FETCH, message, version)
    assert (response, data) == (FetchResponse(ErrorCode.NONE, 7, 2, 100), b"batches")
    assert message.responses[0].partitions[0].log_start_offset == 40


# The version of a request.


def test_the_highest_common_version_is_used() -> None:
    assert request_message(FETCH, ONE, 2, {ApiKey.FETCH: (0, 17)}).version == 17
    assert request_message(FETCH, ONE, 2, {ApiKey.FETCH: (4, 18)}).version == 18
    assert request_message(VOTE, ONE, 2, {ApiKey.VOTE: (0, 1)}).version == 1


@pytest.mark.parametrize("offered", [{}, {ApiKey.FETCH: (0, 11)}, {ApiKey.FETCH: (19, 20)}])
def test_a_peer_without_a_common_version_gets_no_request(offered: dict[int, tuple[int, int]]) -> None:
    with pytest.raises(KafkaError) as refused:
        request_message(FETCH, ONE, 2, offered)
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_a_pre_vote_needs_version_2_of_vote() -> None:
    """KIP-996: PreVote is new in version 2 of the request; an older voter does not support it."""
    pre_vote = attrs.evolve(VOTE, pre_vote=True)
    assert request_value(sent(pre_vote, 2), 2, TWO) == pre_vote
    with pytest.raises(KafkaError) as refused:
        request_message(pre_vote, ONE, 2, {ApiKey.VOTE: (0, 1)})
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


# The fields about the sender.


@pytest.mark.parametrize("version", range(1, 3))
def test_a_vote_request_names_the_voter_without_a_directory(version: int) -> None:
    """KIP-853: the voter directory id is left out by those who do not know it, and that is never refused."""
    message = sent(VOTE, version)
    partition = message.topics[0].partitions[0]
    assert (message.cluster_id, message.voter_id, message.topics[0].topic_name) == (
        "the-cluster",
        2,
        "__cluster_metadata",
    )
    assert (partition.replica_directory_id, partition.voter_directory_id) == (ONE.directory_id, ZERO_UUID)


@pytest.mark.parametrize("asked", [BEGIN, END], ids=["begin", "end"])
def test_a_leader_sends_its_endpoint(asked: Request) -> None:
    [endpoint] = sent(asked, 1).leader_endpoints
    assert (endpoint.name, endpoint.host, endpoint.port) == ("CONTROLLER", "controller1", 9091)
    assert sent(asked, 0).leader_endpoints == []


@pytest.mark.parametrize("version", range(12, 19))
def test_a_fetch_names_the_topic_and_the_replica_as_its_version_does(version: int) -> None:
    message = sent(FETCH, version)
    [topic] = message.topics
    assert (topic.topic, topic.topic_id) == (
        ("__cluster_metadata", ZERO_UUID) if version < 13 else ("", METADATA_TOPIC_ID)
    )
    assert (message.replica_id, message.replica_state.replica_id) == ((1, -1) if version < 15 else (-1, 1))
    assert topic.partitions[0].replica_directory_id == (ONE.directory_id if version >= 17 else ZERO_UUID)
    assert (message.cluster_id, message.max_wait_ms, message.max_bytes) == ("the-cluster", 500, 8 * 2**20)
    assert (message.session_id, message.session_epoch) == (0, -1)


@pytest.mark.parametrize(("version", "arrives"), [(17, None), (18, 90)])
def test_a_fetch_has_the_high_watermark_from_version_18_on(version: int, arrives: int | None) -> None:
    """KIP-1166: the replica's high watermark, the greatest number for "does not take part"."""
    message = sent(attrs.evolve(FETCH, high_watermark=90), version)
    assert request_value(message, version, TWO) == attrs.evolve(FETCH, high_watermark=arrives)


def test_a_high_watermark_that_is_not_known_is_none_at_all() -> None:
    message = sent(attrs.evolve(FETCH, high_watermark=-1), 18)
    assert request_value(message, 18, TWO) == attrs.evolve(FETCH, high_watermark=0)


@sweep(("key", "asked", "response", "version"), EVERYWHERE)
def test_a_response_has_the_endpoint_of_the_leader(
    key: ApiKey, asked: Request, response: Response, version: int
) -> None:
    """KIP-853: node_endpoints from version 1 on, in Fetch from 17 on, if there is a leader."""
    endpoints = answered(asked, response, version).node_endpoints
    if response.leader_id is None or version < (17 if key is ApiKey.FETCH else 1):
        assert endpoints == []
    else:
        [node] = endpoints
        leader = response.leader_id
        assert (node.node_id, node.host, node.port) == (leader, f"controller{leader}", 9090 + leader)


# Requests that the node refuses before the core.


@sweep(("key", "asked", "response", "version"), EVERYWHERE)
def test_another_cluster_is_refused(key: ApiKey, asked: Request, response: Response, version: int) -> None:
    """KIP-595: INCONSISTENT_CLUSTER_ID if the cluster id is given and another; null is let through."""
    message = sent(asked, version)
    message.cluster_id = "another"
    with pytest.raises(KafkaError) as refused:
        request_value(message, version, TWO)
    assert refused.value.code is ErrorCode.INCONSISTENT_CLUSTER_ID
    message.cluster_id = None
    assert request_value(message, version, TWO) == asked


@sweep(("fault", "key", "asked", "response", "version"), [(fault, *case) for fault in FAULTS for case in EVERYWHERE])
def test_a_request_for_another_log_is_refused(
    fault: str, key: ApiKey, asked: Request, response: Response, version: int
) -> None:
    message = sent(asked, version)
    spoil(message.topics, fault)
    with pytest.raises(KafkaError) as refused:
        request_value(message, version, TWO)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def spoil(topics: list[Any], fault: str) -> None:
    partitions = topics[0].partitions
    match fault:
        case "no topic":
            topics.clear()
        case "two topics":
            topics.append(topics[0])
        case "no partition":
            partitions.clear()
        case "two partitions":
            partitions.append(partitions[0])
        case "another topic":
            for name in ("topic_name", "name", "topic"):
                if hasattr(topics[0], name):
                    setattr(topics[0], name, "orders")
            if hasattr(topics[0], "topic_id"):
                topics[0].topic_id = UUID(int=2)
        case "another partition":
            for name in ("partition_index", "partition", "index"):
                if hasattr(partitions[0], name):
                    setattr(partitions[0], name, 1)


@pytest.mark.parametrize(("asked", "version"), [(VOTE, 1), (VOTE, 2), (BEGIN, 1)])
@pytest.mark.parametrize(
    ("voter_id", "directory_id", "is_refused"),
    [
        (2, ZERO_UUID, False),
        (2, TWO.directory_id, False),
        (2, UUID(int=999), True),
        (3, ZERO_UUID, True),
        (NOBODY, UUID(int=999), False),
    ],
)
def test_a_request_to_another_voter_is_refused(
    asked: Request, version: int, voter_id: int, directory_id: UUID, is_refused: bool
) -> None:
    """KIP-853: INVALID_VOTER_KEY if the id and the directory id are not those of the receiver; both may be left out."""
    message = sent(asked, version)
    message.voter_id = voter_id
    message.topics[0].partitions[0].voter_directory_id = directory_id
    if not is_refused:
        assert request_value(message, version, TWO) == asked
        return
    with pytest.raises(RefusedRequest) as refused:
        request_value(message, version, TWO)
    _, response = refused.value.response(9, 3)
    assert (response.error, response.epoch, response.leader_id) == (ErrorCode.INVALID_VOTER_KEY, 9, 3)
    assert response_value(asked, answered(asked, response, version), version) == (response, b"")


def test_a_wait_that_cannot_be_is_refused() -> None:
    message = sent(FETCH, 17)
    message.max_wait_ms = -1
    with pytest.raises(RefusedRequest) as refused:
        request_value(message, 17, TWO)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_a_successor_with_another_directory_is_another() -> None:
    """KIP-853: a candidate is a replica id and a directory id; its place in the line is kept."""
    message = sent(END, 1)
    message.topics[0].partitions[0].preferred_candidates[1].candidate_directory_id = UUID(int=999)
    value = request_value(message, 1, TWO)
    assert isinstance(value, EndQuorumEpochRequest)
    assert value.preferred_successors == (3, NOBODY)


# Responses that are of no use.


@sweep(("key", "asked", "response", "version"), EVERYWHERE)
def test_a_refusal_of_the_whole_is_no_answer(key: ApiKey, asked: Request, response: Response, version: int) -> None:
    for code in (ErrorCode.INCONSISTENT_CLUSTER_ID, 32_000):
        message = answered(asked, response, version)
        message.error_code = code
        with pytest.raises(BadResponse):
            response_value(asked, message, version)


@sweep(("fault", "key", "asked", "response", "version"), [(fault, *case) for fault in FAULTS for case in EVERYWHERE])
def test_an_answer_about_something_else_is_no_answer(
    fault: str, key: ApiKey, asked: Request, response: Response, version: int
) -> None:
    message = answered(asked, response, version)
    spoil(message.responses if key is ApiKey.FETCH else message.topics, fault)
    with pytest.raises(BadResponse):
        response_value(asked, message, version)


@sweep(("key", "asked", "response", "version"), EVERYWHERE)
def test_an_error_from_the_future_is_an_unknown_one(
    key: ApiKey, asked: Request, response: Response, version: int
) -> None:
    message = answered(asked, response, version)
    [topic] = message.responses if key is ApiKey.FETCH else message.topics
    topic.partitions[0].error_code = 32_000
    assert response_value(asked, message, version)[0].error is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("numbers", [(-1, 10), (3, -1)])
def test_numbers_that_cannot_be_are_no_answer(numbers: tuple[int, int]) -> None:
    epoch, offset = numbers
    for where in ("diverging_epoch", "snapshot_id"):
        message = answered(FETCH, FetchResponse(ErrorCode.NONE, 7, 2), 17)
        said = getattr(message.responses[0].partitions[0], where)
        said.epoch, said.end_offset = epoch, offset
        if where == "diverging_epoch" and epoch < 0:
            response, _ = response_value(FETCH, message, 17)  # no epoch: no divergence
            assert response == FetchResponse(ErrorCode.NONE, 7, 2)
        else:
            with pytest.raises(BadResponse):
                response_value(FETCH, message, 17)


def test_a_piece_of_another_snapshot_is_no_answer() -> None:
    message = answered(FETCH_SNAPSHOT, FetchSnapshotResponse(ErrorCode.NONE, 7, 2, 4096, 1, 9000), 1, data=b"x")
    other = attrs.evolve(FETCH_SNAPSHOT, snapshot=SnapshotId(501, 3))
    with pytest.raises(BadResponse):
        response_value(other, message, 1)


# Whatever is sent.

PAIRS = [(key, version) for key, (oldest, newest) in VERSIONS.items() for version in range(oldest, newest + 1)]
REQUESTS = {key: request for key, request, _ in EXCHANGES}


def seen_as_ours(topics: list[Any]) -> None:
    """Name the metadata log, so that the node reads the partition."""
    for topic in topics:
        for name, value in [("topic_name", "__cluster_metadata"), ("name", "__cluster_metadata")]:
            if hasattr(topic, name):
                setattr(topic, name, value)
        if hasattr(topic, "topic_id"):
            topic.topic, topic.topic_id = "__cluster_metadata", METADATA_TOPIC_ID
        for partition in topic.partitions:
            for name in ("partition_index", "partition", "index"):
                if hasattr(partition, name):
                    setattr(partition, name, 0)


@pytest.mark.no_cover
@sweep(("key", "version"), PAIRS)
@given(data=st.data())
@settings(max_examples=30)
def test_any_request_is_a_value_or_refused(key: ApiKey, version: int, data: st.DataObject) -> None:
    message = data.draw(messages(request_class(key), version))
    message.cluster_id = None
    seen_as_ours(message.topics)
    try:
        value = request_value(message, version, TWO)
    except RefusedRequest as refused:
        if refused.request is None:
            assert len(message.topics) != 1 or len(message.topics[0].partitions) != 1
        else:
            encode(response_message(*refused.response(9, 3), TWO, version), version)
    else:
        assert type(value) is type(REQUESTS[key])


@pytest.mark.no_cover
@sweep(("key", "version"), PAIRS)
@given(data=st.data())
@settings(max_examples=30)
def test_any_response_is_a_value_or_of_no_use(key: ApiKey, version: int, data: st.DataObject) -> None:
    message = data.draw(messages(response_class(key), version))
    message.error_code = 0
    seen_as_ours(message.responses if key is ApiKey.FETCH else message.topics)
    try:
        response, brought = response_value(REQUESTS[key], message, version)
    except BadResponse:
        return
    assert isinstance(response.error, ErrorCode)
    assert response.leader_id is None or response.leader_id >= 0
    assert isinstance(brought, bytes)
