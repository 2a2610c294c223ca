"""Partitions on three brokers: commits, the ISR, and the failure of a broker."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from kraft.broker.leadership import Proposal
from kraft.control.controller import Controller
from kraft.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kraft.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kraft.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from kraft.messages.fetch_response import PartitionData
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from kraft.replication.fetchers import Fetcher
from kraft.replication.isr import InSyncReplicas
from kraft.replication.partition import HostedPartition
from kraft.rpc.client import MAX_RESPONSE_BYTES, Connection
from kraft.wire.errors import ErrorCode
from tests.support.eventually import eventually_async, until
from tests.support.talk import EARLIEST, LATEST, batch, fetch, list_offset, produce, topic_id_of, values, values_in
from tests.support.trio_cluster import FETCH_WAIT_MS, QUICK_LEASES, TrioCluster, TrioNode, cluster_in

TOPIC = "topic"
QUICK_LAG = {"replica.lag.time.max.ms": "2000"}
NO_LAG = {"replica.lag.time.max.ms": "60000"}
"""So long that a held-up follower stays in sync."""


def check_once_or_twice(code: int, of_second: ErrorCode) -> None:
    """After a change of the controller a broker sends a request again, and the first one may have been carried out."""
    assert code in (ErrorCode.NONE, of_second), ErrorCode(code)


async def create(cluster: TrioCluster, replicas: int = 3, **configs: str) -> int:
    """Create the topic, of one partition. Return its leader."""
    settings = [CreatableTopicConfig(name=name.replace("_", "."), value=value) for name, value in configs.items()]
    topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=replicas, configs=settings)
    async with cluster.connected(1) as broker:
        response = await broker.request(CreateTopicsRequest(topics=[topic]))
    check_once_or_twice(response.topics[0].error_code, ErrorCode.TOPIC_ALREADY_EXISTS)
    await until(lambda: all(hosted(cluster, each) is not None for each in cluster.members))
    await until(lambda: leader_of(cluster) is not None)
    leader = leader_of(cluster)
    assert leader is not None
    return leader


def hosted(cluster: TrioCluster, node_id: int) -> HostedPartition | None:
    replicas = cluster.replicas(node_id)
    return None if replicas is None else replicas.partitions.get(TOPIC, {}).get(0)


def partition(cluster: TrioCluster, node_id: int) -> HostedPartition:
    found = hosted(cluster, node_id)
    assert found is not None
    return found


def leader_of(cluster: TrioCluster) -> int | None:
    """The broker with the newest leadership. One that was cut off may still have an older one."""
    leading = [
        (each.state.leader_epoch, node_id)
        for node_id in cluster.members
        if (each := hosted(cluster, node_id)) is not None and each.is_leader
    ]
    return max(leading)[1] if leading else None


def isr_of(cluster: TrioCluster) -> set[int]:
    leader = leader_of(cluster)
    leadership = None if leader is None else partition(cluster, leader).leadership
    return set() if leadership is None else set(leadership.isr)


def log_bytes(cluster: TrioCluster, node_id: int) -> bytes:
    directory = cluster.members[node_id].directory / f"{TOPIC}-0"
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


async def until_equal(cluster: TrioCluster, *node_ids: int) -> None:
    """Wait until each log has the same bytes, with a high watermark at its end."""

    def equal() -> bool:
        held = [hosted(cluster, each) for each in node_ids]
        ends = {None if each is None else each.log.log_end_offset for each in held}
        committed = {None if each is None else each.high_watermark for each in held}
        return len(ends) == 1 and ends == committed and len({log_bytes(cluster, each) for each in node_ids}) == 1

    await until(equal)


async def write(cluster: TrioCluster, leader: int, *records: bytes, acks: int = -1) -> int:
    """Produce one batch; the error code."""
    async with cluster.connected(leader) as broker:
        answer = await produce(broker, TOPIC, batch(*records), acks=acks)
    return answer.error_code


async def begin_to_write(
    cluster: TrioCluster, leader: int, record: bytes, *, task_status: trio.TaskStatus[trio.Event]
) -> None:
    """``write`` as a task, whose start returns the event of its answer."""
    answered = trio.Event()
    task_status.started(answered)
    await write(cluster, leader, record)
    answered.set()


async def write_in_sync(cluster: TrioCluster, leader: int, record: bytes) -> int:
    """As ``write``, and again after NOT_ENOUGH_REPLICAS, as producers do: a refused batch is in no log.

    On a busy machine a replica may be out of sync for a moment.
    """

    async def answered() -> list[int]:
        code = await write(cluster, leader, record)
        return [] if code == ErrorCode.NOT_ENOUGH_REPLICAS else [code]

    return (await eventually_async(answered))[0]


async def read(cluster: TrioCluster, leader: int) -> list[bytes | None]:
    async with cluster.connected(leader) as broker:
        return await values(broker, TOPIC)


async def hold_up(patch: pytest.MonkeyPatch, *node_ids: int) -> None:
    """These brokers fetch no more, until ``patch`` is undone; a Fetch that waits at its leader has ended."""
    turn = Fetcher._fetch_once

    async def idle(self: Fetcher, connection: Connection) -> None:
        if self.config.node_id in node_ids:
            await trio.sleep(0.02)
        else:
            await turn(self, connection)

    patch.setattr(Fetcher, "_fetch_once", idle)
    await trio.sleep(4 * FETCH_WAIT_MS / 1000)


@contextlib.contextmanager
def settling_held_up() -> Iterator[None]:
    """The in-sync replicas of no leader change inside of the block, even if one lags."""
    settle, over = InSyncReplicas._settle, trio.Event()

    async def wait(self: InSyncReplicas, proposals: Mapping[HostedPartition, Proposal]) -> bool:
        await over.wait()
        return await settle(self, proposals)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InSyncReplicas, "_settle", wait)
        yield
    over.set()


async def test_acknowledged_records_are_on_all_three(tmp_path: Path) -> None:
    async with cluster_in(tmp_path) as cluster:
        leader = await create(cluster)
        for number in range(10):
            assert await write(cluster, leader, b"%d" % number) == 0
            ends = [partition(cluster, each).log.log_end_offset for each in cluster.members]
            assert ends == [number + 1] * 3
        assert await write(cluster, leader, b"with acks=1", acks=1) == 0
        await until_equal(cluster, 1, 2, 3)
        assert await read(cluster, leader) == [*(b"%d" % number for number in range(10)), b"with acks=1"]


async def test_the_largest_batch_that_a_leader_takes_is_replicated(tmp_path: Path) -> None:
    """``socket.request.max.bytes`` limits a batch. A follower must take whatever its leader took (KIP-74)."""
    limit = MAX_RESPONSE_BYTES + 2**20
    settings = {**NO_LAG, "socket.request.max.bytes": str(limit)}
    async with cluster_in(tmp_path, settings) as cluster:
        leader = await create(cluster, max_message_bytes=str(limit))
        # With acks=1, because the disk may need longer than a producer waits.
        assert await write(cluster, leader, bytes(limit - 500), acks=1) == ErrorCode.NONE
        await until_equal(cluster, *cluster.members)
        assert await write(cluster, leader, b"behind it") == ErrorCode.NONE


async def test_a_follower_answers_clients_that_another_leads(tmp_path: Path) -> None:
    async with cluster_in(tmp_path) as cluster:
        leader = await create(cluster)
        follower = leader % 3 + 1
        async with cluster.connected(follower) as broker:
            answer = await produce(broker, TOPIC, batch(b"a"))
            assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert answer.current_leader.leader_id == leader
            data = await fetch(broker, TOPIC, version=10)
            assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            data = await fetch(broker, TOPIC, version=11, epoch=7)
            assert data.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


async def test_consumers_may_fetch_from_a_follower(tmp_path: Path) -> None:
    """KIP-392, from Fetch 11 on: up to the follower's high watermark. A leader with a ``replica.selector.class`` sends
    them there."""
    async with cluster_in(tmp_path) as cluster:
        leader = await create(cluster)
        assert await write(cluster, leader, b"first") == ErrorCode.NONE
        await until_equal(cluster, *cluster.members)
        async with cluster.connected(leader % 3 + 1) as follower, trio.open_nursery() as nursery:
            assert await values(follower, TOPIC) == [b"first"]
            nursery.start_soon(write, cluster, leader, b"second")
            data = await fetch(follower, TOPIC, 1, version=11, max_wait_ms=60_000, min_bytes=1)
            assert (values_in(data), data.high_watermark) == ([b"second"], 2)
            assert (await fetch(follower, TOPIC, 3)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_a_killed_leader_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """The test kills each broker while it leads; the broker misses records, and starts again."""
    written: list[bytes | None] = []
    async with cluster_in(tmp_path, QUICK_LEASES) as cluster:
        await create(cluster, min_insync_replicas="2")
        for round_ in range(3):
            leader = leader_of(cluster)
            assert leader is not None
            assert await write_in_sync(cluster, leader, b"before %d" % round_) == 0
            await cluster.members[leader].kill()
            await until(lambda: leader_of(cluster) is not None)
            heir = leader_of(cluster)
            assert heir is not None
            assert heir != leader
            assert await write_in_sync(cluster, heir, b"without %d" % round_) == 0
            written += [b"before %d" % round_, b"without %d" % round_]
            await cluster.start(leader)
            await until(lambda: isr_of(cluster) == {1, 2, 3})
        await until_equal(cluster, 1, 2, 3)
        last = leader_of(cluster)
        assert last is not None
        assert await read(cluster, last) == written


async def test_a_leader_that_stops_hands_over_first(tmp_path: Path) -> None:
    """KIP-631: a controlled shutdown ends when nothing is led any more. The lease would not end during the test."""
    async with cluster_in(tmp_path, {"broker.session.timeout.ms": "600000"}) as cluster:
        leader = await create(cluster)
        assert await write(cluster, leader, b"a") == 0
        await cluster.members[leader].stop()
        await until(lambda: leader_of(cluster) is not None)
        heir = leader_of(cluster)
        assert heir is not None
        assert await write(cluster, heir, b"b") == 0
        await cluster.start(leader)
        await until_equal(cluster, 1, 2, 3)


async def test_records_of_one_replica_alone_are_truncated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KIP-101: a former leader drops the records that no other replica has, however many they are."""
    async with cluster_in(tmp_path, {**QUICK_LEASES, **NO_LAG}) as cluster:
        leader = await create(cluster)
        assert await write(cluster, leader, b"committed") == 0
        await until_equal(cluster, 1, 2, 3)
        with monkeypatch.context() as patch:
            await hold_up(patch, 1, 2, 3)
            for _ in range(5):
                assert await write(cluster, leader, b"alone", b"alone", acks=1) == 0
            assert await read(cluster, leader) == [b"committed"], "consumers see what is committed"
            await cluster.members[leader].kill()
        await until(lambda: leader_of(cluster) is not None)
        heir = leader_of(cluster)
        assert heir is not None
        assert await write(cluster, heir, b"anew") == 0
        await cluster.start(leader)
        await until_equal(cluster, 1, 2, 3)
        assert await read(cluster, heir) == [b"committed", b"anew"]


async def test_a_follower_that_does_not_fetch_leaves_the_in_sync_replicas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then acks=all waits for it, and consumers do not see the records that it lacks."""
    async with cluster_in(tmp_path, QUICK_LAG) as cluster:
        leader = await create(cluster, min_insync_replicas="2")
        slow = leader % 3 + 1
        with monkeypatch.context() as patch:
            with settling_held_up():
                await hold_up(patch, slow)
                async with trio.open_nursery() as nursery:
                    answered: trio.Event = await nursery.start(begin_to_write, cluster, leader, b"a")
                    await until(lambda: partition(cluster, leader).log.log_end_offset == 1)
                    await trio.sleep(0.5)
                    assert not answered.is_set()
                    assert await read(cluster, leader) == []
                    nursery.cancel_scope.cancel()
            await until(lambda: isr_of(cluster) == {1, 2, 3} - {slow})
            assert await read(cluster, leader) == [b"a"]
            assert await write(cluster, leader, b"b") == 0
        await until(lambda: isr_of(cluster) == {1, 2, 3})
        await until_equal(cluster, 1, 2, 3)


async def test_too_few_replicas(tmp_path: Path) -> None:
    """min.insync.replicas: acks=all is refused; acks=1 is taken, and not shown before it is safe (KIP-966)."""
    async with cluster_in(tmp_path, QUICK_LEASES) as cluster:
        leader = await create(cluster, min_insync_replicas="3")
        assert await write_in_sync(cluster, leader, b"a") == 0
        gone = leader % 3 + 1
        await cluster.members[gone].kill()
        await until(lambda: isr_of(cluster) == {1, 2, 3} - {gone})
        present = leader_of(cluster)
        assert present is not None
        assert await write(cluster, present, b"b") == ErrorCode.NOT_ENOUGH_REPLICAS
        assert await write(cluster, present, b"c", acks=1) == 0
        assert await read(cluster, present) == [b"a"]
        await cluster.start(gone)
        await until(lambda: isr_of(cluster) == {1, 2, 3})
        assert await eventually_async(lambda: _reads(cluster, [b"a", b"c"]))


async def _reads(cluster: TrioCluster, expected: list[bytes]) -> bool:
    leader = leader_of(cluster)
    return leader is not None and await read(cluster, leader) == expected


async def test_an_acknowledgement_that_does_not_come_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with cluster_in(tmp_path, NO_LAG) as cluster:
        leader = await create(cluster)
        await hold_up(monkeypatch, 1, 2, 3)
        async with cluster.connected(leader) as broker:
            answer = await produce(broker, TOPIC, batch(b"a"), timeout_ms=300)
        assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT


async def test_a_follower_far_behind_begins_where_the_leader_does(tmp_path: Path) -> None:
    """Records that the leader has deleted meanwhile are deleted at the follower too."""
    async with cluster_in(tmp_path, QUICK_LEASES) as cluster:
        leader = await create(cluster)
        follower = leader % 3 + 1
        assert await write(cluster, leader, b"a") == 0
        await cluster.members[follower].kill()
        await until(lambda: isr_of(cluster) == {1, 2, 3} - {follower})
        present = leader_of(cluster)
        assert present is not None
        for _ in range(4):
            assert await write(cluster, present, b"b", b"c") == 0
        assert await delete_records(cluster, present, 6) == (0, 6)
        await cluster.start(follower)
        await until(lambda: isr_of(cluster) == {1, 2, 3})
        behind = partition(cluster, follower)
        assert (behind.log.log_start_offset, behind.log.log_end_offset) == (6, 9)


async def delete_records(cluster: TrioCluster, leader: int, offset: int, timeout_ms: int = 10_000) -> tuple[int, int]:
    topic = DeleteRecordsTopic(name=TOPIC, partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)])
    async with cluster.connected(leader) as broker:
        response = await broker.request(DeleteRecordsRequest(topics=[topic], timeout_ms=timeout_ms))
    answer = response.topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


async def test_deleted_records_are_deleted_everywhere_before_that_is_answered(tmp_path: Path) -> None:
    """KIP-107: the low watermark is the least of all replicas that are alive."""
    async with cluster_in(tmp_path) as cluster:
        leader = await create(cluster)
        assert await write(cluster, leader, b"a", b"b", b"c") == 0
        assert await delete_records(cluster, leader, 2) == (0, 2)
        assert [partition(cluster, each).log.log_start_offset for each in cluster.members] == [2, 2, 2]
        async with cluster.connected(leader) as broker:
            assert (await list_offset(broker, TOPIC, EARLIEST)).offset == 2


async def test_deleted_records_stay_deleted_under_a_follower_that_leads_and_was_killed(tmp_path: Path) -> None:
    """KIP-107: records below the low watermark of the response are gone under any leader. The only member of the ISR
    leads again after its restart, and no peer sends it the start of its log.
    """
    async with cluster_in(tmp_path, QUICK_LEASES) as cluster:
        await create_on(cluster, 1, 2)
        assert await write(cluster, 1, b"a", b"b", b"c") == 0
        assert await delete_records(cluster, 1, 2) == (0, 2)
        await cluster.members[1].stop()
        await until(lambda: leader_of(cluster) == 2)
        await cluster.members[2].kill()
        await cluster.start(2)
        await until(lambda: leader_of(cluster) == 2)
        async with cluster.connected(2) as broker:
            assert (await list_offset(broker, TOPIC, EARLIEST)).offset == 2


async def test_committed_offsets_move_with_their_coordinator(tmp_path: Path) -> None:
    settings = {**QUICK_LEASES, "offsets.topic.replication.factor": "3"}
    async with cluster_in(tmp_path, settings) as cluster:
        await create(cluster)
        first = await eventually_async(lambda: coordinator(cluster, 1))
        assert await eventually_async(lambda: commit(cluster, first, 42))
        await cluster.members[first].kill()
        asked = first % 3 + 1
        second = await eventually_async(lambda: coordinator(cluster, asked, other_than=first))
        assert await eventually_async(lambda: committed(cluster, second)) == 42
        assert await eventually_async(lambda: commit(cluster, second, 43))


async def coordinator(cluster: TrioCluster, asked: int, other_than: int = -1) -> int | None:
    async with cluster.connected(asked) as broker:
        response = await broker.request(FindCoordinatorRequest(coordinator_keys=["group"]))
    found = response.coordinators[0]
    return found.node_id if found.error_code == 0 and found.node_id != other_than else None


async def commit(cluster: TrioCluster, node_id: int, offset: int) -> bool:
    where = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[where])
    async with cluster.connected(node_id) as broker:
        response = await broker.request(OffsetCommitRequest(group_id="group", topics=[topic]), 9)
    return bool(response.topics[0].partitions[0].error_code == 0)


async def committed(cluster: TrioCluster, node_id: int) -> int | None:
    group = OffsetFetchRequestGroup(group_id="group", topics=[OffsetFetchRequestTopics(TOPIC, partition_indexes=[0])])
    async with cluster.connected(node_id) as broker:
        response = await broker.request(OffsetFetchRequest(groups=[group]), 9)
    answer = response.groups[0]
    return None if answer.error_code else int(answer.topics[0].partitions[0].committed_offset)


async def as_follower(
    cluster: TrioCluster, leader: int, follower: int, offset: int, *, broker_epoch: int, leader_epoch: int = -1
) -> PartitionData:
    """A Fetch in the name of another broker."""
    async with cluster.connected(leader) as broker:
        wanted = FetchPartition(
            partition=0, fetch_offset=offset, partition_max_bytes=1000, current_leader_epoch=leader_epoch
        )
        topic = FetchTopic(topic_id=await topic_id_of(broker, TOPIC), partitions=[wanted])
        request = FetchRequest(replica_state=ReplicaState(follower, broker_epoch), topics=[topic])
        response = await broker.request(request, 17)
    data: PartitionData = response.responses[0].partitions[0]
    return data


async def test_a_fetch_of_a_former_incarnation_does_not_count(tmp_path: Path) -> None:
    """KIP-903"""
    async with cluster_in(tmp_path) as cluster:
        leader = await create(cluster)
        follower = leader % 3 + 1
        assert await write(cluster, leader, b"a") == 0
        leadership = partition(cluster, leader).leadership
        assert leadership is not None
        await until(lambda: leadership.followers[follower].end_offset == 1)
        stale = await as_follower(cluster, leader, follower, 0, broker_epoch=0)
        assert (stale.error_code, leadership.followers[follower].end_offset) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 1)
        stranger = await as_follower(cluster, leader, 9, 0, broker_epoch=5)
        assert stranger.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        beyond = await as_follower(cluster, leader, follower, 99, broker_epoch=-1)
        assert (beyond.error_code, leadership.followers[follower].end_offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, 1)


async def test_the_end_is_not_returned_before_a_new_leader_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KIP-207: otherwise the end offset that a consumer gets would go back."""
    async with cluster_in(tmp_path, NO_LAG) as cluster:
        leader = await create(cluster)
        monkeypatch.setattr(HostedPartition, "learn", lambda self, high_watermark, log_start_offset: None)
        assert await write(cluster, leader, b"a") == 0
        await hold_up(monkeypatch, 1, 2, 3)
        await cluster.members[leader].stop()
        await until(lambda: leader_of(cluster) is not None)
        heir = leader_of(cluster)
        assert heir is not None
        async with cluster.connected(heir) as broker:
            assert (await list_offset(broker, TOPIC, LATEST)).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
            assert (await list_offset(broker, TOPIC, LATEST, 4)).error_code == ErrorCode.LEADER_NOT_AVAILABLE
            assert (await list_offset(broker, TOPIC, EARLIEST)).offset == 0
        monkeypatch.undo()
        await until(lambda: partition(cluster, heir).high_watermark == 1)


async def create_on(cluster: TrioCluster, *replicas: int) -> None:
    """Create the topic, of one partition on these brokers; the first of them leads it."""
    async with cluster.connected(replicas[0]) as broker:
        topic = CreatableTopic(TOPIC, -1, -1, [CreatableReplicaAssignment(0, list(replicas))])
        response = await broker.request(CreateTopicsRequest(topics=[topic]))
    check_once_or_twice(response.topics[0].error_code, ErrorCode.TOPIC_ALREADY_EXISTS)
    await until(lambda: leader_of(cluster) == replicas[0])


def controller_of(cluster: TrioCluster) -> int:
    (active,) = (
        node_id
        for node_id, member in cluster.members.items()
        if member.node is not None and (controller := member.node.parts.controller) is not None and controller.is_active
    )
    return active


async def reassign(cluster: TrioCluster, *replicas: int) -> None:
    """Move the partition to these; without any, cancel that."""
    leader = leader_of(cluster)
    assert leader is not None
    async with cluster.connected(leader) as broker:
        moved = ReassignableTopic(TOPIC, [ReassignablePartition(0, list(replicas) or None)])
        answer = await broker.request(AlterPartitionReassignmentsRequest(topics=[moved]))
    assert answer.error_code == ErrorCode.NONE
    check_once_or_twice(
        answer.responses[0].partitions[0].error_code,
        ErrorCode.NONE if replicas else ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    )


async def test_a_replica_is_replaced_under_its_leader(tmp_path: Path) -> None:
    """KIP-455: nothing that is acknowledged waits for the replica that was removed, and the ISR goes on changing."""
    async with cluster_in(tmp_path, NO_LAG) as cluster:
        await create_on(cluster, 1, 2)
        assert await write(cluster, 1, b"before") == 0
        await reassign(cluster, 1, 3)
        await until(lambda: hosted(cluster, 2) is None)
        assert await write(cluster, 1, b"after") == 0
        assert isr_of(cluster) == {1, 3}
        await reassign(cluster, 1, 3, 2)
        await until(lambda: isr_of(cluster) == {1, 2, 3})
        assert await write(cluster, 1, b"all three") == 0
        await until_equal(cluster, 1, 2, 3)


async def test_a_replica_leads_on_a_replaced_disk_once_it_has_caught_up(tmp_path: Path) -> None:
    """``ReplicaManager.maybeUpdateTopicAssignment``: the broker reports the new directory of the replica (KIP-858).
    With the former one it could not be elected.
    """
    async with cluster_in(tmp_path, NO_LAG) as cluster:
        await create_on(cluster, 1, 2)
        assert await write(cluster, 1, b"before") == 0
        await cluster.members[2].stop()
        shutil.rmtree(cluster.members[2].directory)
        await cluster.start(2)
        await until(lambda: isr_of(cluster) == {1, 2})
        await reassign(cluster, 2)
        await until(lambda: leader_of(cluster) == 2)
        assert await write(cluster, 2, b"after") == 0
        assert await read(cluster, 2) == [b"before", b"after"]


async def test_the_isr_changes_while_a_forwarded_request_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apache Kafka's BrokerServer has an "alter-partition" channel beside the "forwarding" channel: a producer with
    acks=all would wait for the clients' requests to the controller.
    """
    waiting: list[DeleteTopicsRequest] = []
    request = Controller.request

    async def wait_to_delete(self: Controller, message: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(message, DeleteTopicsRequest):
            waiting.append(message)
            await trio.sleep_forever()
        return await request(self, message, *arguments, **options)

    monkeypatch.setattr(Controller, "request", wait_to_delete)
    async with cluster_in(tmp_path, NO_LAG) as cluster, trio.open_nursery() as nursery:
        controller = controller_of(cluster)
        leader, added = cluster.members.keys() - {controller}
        await create_on(cluster, leader)
        async with cluster.connected(leader) as broker, cluster.connected(controller) as other:
            nursery.start_soon(broker.request, DeleteTopicsRequest([DeleteTopicState("another")], timeout_ms=60_000))
            await until(lambda: bool(waiting))
            moved = ReassignableTopic(TOPIC, [ReassignablePartition(0, [leader, added])])
            await other.request(AlterPartitionReassignmentsRequest(topics=[moved]))
            await until(lambda: isr_of(cluster) == {leader, added})
            nursery.cancel_scope.cancel(reason="the ISR has changed")


async def test_a_reassignment_that_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KIP-455: the replicas are those from before, whatever was proposed meanwhile."""
    async with cluster_in(tmp_path, NO_LAG) as cluster:
        await create_on(cluster, 1, 2)
        with settling_held_up():
            await reassign(cluster, 1, 3)
            await until(lambda: (led := partition(cluster, 1).leadership) is not None and led.pending is not None)
            await reassign(cluster)
            await until(lambda: hosted(cluster, 3) is None)
        assert await write(cluster, 1, b"after") == 0
        assert isr_of(cluster) == {1, 2}
        await reassign(cluster, 1, 2, 3)
        await until(lambda: isr_of(cluster) == {1, 2, 3})
        await until_equal(cluster, 1, 2, 3)


@pytest.mark.parametrize("end", [TrioNode.kill, TrioNode.stop], ids=["killed", "stopped"])
async def test_a_topic_that_was_recreated_while_a_replica_was_away(
    tmp_path: Path, end: Callable[[TrioNode], Awaitable[None]]
) -> None:
    """KIP-516: the log on its disk has another topic id (LogManager.isStrayKraftReplica). The new topic takes over
    neither its records nor its entries in the checkpoints; the log is set aside, not deleted."""
    async with cluster_in(tmp_path, QUICK_LEASES) as cluster:
        leader = await create(cluster)
        assert await write(cluster, leader, b"old", b"old", b"old") == 0
        assert await delete_records(cluster, leader, 3) == (0, 3)
        await until_equal(cluster, 1, 2, 3)
        away = leader % 3 + 1
        await end(cluster.members[away])
        present = {1, 2, 3} - {away}
        async with cluster.connected(leader) as broker:
            response = await broker.request(DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC)]))
        check_once_or_twice(response.responses[0].error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        await create_on(cluster, *present)
        await until(lambda: all(hosted(cluster, each) is not None for each in present))
        heir = min(present)
        assert await write(cluster, heir, b"new") == 0
        await reassign(cluster, *present, away)
        await cluster.start(away)
        await until(lambda: isr_of(cluster) == {1, 2, 3})
        assert await write(cluster, heir, b"newer") == 0
        await until_equal(cluster, 1, 2, 3)
        held = partition(cluster, away)
        assert [record.value for record in held.records()] == [b"new", b"newer"]
        assert held.log.log_start_offset == 0
        assert held.log.topic_id == partition(cluster, heir).topic_id
        (aside,) = (tmp_path / str(away)).glob(f"{TOPIC}-0.*-stray")
        assert b"old" in (aside / "00000000000000000000.log").read_bytes()


async def test_a_partition_moves_to_other_brokers(tmp_path: Path) -> None:
    """KIP-455: the new replicas catch up, then the old one is removed; a reader does not notice."""
    async with cluster_in(tmp_path) as cluster:
        await create_on(cluster, 1)
        for number in range(5):
            assert await write(cluster, 1, b"%d" % number) == 0
        await reassign(cluster, 2, 3)
        await until(lambda: hosted(cluster, 1) is None and leader_of(cluster) in (2, 3))
        heir = leader_of(cluster)
        assert heir is not None
        assert await read(cluster, heir) == [b"%d" % number for number in range(5)]
        assert await write(cluster, heir, b"more") == 0
        await until_equal(cluster, 2, 3)
        await until(lambda: not list((tmp_path / "1").glob(f"{TOPIC}-0")))
