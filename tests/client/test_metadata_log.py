"""The reader of the metadata log: it follows the leader, and stays below the high watermark."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from kraft.client.cluster import open_cluster
from kraft.client.metadata_log import FetchedLog, LogDiverged, MetadataLogReader, open_metadata_log
from kraft.client.retry import GaveUp
from kraft.config.setting import ConfigError
from kraft.messages.fetch_request import FetchRequest
from kraft.messages.fetch_response import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from kraft.messages.fetch_response import SnapshotId as FetchedSnapshotId
from kraft.messages.fetch_snapshot_request import FetchSnapshotRequest
from kraft.messages.fetch_snapshot_response import FetchSnapshotResponse, PartitionSnapshot, TopicSnapshot
from kraft.messages.fetch_snapshot_response import SnapshotId as ServedSnapshotId
from kraft.messages.registry import ApiKey
from kraft.raft.messages import SnapshotId
from kraft.records.batch import CorruptBatch
from kraft.records.record import Record, encode_batch
from kraft.testing.embedded import embedded_node
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import METADATA_TOPIC_ID
from tests.support.node_process import free_ports
from tests.support.stub_cluster import stub_cluster
from tests.support.trio_cluster import QUICK_LEASES, cluster_in

EPOCH = 7
LEADER = 2


def batch(offset: int, count: int = 1, epoch: int = EPOCH) -> bytes:
    records = [Record(at, 1000, None, b"value") for at in range(offset, offset + count)]
    return encode_batch(records, base_offset=offset, leader_epoch=epoch)


@attrs.define
class Controllers:
    """Stub controllers. ``answer`` makes the partition of the response to each Fetch; ``requests`` notes these."""

    answer: Callable[[Any], PartitionData]
    requests: list[Any] = attrs.Factory(list)
    endpoints: list[NodeEndpoint] = attrs.Factory(list)

    def fetch(self, request: FetchRequest) -> FetchResponse:
        (topic,) = request.topics
        assert topic.topic_id == METADATA_TOPIC_ID
        assert request.replica_state.replica_id == -1, "an id would make this an observer that the leader tracks"
        (partition,) = topic.partitions
        self.requests.append(partition)
        if partition.current_leader_epoch < EPOCH:
            data = PartitionData(
                error_code=ErrorCode.FENCED_LEADER_EPOCH, current_leader=LeaderIdAndEpoch(LEADER, EPOCH), records=b""
            )
        else:
            data = self.answer(partition)
        found = FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[data])
        return FetchResponse(responses=[found], node_endpoints=self.endpoints)


@contextmanager
def controllers(answer: Callable[[Any], PartitionData], **more: Any) -> Iterator[tuple[Controllers, str]]:
    served = Controllers(answer, **more)
    snapshots = (1, lambda request: snapshot_part(request, b"0123456789"))
    with stub_cluster({ApiKey.FETCH: (17, served.fetch), ApiKey.FETCH_SNAPSHOT: snapshots}) as stub:
        yield served, stub.bootstrap_controllers


def log_of(*batches: bytes, high_watermark: int, start: int = 0) -> Callable[[Any], PartitionData]:
    def answer(partition: Any) -> PartitionData:
        return PartitionData(high_watermark=high_watermark, log_start_offset=start, records=b"".join(batches))

    return answer


def snapshot_part(request: FetchSnapshotRequest, content: bytes, part: int = 4) -> FetchSnapshotResponse:
    (asked,) = request.topics[0].partitions
    data = PartitionSnapshot(size=len(content), position=asked.position)
    data.snapshot_id = ServedSnapshotId(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)
    data.unaligned_records = content[asked.position : asked.position + part]
    if asked.current_leader_epoch < EPOCH:
        data.error_code, data.current_leader.leader_id = ErrorCode.FENCED_LEADER_EPOCH, LEADER
        data.current_leader.leader_epoch = EPOCH
    elif asked.snapshot_id.epoch != EPOCH:
        data.error_code = ErrorCode.SNAPSHOT_NOT_FOUND
    return FetchSnapshotResponse(topics=[TopicSnapshot(partitions=[data])])


async def fetch(servers: str, offset: int, epoch: int | None = None, **options: Any) -> FetchedLog:
    async with open_metadata_log(servers, timeout_s=options.pop("timeout_s", 30.0)) as log:
        return await log.fetch(offset, epoch, **options)


def offsets(fetched: FetchedLog) -> list[tuple[int, int]]:
    return [(header.base_offset, header.last_offset) for _, header in fetched.batches]


async def test_an_embedded_nodes_log_is_read_from_any_offset() -> None:
    """KIP-595: a Fetch begins anywhere in the log. A batch that begins below the offset comes whole."""
    async with embedded_node({"orders": 2}) as node, open_metadata_log(node.controller) as log:
        whole = await log.fetch(0)
        assert whole.batches[0][1].is_control, "the LeaderChange of the first epoch"
        assert whole.end_offset == whole.high_watermark
        last = whole.batches[-1][1]
        assert last.count > 1
        inside = await log.fetch(last.last_offset)
        assert offsets(inside) == [(last.base_offset, last.last_offset)]
        at_end = await log.fetch(whole.high_watermark, last.leader_epoch)
        assert not at_end.batches
        assert at_end.end_offset is None


async def test_records_above_the_high_watermark_are_withheld() -> None:
    """KIP-595: a record above the high watermark may be truncated."""
    with controllers(log_of(batch(0, 2), batch(2, 3), high_watermark=4)) as (_, servers):
        fetched = await fetch(servers, 0)
    assert offsets(fetched) == [(0, 1)]


async def test_a_batch_that_is_cut_by_the_size_of_the_response_is_left_out() -> None:
    with controllers(log_of(batch(0, 2), batch(2, 3)[:-1], high_watermark=5)) as (_, servers):
        assert offsets(await fetch(servers, 0)) == [(0, 1)]


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (batch(1), "begins at offset 1, expected 0"),
        (batch(0) + batch(2), "begins at offset 2, expected 1"),
        (batch(0)[:-1] + b"!", "checksum"),
    ],
    ids=["other offset", "gap", "flipped bit"],
)
async def test_a_response_with_other_bytes_than_the_log_is_refused(sent: bytes, says: str) -> None:
    with controllers(log_of(sent, high_watermark=9)) as (_, servers), pytest.raises(CorruptBatch, match=says):
        await fetch(servers, 0)


async def test_a_new_leader_that_knows_no_high_watermark_is_asked_again() -> None:
    """KafkaRaftClient: the high watermark is -1 until a record of the leader's epoch is committed."""
    answers = iter([-1, -1, 1])

    def answer(partition: Any) -> PartitionData:
        return PartitionData(high_watermark=next(answers), log_start_offset=0, records=batch(0))

    with controllers(answer) as (_, servers):
        assert (await fetch(servers, 0)).high_watermark == 1


async def test_a_needed_record_is_waited_for() -> None:
    answers = iter([0, 1])

    def answer(partition: Any) -> PartitionData:
        return PartitionData(high_watermark=next(answers), log_start_offset=0, records=batch(0))

    with controllers(answer) as (_, servers):
        assert offsets(await fetch(servers, 0, needed=True)) == [(0, 0)]


async def test_the_log_of_another_cluster_is_recognised() -> None:
    """KIP-595: the leader answers with the diverging epoch if its log has another record before the offset."""

    def answer(partition: Any) -> PartitionData:
        assert partition.last_fetched_epoch == 5
        return PartitionData(high_watermark=9, log_start_offset=0, diverging_epoch=EpochEndOffset(4, 80), records=b"")

    says = r"no offset 100 after epoch 5: its epoch 4 ends at 80; the log was replaced"
    with controllers(answer) as (_, servers), pytest.raises(LogDiverged, match=says):
        await fetch(servers, 100, 5)


async def test_the_id_of_a_snapshot_is_returned_for_deleted_offsets() -> None:
    """KIP-630: a leader whose log begins after the offset answers with its newest snapshot."""

    def answer(partition: Any) -> PartitionData:
        snapshot = FetchedSnapshotId(40, 3)
        return PartitionData(high_watermark=90, log_start_offset=30, snapshot_id=snapshot, records=b"")

    with controllers(answer) as (_, servers):
        fetched = await fetch(servers, 0)
    assert (fetched.snapshot, fetched.high_watermark, fetched.batches) == (SnapshotId(40, 3), 90, ())


async def test_offset_0_of_a_log_with_a_snapshot_is_read_from_offset_1() -> None:
    """KafkaRaftClient.tryCompleteFetchRequest: offset 0 gets a snapshot, also if the log begins at 0."""

    def answer(partition: Any) -> PartitionData:
        if partition.fetch_offset == 0:
            snapshot = FetchedSnapshotId(40, 3)
            return PartitionData(high_watermark=90, log_start_offset=0, snapshot_id=snapshot, records=b"")
        assert (partition.fetch_offset, partition.last_fetched_epoch) == (1, EPOCH)
        return PartitionData(high_watermark=90, log_start_offset=0, records=batch(1))

    with controllers(answer) as (_, servers):
        fetched = await fetch(servers, 0)
    assert (fetched.snapshot, offsets(fetched)) == (None, [(1, 1)])


async def test_a_follower_leads_to_the_leader() -> None:
    """KIP-595: NOT_LEADER_OR_FOLLOWER names the leader; KIP-853: with its endpoint."""
    with ExitStack() as stack:
        leader, address = stack.enter_context(controllers(log_of(batch(0), high_watermark=1)))
        host, port = address.split(":")

        def refuse(partition: Any) -> PartitionData:
            named = LeaderIdAndEpoch(LEADER, EPOCH)
            return PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=named, records=b"")

        endpoints = [NodeEndpoint(LEADER, host, int(port))]
        _, follower = stack.enter_context(controllers(refuse, endpoints=endpoints))
        async with open_metadata_log(follower) as log:
            assert offsets(await log.fetch(0)) == [(0, 0)]
            asked = len(leader.requests)
            await log.fetch(0)
            assert len(leader.requests) == asked + 1, "the leader is known now"


async def test_a_controller_that_is_down_is_passed_over() -> None:
    with controllers(log_of(batch(0), high_watermark=1)) as (_, servers):
        assert offsets(await fetch(f"127.0.0.1:{free_ports(1)[0]},{servers}", 0)) == [(0, 0)]


async def test_a_quorum_without_a_leader_is_given_up() -> None:
    def refuse(partition: Any) -> PartitionData:
        return PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, records=b"")

    with controllers(refuse) as (_, servers), pytest.raises(GaveUp, match=r"metadata log at 0: gave up .*NOT_LEADER"):
        await fetch(servers, 0, timeout_s=3.0)


async def test_a_broker_is_no_controller() -> None:
    async with embedded_node() as node:
        with pytest.raises(KafkaError, match=r"127.0.0.1:\d+: it is no controller of a KRaft quorum"):
            await fetch(node.bootstrap_servers, 0)
    with pytest.raises(ConfigError, match="host:port"):
        await fetch("nowhere", 0)


async def test_a_snapshot_is_downloaded_in_parts() -> None:
    with controllers(log_of(high_watermark=1)) as (_, servers):
        async with open_metadata_log(servers) as log:
            file = io.BytesIO()
            assert await log.download(SnapshotId(40, EPOCH), file) == 10
            assert file.getvalue() == b"0123456789"
            assert await log.has_snapshot(SnapshotId(40, EPOCH))
            assert not await log.has_snapshot(SnapshotId(40, EPOCH - 1))
            with pytest.raises(KafkaError, match="SNAPSHOT_NOT_FOUND"):
                await log.download(SnapshotId(40, EPOCH - 1), file)


async def test_a_part_of_another_snapshot_is_refused() -> None:
    """FetchSnapshotResponse names the snapshot and the position of its bytes."""

    def other_position(request: FetchSnapshotRequest) -> FetchSnapshotResponse:
        response = snapshot_part(request, b"0123456789")
        response.topics[0].partitions[0].position += 1
        return response

    answers = {ApiKey.FETCH: (17, lambda request: None), ApiKey.FETCH_SNAPSHOT: (1, other_position)}
    with stub_cluster(answers) as stub:
        async with open_metadata_log(stub.bootstrap_controllers) as log:
            with pytest.raises(CorruptBatch, match="not about position 0"):
                await log.download(SnapshotId(40, EPOCH), io.BytesIO())


async def test_a_change_of_leader_is_followed(tmp_path: Path) -> None:
    """KIP-595: the log of the next leader continues at the same offset, with its LeaderChange."""
    async with cluster_in(tmp_path, QUICK_LEASES) as nodes:
        voters = nodes.members[1].settings["controller.quorum.voters"]
        servers = ",".join(voter.partition("@")[2] for voter in voters.split(","))
        async with open_cluster(servers) as cluster, open_metadata_log(servers) as log:
            before = await read_all(log, 0)
            await nodes.members[(await cluster.describe(controllers=True)).controller_id].kill()
            last = before[-1]
            after = (await log.fetch(last.next_offset, last.leader_epoch, needed=True)).batches[0][1]
            assert (after.base_offset, after.is_control) == (last.next_offset, True)
            assert after.leader_epoch > last.leader_epoch


async def read_all(log: MetadataLogReader, offset: int, epoch: int | None = None) -> list[Any]:
    headers: list[Any] = []
    while fetched := (await log.fetch(offset, epoch)).batches:
        headers += [header for _, header in fetched]
        offset, epoch = headers[-1].next_offset, headers[-1].leader_epoch
    return headers
