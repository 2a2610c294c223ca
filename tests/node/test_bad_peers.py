"""What a peer can do to a member of the quorum: nothing, or stop it with one clear line where its log is at stake."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import pytest
import trio

from kraft.config.listeners import Endpoint, Voter
from kraft.config.topic import LogConfig
from kraft.messages import fetch_response as fetched
from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kraft.messages.registry import ApiKey
from kraft.messages.topic_record import TopicRecord
from kraft.messages.vote_request import VoteRequest
from kraft.messages.vote_response import VoteResponse
from kraft.metrics import Registry
from kraft.node.clock import Clock
from kraft.node.metadata_batches import encoded_batches, leader_change_batch
from kraft.node.metadata_log import MetadataLog
from kraft.node.quorum import Quorum
from kraft.raft.events import LeaderChange
from kraft.raft.state import Follower
from kraft.rpc.channel import CLOSE, Reply, Request
from kraft.rpc.plane import Plane
from kraft.rpc.quotas import ConnectionLimits, ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.simulation import virtual_time
from kraft.simulation.virtual_network import VirtualNetwork
from kraft.storage.errors import StorageError
from kraft.wire.errors import ErrorCode
from kraft.wire.uuids import METADATA_TOPIC_ID
from tests.node.quorums import identity, idle

VOTERS = tuple(Voter(node_id, f"node-{node_id}", 9093) for node_id in (1, 2, 3))
EPOCH = 1
APIS = {ApiKey.FETCH: (4, 17), ApiKey.VOTE: (0, 2), ApiKey.API_VERSIONS: (0, 4)}

Answer = Callable[[Any], Any]


def opening(epoch: int = EPOCH) -> bytes:
    """The first batch of the epoch of voter 1."""
    return leader_change_batch(LeaderChange(epoch, 1, (1, 2, 3), (1, 3)), 0, 1000)


def topics(base_offset: int, count: int = 1, epoch: int = EPOCH) -> bytes:
    records = [TopicRecord(name=f"t{n}", topic_id=UUID(int=1000 + n)) for n in range(base_offset, base_offset + count)]
    return b"".join(data for _, data in encoded_batches(records, base_offset, epoch, 1000))


def answer(records: bytes = b"", **fields: Any) -> fetched.FetchResponse:
    """A leader's answer to a Fetch."""
    given = {"high_watermark": 0, "current_leader": fetched.LeaderIdAndEpoch(1, EPOCH), **fields}
    partition = fetched.PartitionData(partition_index=0, records=records, **given)
    topic = fetched.FetchableTopicResponse("__cluster_metadata", METADATA_TOPIC_ID, [partition])
    return fetched.FetchResponse(responses=[topic])


@attrs.define(eq=False)
class Leader:
    """Voter 1, which says what the test wants: each Fetch gets the next answer, and then honest ones."""

    script: list[Answer | fetched.FetchResponse | None]
    log: bytes = b""
    asked: int = 0

    async def handle(self, request: Request) -> Reply:
        message: Any = request.message()
        if isinstance(message, ApiVersionsRequest):
            return ApiVersionsResponse(api_keys=[ApiVersion(key, *span) for key, span in APIS.items()])
        if isinstance(message, VoteRequest):
            return VoteResponse(error_code=ErrorCode.INVALID_REQUEST)
        self.asked += 1
        if self.script:
            told = self.script.pop(0)
            return CLOSE if told is None else told(message) if callable(told) else told
        offset = message.topics[0].partitions[0].fetch_offset
        pieces = [opening(), topics(1, 3)]
        end = (0, 1, 4).index(offset) if offset in (0, 1, 4) else 2
        data = b"".join(pieces[end:])
        if not data:
            await trio.sleep(0.1)
        return answer(data, high_watermark=4)


@asynccontextmanager
async def follower_of(leader: Leader, directory: Path) -> AsyncIterator[Quorum]:
    """Voter 2, a real driver on real files, which has only that leader to talk to."""
    network = VirtualNetwork(1)
    log = MetadataLog.open(str(directory), LogConfig(), now_ms=0)
    quorum = Quorum(identity(2, *VOTERS), log, Clock(), connect=network.connect("node-2"), in_thread=_at_once)
    service = Service(
        handle=leader.handle,
        apis=APIS,
        error_response=lambda request, error: VoteResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR),
        quotas=ConnectionQuotas(ConnectionLimits()),
        registry=Registry(),
        listen=network.listen("node-1"),
    )
    plane = Plane("control", (Endpoint("CONTROLLER", "PLAINTEXT", "node-1", 9093),), 20, 1, 4, "")
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, plane, service, trio.Event())
        await nursery.start(quorum.run, idle)
        yield quorum
        nursery.cancel_scope.cancel()


async def _at_once(work: Callable[..., Any], *arguments: Any) -> Any:
    await trio.lowlevel.checkpoint()
    return work(*arguments)


def flipped(data: bytes, position: int) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 1
    return bytes(changed)


BAD_ANSWERS = {
    "a flipped bit in a record": answer(flipped(opening(), -3)),
    "a flipped bit in the checksum": answer(flipped(opening(), 18)),
    "a length beyond the data": answer(opening()[:8] + b"\x7f\xff\xff\xff" + opening()[12:]),
    "a negative length": answer(opening()[:8] + b"\xff\xff\xff\xff" + opening()[12:]),
    "half a batch": answer(opening()[:40]),
    "bytes of any kind": answer(b"\xde\xad\xbe\xef" * 500),
    "a gap": answer(topics(7)),
    "an epoch that the leader cannot know": answer(opening(EPOCH + 1)),
    "an old format": answer(flipped(opening(), 16)),
    "the log of another topic": fetched.FetchResponse(
        responses=[fetched.FetchableTopicResponse("x", UUID(int=5), [fetched.PartitionData(0)])]
    ),
    "no topic": fetched.FetchResponse(),
    "an error that nobody knows": answer(error_code=31_999),
    "a refusal of the whole": fetched.FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID),
    "another leader in the same epoch": answer(current_leader=fetched.LeaderIdAndEpoch(3, EPOCH)),
    "a leader that is no voter": answer(current_leader=fetched.LeaderIdAndEpoch(99, EPOCH)),
    "an older epoch": answer(opening(), current_leader=fetched.LeaderIdAndEpoch(1, 0)),
    "a high watermark beyond everything": answer(high_watermark=10**12),
    "a diverging epoch with an impossible end": answer(diverging_epoch=fetched.EpochEndOffset(0, -7)),
    "a snapshot before the beginning": answer(snapshot_id=fetched.SnapshotId(-5, 1)),
    "the end of the connection": None,
}


async def _catch_up(directory: Path, leader: Leader) -> None:
    async with follower_of(leader, directory) as quorum:
        with trio.fail_after(20):
            await quorum.committed(3)
        state = quorum.state
        assert isinstance(state, Follower)
        assert (state.leader_id, quorum.high_watermark, quorum.end_offset) == (1, 4, 4)
        assert quorum.log.read(0, 2**20)[0] == opening() + topics(1, 3)


@pytest.mark.parametrize("bad", BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
def test_a_follower_outlives_a_leader_that_talks_nonsense(tmp_path: Path, bad: fetched.FetchResponse | None) -> None:
    """Nothing that cannot be is appended or believed, and the follower asks again. The first answer is how it finds its
    leader.
    """
    virtual_time.run(_catch_up, tmp_path, Leader([answer(), bad, bad]))


def test_damaged_records_are_named_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    virtual_time.run(_catch_up, tmp_path, Leader([answer(), BAD_ANSWERS["a flipped bit in a record"]]))
    assert ["1 sent records that cannot be used" in record.getMessage() for record in caplog.records] == [True]


async def _be_cut(directory: Path, leader: Leader) -> None:
    async with follower_of(leader, directory):
        await trio.sleep(20)


def test_what_is_committed_is_never_cut(tmp_path: Path) -> None:
    """KIP-595: committed records are never truncated. A leader that says otherwise stops the node, with one line."""
    everything = answer(opening() + topics(1, 3), high_watermark=4)
    parted = answer(diverging_epoch=fetched.EpochEndOffset(EPOCH, 1), high_watermark=4)
    leader = Leader([answer(), everything, answer(high_watermark=4), parted])
    line = "everything below 4 is committed; this node stops"
    with pytest.RaisesGroup(pytest.RaisesExc(StorageError, match=line), flatten_subgroups=True):
        virtual_time.run(_be_cut, tmp_path, leader)
    log = MetadataLog.open(str(tmp_path), LogConfig(), now_ms=0)
    assert log.read(0, 2**20)[0] == opening() + topics(1, 3)
    log.close()
