"""Fetch: limits, waiting, sessions, topic ids, and the error codes of unreadable partitions."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from kraft.api.context import BrokerContext
from kraft.api.fetch import PARTITIONS_PER_SLICE, at_broker
from kraft.api.partitions import MAX_COPIED_BYTES
from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.fetch_request import FetchRequest, ForgottenTopic, ReplicaState
from kraft.messages.fetch_response import FetchResponse, PartitionData
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.registry import ApiKey
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.replication.replicas import Replicas
from kraft.rpc.channel import ConnectionInfo, Parked, Request
from kraft.rpc.client import Connection, connect
from kraft.storage.open_files import OPEN_FILES
from kraft.testing import EmbeddedCluster
from kraft.wire.errors import ErrorCode
from kraft.wire.splice import FileSlice
from kraft.wire.uuids import ZERO_UUID
from tests.support.held import TOPIC, TOPIC_ID, Broker, leader_in
from tests.support.held import serving as serving_at
from tests.support.nodes import node_in
from tests.support.open_files import held_files
from tests.support.steps import steps_of_this_task
from tests.support.talk import (
    batch,
    create,
    fetch,
    fetch_request,
    produce,
    records_in,
    topic_id_of,
    values_in,
)

KIB = 1024
FOREVER_MS = 20_000


async def _fill(broker: Connection, topic: str, count: int = 4, size: int = KIB) -> None:
    for number in range(count):
        assert (await produce(broker, topic, batch(bytes([number]) * size))).error_code == 0


@pytest.mark.parametrize("version", range(4, 19))
async def test_every_version_reads(broker: Connection, topic: str, version: int) -> None:
    await _fill(broker, topic, 3, 10)
    by_id = version >= 13
    topic_id = await topic_id_of(broker, topic) if by_id else ZERO_UUID
    request = fetch_request("" if by_id else topic, 1, topic_id=topic_id)
    response: FetchResponse = await broker.request(request, version)
    assert (response.responses[0].topic, response.responses[0].topic_id) == ("" if by_id else topic, topic_id)
    data = response.responses[0].partitions[0]
    assert values_in(data) == [b"\1" * 10, b"\2" * 10]
    assert (data.error_code, data.high_watermark, data.last_stable_offset) == (0, 3, 3)
    assert data.log_start_offset == (0 if version >= 5 else -1)
    assert data.aborted_transactions is None
    assert data.preferred_read_replica == -1


async def test_max_bytes_end_at_whole_batches(broker: Connection, topic: str) -> None:
    """``fetch.max.bytes`` and ``max.partition.fetch.bytes``."""
    await _fill(broker, topic)
    assert len(records_in(await fetch(broker, topic, partition_max_bytes=int(2.5 * KIB)))) == 2
    assert len(records_in(await fetch(broker, topic, max_bytes=int(3.5 * KIB)))) == 3


@pytest.mark.parametrize("limits", [{"partition_max_bytes": 1}, {"max_bytes": 1}, {"max_bytes": 0}, {"max_bytes": -5}])
async def test_the_first_batch_comes_however_large(broker: Connection, topic: str, limits: dict[str, int]) -> None:
    """KIP-74: a consumer must get on, so limits do not hold for the first batch of the first partition with data."""
    await _fill(broker, topic, 2, 5 * KIB)
    assert values_in(await fetch(broker, topic, **limits)) == [bytes(5 * KIB)]


async def test_only_the_first_partition_may_go_beyond_the_limit(broker: Connection, new_name: str) -> None:
    await create(broker, new_name, 3)
    for partition in range(3):
        await produce(broker, new_name, batch(b"a" * KIB), partition=partition)
    response = await broker.request(fetch_request(new_name, partitions=(0, 1, 2), max_bytes=10), 12)
    assert [len(records_in(each)) for each in response.responses[0].partitions] == [1, 0, 0]


async def test_a_fetch_waits_for_min_bytes(
    kraft_shared_cluster: EmbeddedCluster, broker: Connection, topic: str
) -> None:
    """``fetch.min.bytes`` and ``fetch.max.wait.ms``: each append wakes it, and it goes back to sleep until there is
    enough."""
    host, port = kraft_shared_cluster.bootstrap_servers.split(":")
    answers: list[PartitionData] = []
    async with connect(host, int(port)) as waiting:

        async def wait() -> None:
            answers.append(await fetch(waiting, topic, min_bytes=3 * KIB, max_wait_ms=FOREVER_MS))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            for _ in range(2):
                await _fill(broker, topic, 1)
                assert not answers
            await _fill(broker, topic, 1)
    assert len(records_in(answers[0])) == 3


async def test_a_wait_ends_with_nothing(broker: Connection, topic: str) -> None:
    data = await fetch(broker, topic, min_bytes=1, max_wait_ms=10)
    assert (data.error_code, values_in(data), data.high_watermark) == (0, [], 0)


async def test_an_error_ends_the_wait_at_once(broker: Connection, new_name: str) -> None:
    await create(broker, new_name, 2)
    request = fetch_request(new_name, partitions=(0, 1), min_bytes=1, max_wait_ms=FOREVER_MS)
    request.topics[0].partitions[1].fetch_offset = 50
    response = await broker.request(request, 12, timeout_s=FOREVER_MS / 2000)
    codes = [each.error_code for each in response.responses[0].partitions]
    assert codes == [0, ErrorCode.OFFSET_OUT_OF_RANGE]


@pytest.mark.parametrize("offset", [-1, -2, 4, 2**62])
async def test_offsets_outside_of_the_log(broker: Connection, topic: str, offset: int) -> None:
    await _fill(broker, topic, 3, 10)
    data = await fetch(broker, topic, offset)
    assert (data.error_code, data.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


async def test_at_the_end_of_the_log_there_is_nothing_yet(broker: Connection, topic: str) -> None:
    await _fill(broker, topic, 3, 10)
    data = await fetch(broker, topic, 3)
    assert (data.error_code, values_in(data)) == (0, [])


async def test_leader_epochs_fence_both_ways(broker: Connection, topic: str) -> None:
    """KIP-320: an older epoch than ours is fenced, a newer one is unknown to us; a negative one is no
    belief at all."""
    await _fill(broker, topic, 1, 10)
    assert (await fetch(broker, topic, epoch=0)).error_code == 0
    data = await fetch(broker, topic, epoch=5)
    assert data.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert (await fetch(broker, topic, epoch=-2)).error_code == 0


@pytest.mark.parametrize("isolation_level", [0, 1])
async def test_isolation_levels(broker: Connection, topic: str, isolation_level: int) -> None:
    """Without transactions the last stable offset is the high watermark."""
    await _fill(broker, topic, 2, 10)
    data = await fetch(broker, topic, isolation_level=isolation_level)
    assert (len(records_in(data)), data.last_stable_offset) == (2, 2)
    assert data.aborted_transactions == ([] if isolation_level else None)


async def test_an_unknown_topic_id(broker: Connection) -> None:
    topic_id = uuid.uuid4()
    response = await broker.request(fetch_request("", topic_id=topic_id), 13)
    assert response.responses[0].topic_id == topic_id
    assert response.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


# Sessions (KIP-227)


def _next(request: FetchRequest, session_id: int, epoch: int, **changes: object) -> FetchRequest:
    return FetchRequest(session_id=session_id, session_epoch=epoch, **changes)  # type: ignore[arg-type]


async def test_a_session_has_only_the_changes(broker: Connection, new_name: str) -> None:
    await create(broker, new_name, 2)
    await produce(broker, new_name, batch(b"a"))
    first = await broker.request(fetch_request(new_name, partitions=(0, 1), session_epoch=0), 12)
    assert first.session_id > 0
    assert [len(records_in(each)) for each in first.responses[0].partitions] == [1, 0]
    moved = fetch_request(new_name, 1, session_id=first.session_id, session_epoch=1)
    assert (await broker.request(moved, 12)).responses == [], "nothing is new"
    await produce(broker, new_name, batch(b"b"), partition=1)
    third = await broker.request(FetchRequest(session_id=first.session_id, session_epoch=2), 12)
    assert [(each.partition_index, values_in(each)) for each in third.responses[0].partitions] == [(1, [b"b"])]
    forget = FetchRequest(
        session_id=first.session_id,
        session_epoch=3,
        forgotten_topics_data=[ForgottenTopic(topic=new_name, partitions=[1])],
    )
    assert (await broker.request(forget, 12)).responses == []


async def test_a_topic_that_is_created_again_has_another_id(broker: Connection, topic: str) -> None:
    """``ReplicaManager.readFromLog`` finds the partition by the name that the session keeps, and raises
    InconsistentTopicIdException for the id.
    """
    request = fetch_request("", topic_id=await topic_id_of(broker, topic), partitions=(0, 1), session_epoch=0)
    opened = await broker.request(request, 13)
    delete = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=5000)

    async def answers(epoch: int) -> list[tuple[int, list[object] | None]]:
        message = FetchRequest(session_id=opened.session_id, session_epoch=epoch)
        (found,) = (await broker.request(message, 13)).responses
        return [(each.error_code, each.aborted_transactions) for each in found.partitions]

    lost = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])
    assert (await broker.request(delete, 6)).responses[0].error_code == 0
    assert await answers(1) == [lost, lost]
    await create(broker, topic)
    assert await answers(2) == [(ErrorCode.INCONSISTENT_TOPIC_ID, None), lost]


async def test_session_errors(broker: Connection, topic: str) -> None:
    unknown = await broker.request(FetchRequest(session_id=12345, session_epoch=1), 12)
    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    opened = await broker.request(fetch_request(topic, session_epoch=0), 12)
    skipped = await broker.request(FetchRequest(session_id=opened.session_id, session_epoch=5), 12)
    assert skipped.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    by_id = await broker.request(FetchRequest(session_id=opened.session_id, session_epoch=1), 13)
    assert by_id.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    closed = await broker.request(fetch_request(topic, session_id=opened.session_id, session_epoch=-1), 12)
    assert (closed.error_code, closed.session_id) == (0, 0)
    gone = await broker.request(FetchRequest(session_id=opened.session_id, session_epoch=1), 12)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


async def test_a_session_waits_too(kraft_shared_cluster: EmbeddedCluster, broker: Connection, topic: str) -> None:
    opened = await broker.request(fetch_request(topic, session_epoch=0), 12)
    host, port = kraft_shared_cluster.bootstrap_servers.split(":")
    answers: list[FetchResponse] = []
    async with connect(host, int(port)) as waiting:

        async def wait() -> None:
            request = FetchRequest(session_id=opened.session_id, session_epoch=1, min_bytes=1, max_wait_ms=FOREVER_MS)
            answers.append(await waiting.request(request, 12))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await produce(broker, topic, batch(b"a"))
    assert values_in(answers[0].responses[0].partitions[0]) == [b"a"]


async def test_the_metrics_tell_followers_from_consumers(tmp_path: Path) -> None:
    """``RequestChannel.Request.updateRequestMetrics``: Fetch has all requests, and FetchFollower those of replicas,
    whose version has the replica id in one of two places; FetchConsumer has the others.
    """
    of_follower = FetchRequest(replica_id=5), FetchRequest(replica_state=ReplicaState(5))
    async with node_in(tmp_path) as running:
        controller = next(iter(running.bound.controller.values()))
        await running.broker.request(FetchRequest(), 12)
        await running.broker.request(of_follower[0], 12)
        await running.broker.request(of_follower[1], 15)
        await running.broker.request(ApiVersionsRequest())  # the requests before it are recorded then
        async with connect(controller.host, controller.port) as plane:
            await plane.request(of_follower[1], 17)
            await plane.request(ApiVersionsRequest())
        fetches = {
            str(name).partition("RequestMetrics,")[2]: metric.value
            for name, metric in running.node.registry
            if name.name in ("RequestsPerSec", "TotalTimeMs") and "Fetch" in str(name)
        }
    assert fetches == {
        "name=TotalTimeMs,request=Fetch": 4,
        "name=TotalTimeMs,request=FetchConsumer": 1,
        "name=TotalTimeMs,request=FetchFollower": 3,
        "name=RequestsPerSec,request=Fetch,version=12": 2,
        "name=RequestsPerSec,request=Fetch,version=15": 1,
        "name=RequestsPerSec,request=Fetch,version=17": 1,
        "name=RequestsPerSec,request=FetchConsumer,version=12": 1,
        "name=RequestsPerSec,request=FetchFollower,version=12": 1,
        "name=RequestsPerSec,request=FetchFollower,version=15": 1,
        "name=RequestsPerSec,request=FetchFollower,version=17": 1,
    }


# Parked requests


def _request(version: int = 12) -> Request:
    info = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")
    return Request(ApiKey.FETCH, version, 0, "test", b"", 0, info)


async def _answer_to(context: BrokerContext, message: FetchRequest, version: int = 12) -> FetchResponse:
    reply = await at_broker(context, _request(version), message)
    response = await reply.wait() if isinstance(reply, Parked) else reply
    assert isinstance(response, FetchResponse)
    return response


def _append(broker: Broker, index: int, size: int) -> None:
    broker.replicas.partitions[TOPIC][index].append(bytearray(batch(bytes(size))), 0)


@pytest.mark.parametrize("version", [12, 13])
async def test_deleting_the_topic_wakes_a_waiting_fetch(tmp_path: Path, version: int) -> None:
    """The fetch has found the topic, so this is no UNKNOWN_TOPIC_ID, which is for ids that the broker does not know."""
    answers: list[FetchResponse] = []
    name, topic_id = (TOPIC, ZERO_UUID) if version < 13 else ("", TOPIC_ID)
    message = fetch_request(name, topic_id=topic_id, min_bytes=1, max_wait_ms=FOREVER_MS)

    async def wait(context: BrokerContext) -> None:
        answers.append(await _answer_to(context, message, version))

    async with leader_in(tmp_path, 1) as broker, trio.open_nursery() as nursery:
        nursery.start_soon(wait, serving_at(broker.replicas))
        await trio.testing.wait_all_tasks_blocked()
        assert not answers
        await broker.hear(RemoveTopicRecord(TOPIC_ID))
    assert answers[0].responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_wake_looks_only_at_the_partitions_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``DelayedFetch`` adds up bytes. The work of an append does not grow with the partitions that others wait for."""
    looked_up: Counter[int] = Counter()
    replica_of = Replicas.replica_of

    def counting(replicas: Replicas, name: str, index: int) -> Any:
        looked_up[index] += 1
        return replica_of(replicas, name, index)

    async with leader_in(tmp_path, 300) as broker, trio.open_nursery() as nursery:
        context = serving_at(broker.replicas)
        message = fetch_request(TOPIC, partitions=tuple(range(300)), min_bytes=1 << 19, max_wait_ms=FOREVER_MS)
        for _ in range(5):
            nursery.start_soon(_answer_to, context, message)
        await trio.testing.wait_all_tasks_blocked()
        monkeypatch.setattr(Replicas, "replica_of", counting)
        for _ in range(3):
            _append(broker, 7, 100)
            await trio.testing.wait_all_tasks_blocked()
        assert looked_up == {7: 15}
        _append(broker, 8, 1 << 19)
        await trio.testing.wait_all_tasks_blocked()
        assert not nursery.child_tasks
    # When it is counted, and for the response. The other 298 are as they were.
    assert looked_up == {7: 15 + 5, 8: 10}


@pytest.mark.parametrize("version", [12, 13])
async def test_an_unknown_partition_does_not_end_the_wait_for_others(tmp_path: Path, version: int) -> None:
    """``KafkaApis.handleFetchRequest`` asks the ReplicaManager only for ``interesting`` partitions, and waits for them.
    It responds at once if there are none. A consumer would otherwise repeat its Fetch without a pause.
    """
    unknown = fetch_request("nowhere", topic_id=uuid.uuid4()).topics
    async with leader_in(tmp_path, 1) as broker:
        context = serving_at(broker.replicas)
        message = fetch_request(
            TOPIC, partitions=(7, 0), topic_id=TOPIC_ID, min_bytes=1, max_wait_ms=FOREVER_MS, session_epoch=-1
        )
        message.topics += unknown
        reply = await at_broker(context, _request(version), message)
        assert isinstance(reply, Parked)
        _append(broker, 0, 100)
        with trio.fail_after(FOREVER_MS / 2000):
            response = await reply.wait()
        assert isinstance(response, FetchResponse)
        lost = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        found = [(each.error_code, bool(each.records)) for topic in response.responses for each in topic.partitions]
        assert found == [(lost, False), (0, True), (lost if version < 13 else ErrorCode.UNKNOWN_TOPIC_ID, False)]
        alone = await at_broker(context, _request(version), message.evolve(topics=unknown))
        assert isinstance(alone, FetchResponse)


async def test_many_partitions_are_read_in_slices(tmp_path: Path) -> None:
    """A handler is free again at once, and other tasks run after each slice."""
    count = PARTITIONS_PER_SLICE + 10
    async with leader_in(tmp_path, count) as broker:
        message = fetch_request(TOPIC, partitions=tuple(range(count)), min_bytes=0)
        reply = await at_broker(serving_at(broker.replicas), _request(), message)
        assert isinstance(reply, Parked)
        async with steps_of_this_task() as steps:
            response = await reply.wait()
        assert steps.count >= 1
    assert isinstance(response, FetchResponse)
    assert len(response.responses[0].partitions) == count


async def test_a_change_between_the_first_read_and_the_wait_counts(tmp_path: Path) -> None:
    """The connection's task begins to wait some time after the handler has read."""
    async with leader_in(tmp_path, 2) as broker:
        message = fetch_request(TOPIC, partitions=(0, 1), min_bytes=1, max_wait_ms=FOREVER_MS)
        reply = await at_broker(serving_at(broker.replicas), _request(), message)
        assert isinstance(reply, Parked)
        _append(broker, 1, 100)
        with trio.fail_after(FOREVER_MS / 2000):
            response = await reply.wait()
    assert isinstance(response, FetchResponse)
    assert [bool(each.records) for each in response.responses[0].partitions] == [False, True]


async def test_a_parked_fetch_holds_no_file_open(tmp_path: Path) -> None:
    """Parked requests are many and wait for long, so their slices would take the files of all other logs."""
    others = held_files()
    async with leader_in(tmp_path, 40) as broker, trio.open_nursery() as nursery:
        for index in range(40):
            _append(broker, index, 100)
        message = fetch_request(TOPIC, partitions=tuple(range(40)), min_bytes=1 << 19, max_wait_ms=FOREVER_MS)
        nursery.start_soon(_answer_to, serving_at(broker.replicas), message)
        await trio.testing.wait_all_tasks_blocked()
        assert held_files() == others
        _append(broker, 8, 1 << 19)
        await trio.testing.wait_all_tasks_blocked()
        assert not nursery.child_tasks


async def test_a_response_holds_no_more_files_than_are_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond that it has copies, so that responses that nobody reads do not stop other readers."""
    others = held_files()
    async with leader_in(tmp_path, 40) as broker:
        for index in range(40):
            _append(broker, index, 100 + index)
        monkeypatch.setattr(OPEN_FILES, "capacity", others + 10)
        answers = await _fetched(broker, range(40))
        assert held_files() == others + 10
        assert [type(answer.records) for answer in answers] == [FileSlice] * 10 + [bytes] * 30
        assert [values_in(_in_memory(answer)) for answer in answers] == [[bytes(100 + index)] for index in range(40)]


async def test_copies_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first batch comes however large. The other partitions come with the next Fetch, as after ``max_bytes``."""
    async with leader_in(tmp_path, 4) as broker:
        for index, size in enumerate((MAX_COPIED_BYTES, *[MAX_COPIED_BYTES // 2 - KIB] * 3)):
            _append(broker, index, size)
        monkeypatch.setattr(OPEN_FILES, "capacity", 0)
        for wanted, expected in (((0, 1, 2, 3), [0]), ((1, 2, 3), [1, 2]), ((3,), [3])):
            answers = await _fetched(broker, wanted)
            assert {answer.error_code for answer in answers} == {0}
            assert [answer.partition_index for answer in answers if answer.records] == expected


async def _fetched(broker: Broker, partitions: Iterable[int]) -> list[PartitionData]:
    message = fetch_request(TOPIC, partitions=tuple(partitions), min_bytes=0)
    return (await _answer_to(serving_at(broker.replicas), message)).responses[0].partitions


def _in_memory(answer: PartitionData) -> PartitionData:
    is_copy = not isinstance(answer.records, FileSlice)
    return answer if is_copy else answer.evolve(records=answer.records.copy())


async def test_more_min_bytes_than_max_bytes_do_not_wait(tmp_path: Path) -> None:
    """KafkaApis: "fetchMinBytes = Math.min(fetchRequest.minBytes, fetchMaxBytes)"."""
    async with leader_in(tmp_path, 1) as broker:
        _append(broker, 0, 100)
        message = fetch_request(TOPIC, min_bytes=1 << 20, max_bytes=100, max_wait_ms=FOREVER_MS)
        assert isinstance(await at_broker(serving_at(broker.replicas), _request(), message), FetchResponse)


_CHANGES = st.tuples(
    st.sampled_from(["append", "append", "append", "fetch", "fetch", "delete records", "elect", "follow", "lead"]),
    st.integers(0, 1),
    st.sampled_from([10, 100, 300]),
)


async def _change(broker: Broker, kind: str, index: int, size: int) -> None:
    partition = broker.replicas.partitions[TOPIC][index]
    state = partition.state
    change = PartitionChangeRecord(partition_id=index, topic_id=TOPIC_ID)
    if kind == "append" and partition.is_leader:
        _append(broker, index, size)
    elif kind == "delete records" and partition.is_leader:
        partition.log.delete_records(partition.high_watermark)
        partition.wake()
    elif kind == "fetch" and partition.is_leader:
        follower = fetch_request(TOPIC, partition.log.log_end_offset, partitions=(index,), replica_id=2)
        await _answer_to(serving_at(broker.replicas), follower)
    elif kind == "elect":
        await broker.hear(change.evolve(leader=state.leader))
    elif kind in ("follow", "lead"):
        await broker.hear(change.evolve(leader=2 if kind == "follow" else 1))


def _alone(message: FetchRequest) -> Any:
    """The same request for each of its partitions alone, without waiting."""
    for wanted in message.topics[0].partitions:
        alone = message.topics[0].evolve(partitions=[wanted])
        yield message.evolve(topics=[alone], max_wait_ms=0)


@given(
    changes=st.lists(_CHANGES, max_size=12),
    replicas=st.sampled_from([(1,), (1, 2)]),
    replica_id=st.sampled_from([-1, 2]),
    min_bytes=st.integers(1, 1000),
    partition_max_bytes=st.sampled_from([1, 200, 1 << 20]),
    epoch=st.sampled_from([-1, 0]),
)
def test_a_parked_fetch_ends_when_its_partitions_have_enough(
    changes: list[tuple[str, int, int]],
    replicas: tuple[int, ...],
    replica_id: int,
    min_bytes: int,
    partition_max_bytes: int,
    epoch: int,
) -> None:
    """``fetch.min.bytes``, against a new read of every partition alone after each change."""

    async def main(path: Path) -> None:
        async with leader_in(path, 2, *replicas) as broker, trio.open_nursery() as nursery:
            context, answers = serving_at(broker.replicas), []
            message = fetch_request(
                TOPIC,
                partitions=(0, 1),
                min_bytes=min_bytes,
                max_wait_ms=FOREVER_MS,
                replica_id=replica_id,
                partition_max_bytes=partition_max_bytes,
                epoch=epoch,
            )

            async def parked() -> None:
                answers.append(await _answer_to(context, message))

            nursery.start_soon(parked)
            for change in [("nothing", 0, 0), *changes]:
                await _change(broker, *change)
                await trio.testing.wait_all_tasks_blocked()
                alone = [(await _answer_to(context, each)).responses[0].partitions[0] for each in _alone(message)]
                enough = sum(len(each.records or b"") for each in alone) >= min_bytes
                assert bool(answers) == (enough or any(each.error_code for each in alone))
                if answers:
                    assert answers == [await _answer_to(context, message.evolve(max_wait_ms=0))]
                    break
            nursery.cancel_scope.cancel()

    with tempfile.TemporaryDirectory() as path:
        trio.run(main, Path(path))


@pytest.mark.parametrize(
    ("version", "code"), [(12, ErrorCode.KAFKA_STORAGE_ERROR), (5, ErrorCode.NOT_LEADER_OR_FOLLOWER)]
)
async def test_a_file_that_cannot_be_read_concerns_its_partition_alone(
    tmp_path: Path, version: int, code: ErrorCode
) -> None:
    """``ReplicaManager.readFromLog`` has an error for each partition. Without that a follower would fetch nothing.
    Clients up to version 5 may not know the code (``KafkaApis.maybeDownConvertStorageError``).
    """
    async with leader_in(tmp_path, 2) as broker:
        for partition in broker.replicas.all():
            for _ in range(2):
                partition.append(bytearray(batch(b"a")), 0)
                partition.log.roll()
        lost = broker.replicas.partitions[TOPIC][0].log.segments[0]
        lost.close()
        os.unlink(lost.path)
        request = fetch_request(TOPIC, partitions=(0, 1), max_wait_ms=0)
        info = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")
        sent = Request(ApiKey.FETCH, version, 0, "t", b"", 0, info)
        reply = await at_broker(serving_at(broker.replicas), sent, request)
        assert isinstance(reply, FetchResponse)
        assert reply.error_code == 0
        codes = [each.error_code for each in reply.responses[0].partitions]
        assert codes == [code, ErrorCode.NONE]
