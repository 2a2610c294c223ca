"""Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch and FetchSnapshot at a controller's listener (KIP-595, KIP-630)."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio

from kraft.api.end_quorum_epoch import MAX_SUCCESSORS
from kraft.api.row import ListenerType
from kraft.api.table import OFFERED
from kraft.messages import end_quorum_epoch_request as ended
from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.no_op_record import NoOpRecord
from kraft.messages.registry import ApiKey
from kraft.quorum.outbound_requests import request_message, response_value
from kraft.quorum.rpcs import VERSIONS, Identity
from kraft.quorum.trace import RequestRefused
from kraft.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    Request,
    SnapshotId,
    VoteRequest,
)
from kraft.records.batch import iter_headers
from kraft.rpc.client import connect
from kraft.wire.errors import ErrorCode
from tests.api.serving import VOTER_2, Serving
from tests.support.cluster_id import CLUSTER_ID
from tests.support.quorums import append, identity

KEYS = {
    VoteRequest: ApiKey.VOTE,
    BeginQuorumEpochRequest: ApiKey.BEGIN_QUORUM_EPOCH,
    EndQuorumEpochRequest: ApiKey.END_QUORUM_EPOCH,
    FetchRequest: ApiKey.FETCH,
    FetchSnapshotRequest: ApiKey.FETCH_SNAPSHOT,
}


def each_version(key: ApiKey) -> range:
    return range(VERSIONS[key][0], VERSIONS[key][1] + 1)


async def say(
    served: Serving, request: Request, version: int | None = None, *, as_: Identity | None = None, **changes: Any
) -> tuple[Any, bytes]:
    """Return the response to voter 2, or to ``as_``; ``changes`` apply to the message."""
    me = as_ or identity(2, *served.plane.quorum.identity.voters.values(), VOTER_2)
    key = KEYS[type(request)]
    offered = served.connection.versions if version is None else {key: (version, version)}
    outbound = request_message(request, me, 1, offered)
    for name, value in changes.items():
        setattr(outbound.message, name, value)
    answer = await served.ask(outbound.message, outbound.version)
    return response_value(request, answer, outbound.version)


def test_a_controller_offers_the_versions_of_the_quorum() -> None:
    offered = OFFERED[ListenerType.CONTROLLER]
    assert {key: offered[key] for key in VERSIONS} == VERSIONS


# Elections.


@pytest.mark.parametrize("version", each_version(ApiKey.VOTE))
async def test_a_vote_is_granted_once_and_the_response_has_the_epoch(standby: Serving, version: int) -> None:
    """KIP-595: a voter grants one vote an epoch, and its response has its own epoch."""
    response, _ = await say(standby, VoteRequest(100, 2, 0, 0), version)
    assert (response.error, response.granted, response.epoch) == (ErrorCode.NONE, True, 100)
    response, _ = await say(standby, VoteRequest(99, 2, 0, 0), version)
    assert (response.error, response.granted, response.epoch) == (ErrorCode.FENCED_LEADER_EPOCH, False, 100)


async def test_a_pre_vote_changes_no_epoch(standby: Serving) -> None:
    """KIP-996: a pre-vote is a question; nothing is bound by its answer."""
    epoch = standby.plane.quorum.epoch
    response, _ = await say(standby, VoteRequest(epoch, 2, 0, 0, pre_vote=True))
    assert response.error is ErrorCode.NONE
    assert response.granted


async def test_a_vote_for_another_voter_is_refused_with_the_present_epoch(standby: Serving) -> None:
    """KIP-853: INVALID_VOTER_KEY, and the epoch stays as it was."""
    await say(standby, VoteRequest(100, 2, 0, 0))
    response, _ = await say(standby, VoteRequest(200, 2, 0, 0), voter_id=7)
    assert (response.error, response.epoch, response.granted) == (ErrorCode.INVALID_VOTER_KEY, 100, False)


@pytest.mark.parametrize("version", [0, 1])
async def test_a_voter_that_sends_begin_quorum_epoch_is_followed(standby: Serving, version: int) -> None:
    """KIP-595: BeginQuorumEpoch makes the leader known, and EndQuorumEpoch that it resigned."""
    response, _ = await say(standby, BeginQuorumEpochRequest(100, 2), version)
    assert (response.error, response.epoch, response.leader_id) == (ErrorCode.NONE, 100, 2)
    assert standby.plane.quorum.leader_id == 2
    response, _ = await say(standby, EndQuorumEpochRequest(100, 2, (1,)), version)
    assert response.error is ErrorCode.NONE


async def test_a_leader_has_few_successors(standby: Serving) -> None:
    """EndQuorumEpoch: "INVALID_REQUEST for more than ``MAX_SUCCESSORS``"; INVALID_REQUEST is of the whole response."""
    for count, code in ((MAX_SUCCESSORS, ErrorCode.NONE), (MAX_SUCCESSORS + 1, ErrorCode.INVALID_REQUEST)):
        numbers = list(range(2, 2 + count))
        for version, partition in (
            (0, ended.PartitionData(0, 2, 100, preferred_successors=numbers)),
            (1, ended.PartitionData(0, 2, 100, preferred_candidates=[ended.ReplicaInfo(each) for each in numbers])),
        ):
            message = ended.EndQuorumEpochRequest(CLUSTER_ID, [ended.TopicData("__cluster_metadata", [partition])])
            assert (await standby.ask(message, version)).error_code == code


@pytest.mark.parametrize("request_", [VoteRequest(9, 2, 0, 0), FetchRequest(1, 2, 0, 0, 0)], ids=["vote", "fetch"])
async def test_another_cluster_is_refused_whole(standby: Serving, request_: Request) -> None:
    outbound = request_message(request_, identity(2, VOTER_2), 1, standby.connection.versions)
    outbound.message.cluster_id = "another"  # type: ignore[attr-defined]
    answer = await standby.ask(outbound.message, outbound.version)
    assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID


async def test_a_refusal_without_the_core_is_logged_once_and_counted(
    standby: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    """The log of this node has the reason why another node cannot join the quorum."""
    caplog.set_level(logging.WARNING)
    counted: list[str] = []
    standby.plane.quorum.trace.subscribe(RequestRefused, lambda told: counted.append(told.refusal.reason.name))
    for _ in range(3):
        for cluster_id, voter_id in (("another", 1), (CLUSTER_ID, 7)):
            outbound = request_message(VoteRequest(9, 2, 0, 0), identity(2, VOTER_2), 1, standby.connection.versions)
            outbound.message.cluster_id = cluster_id  # type: ignore[attr-defined]
            outbound.message.voter_id = voter_id  # type: ignore[attr-defined]
            await standby.ask(outbound.message, outbound.version)
    assert counted == ["OTHER_CLUSTER", "OTHER_VOTER"] * 3
    assert [line for line in caplog.messages if "in epoch 9 refused" in line] == [
        "127.0.0.1: Vote of 2 in epoch 9 refused: it is for another cluster",
        "127.0.0.1: Vote of 2 in epoch 9 refused: it is for another voter, or for a voter with another directory id",
    ]


# Replication.

OBSERVER = identity(9, VOTER_2)


def fetch(served: Serving, offset: int, *, wait_s: float = 0.0, last_epoch: int | None = None) -> FetchRequest:
    epoch = served.plane.quorum.epoch
    return FetchRequest(epoch, 9, offset, epoch if last_epoch is None else last_epoch, wait_s)


@pytest.mark.parametrize("version", each_version(ApiKey.FETCH))
async def test_an_observer_reads_the_log(active: Serving, version: int) -> None:
    """KIP-595: Fetch replicates the log with its committed records; the bytes are those of the leader's file."""
    quorum = active.plane.quorum
    response, data = await say(active, fetch(active, 0, last_epoch=0), version, as_=OBSERVER)
    assert (response.error, response.leader_id, response.epoch) == (ErrorCode.NONE, 1, quorum.epoch)
    assert response.high_watermark == quorum.high_watermark == quorum.end_offset
    headers = [header for _, header in iter_headers(data)]
    assert headers[0].is_control, "an epoch begins with a LeaderChange"
    assert headers[-1].last_offset + 1 == quorum.end_offset
    assert (Path(quorum.log.directory) / f"{0:020}.log").read_bytes().startswith(data)


async def test_a_fetch_with_nothing_to_bring_waits_for_the_log_to_grow(active: Serving) -> None:
    """KIP-595: the Fetch is parked until there are records at its offset. No other request waits for it."""
    quorum = active.plane.quorum
    end = quorum.end_offset
    fetched: list[bytes] = []

    async def follow() -> None:
        _, data = await say(active, fetch(active, end, wait_s=20.0), as_=OBSERVER)
        fetched.append(data)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow)
        async with connect("127.0.0.1", active.port) as other:
            with trio.fail_after(10):
                await other.request(ApiVersionsRequest("test", "1"))
        assert not fetched
        append(quorum, [NoOpRecord()], quorum.epoch)
    assert [header.base_offset for _, header in iter_headers(fetched[0])] == [end]


async def test_a_diverging_log_gets_the_diverging_epoch(active: Serving) -> None:
    """KIP-595: the end of the last epoch that both can share."""
    quorum = active.plane.quorum
    response, data = await say(active, fetch(active, quorum.end_offset + 5), as_=OBSERVER)
    assert response.diverging == (quorum.epoch, quorum.end_offset)
    assert data == b""


@pytest.mark.parametrize("version", [12, 17])
async def test_a_voter_that_does_not_lead_names_the_leader(standby: Serving, version: int) -> None:
    """KIP-595: this is how observers find it. KIP-853: and where it is."""
    await say(standby, BeginQuorumEpochRequest(100, 2))
    outbound = request_message(FetchRequest(100, 9, 0, 0, 0), OBSERVER, 1, {ApiKey.FETCH: (version, version)})
    answer = await standby.ask(outbound.message, version)
    [partition] = answer.responses[0].partitions
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (2, 100)
    assert [(node.node_id, node.port) for node in answer.node_endpoints] == ([(2, 2)] if version >= 17 else [])


async def test_other_topics_are_not_here(active: Serving) -> None:
    outbound = request_message(fetch(active, 0), OBSERVER, 1, active.connection.versions)
    outbound.message.topics[0].topic_id = UUID(int=77)  # type: ignore[attr-defined]
    answer = await active.ask(outbound.message, outbound.version)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.responses == []


# Snapshots.


async def with_snapshot(served: Serving) -> tuple[SnapshotId, bytes]:
    """Return the leader's first snapshot, and the content of its file."""
    quorum = served.plane.quorum
    snapshot = quorum.log.write_snapshot(served.plane.image)
    await quorum.snapshot_created(snapshot)
    with trio.fail_after(10):
        while (await say(served, fetch(served, 0, last_epoch=0), as_=OBSERVER))[0].snapshot != snapshot:
            await trio.lowlevel.checkpoint()
    content, size = quorum.log.read_snapshot(snapshot, 0, 2**20)
    assert len(content) == size
    return snapshot, content


@pytest.mark.parametrize("version", each_version(ApiKey.FETCH_SNAPSHOT))
async def test_a_snapshot_comes_in_pieces(active: Serving, version: int) -> None:
    """KIP-630: from a position on, at most so many bytes, with the size of the whole."""
    snapshot, content = await with_snapshot(active)
    got = b""
    while len(got) < len(content):
        asked = FetchSnapshotRequest(active.plane.quorum.epoch, 9, snapshot, len(got))
        response, piece = await say(active, asked, version, as_=OBSERVER, max_bytes=50)
        assert (response.error, response.position, response.size) == (ErrorCode.NONE, len(got), len(content))
        assert 0 < len(piece) <= 50
        got += piece
    assert got == content


async def test_a_position_outside_of_a_snapshot_is_refused(active: Serving) -> None:
    """KIP-630: SNAPSHOT_NOT_FOUND for one that is not there, POSITION_OUT_OF_RANGE beyond its end."""
    snapshot, content = await with_snapshot(active)
    epoch = active.plane.quorum.epoch
    for asked, error in [
        (FetchSnapshotRequest(epoch, 9, SnapshotId(snapshot.end_offset + 1, epoch), 0), ErrorCode.SNAPSHOT_NOT_FOUND),
        (FetchSnapshotRequest(epoch, 9, SnapshotId(1, 1), 0), ErrorCode.SNAPSHOT_NOT_FOUND),
        (FetchSnapshotRequest(epoch, 9, snapshot, len(content)), ErrorCode.POSITION_OUT_OF_RANGE),
        (FetchSnapshotRequest(epoch, 9, snapshot, -1), ErrorCode.POSITION_OUT_OF_RANGE),
        (FetchSnapshotRequest(epoch - 1, 9, snapshot, 0), ErrorCode.FENCED_LEADER_EPOCH),
    ]:
        response, data = await say(active, asked, as_=OBSERVER)
        assert (response.error, response.leader_id, data) == (error, 1, b"")
