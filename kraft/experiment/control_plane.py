"""KIP-291's motivation for real: leaderships move while producers saturate the data planes of the brokers.

Two brokers share the partitions. The controller is a third node, without partitions and clients, so that it is never
the bottleneck. Each move is a preferred election of one partition: the controller sends LeaderAndIsr to both brokers
and UpdateMetadata to all. The next move begins when clients have seen the last one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import attrs
import trio

from kraft.client.cluster import LATEST_TIMESTAMP, Cluster, check, open_cluster
from kraft.experiment.legacy_cluster import APACHE, CONTROLLER_ID, KRAFT, Layout, RunningCluster, running_cluster
from kraft.experiment.load import ALL, LEADER, PER_REQUEST, TOPIC, Batches, Load, stored_numbers
from kraft.experiment.request_times import of_apache, of_kraft
from kraft.experiment.watched_node import read_rounds
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
from kraft.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from kraft.records.compression import Compression
from kraft.story.experiments.control_plane import (
    DEDICATED,
    IDLE,
    SATURATED,
    SHARED,
    Cell,
    Move,
    Quantiles,
    TimedRequest,
)
from kraft.wire.errors import ErrorCode, KafkaError

BROKERS = (1, 2)
SETTLE_TIMEOUT_S = 120.0
SETTLED_S = 1.0
ELECTION_WAIT_MS = 500
"""Apache's controller responds when its own broker knows the new leader, and sometimes misses that."""
IDLE_PAUSE_S = 0.02
WARM_UP_MOVES = 2

Say = Callable[[str], None]


@attrs.frozen
class Plan:
    """The sizes of the experiment. ``connections`` are those of each broker, half of them with acks=all."""

    directory: Path
    jars: Path
    software: Sequence[str]
    moves: int = 40
    connections: int = 500
    warm_up_s: float = 5.0
    records_per_batch: int = 10
    value_bytes: int = 100
    compression: Compression = Compression.NONE
    controller: str = APACHE


async def run(plan: Plan, say: Say, keep: Callable[[Cell], None]) -> None:
    """Measure all cells, one cluster after the other. ``keep`` is called with those of each cluster when it has ended.

    Raises:
        CannotStart: a process did not become ready.
        KafkaError, GaveUp, Disconnected, trio.TooSlowError: the cluster refused a step, or did not end it in time.
    """
    for software in plan.software:
        for plane in (SHARED, DEDICATED):
            directory = plan.directory / f"{software.split()[0].lower()}-{plane}"
            layout = Layout(directory, plan.jars, software, BROKERS, plane == DEDICATED, plan.controller)
            say(f"{software}, {plane} plane: starting")
            async with running_cluster(layout) as cluster:
                phases = await _measure(plan, cluster, partial(_say, say, f"{software}, {plane} plane"))
            for phase in phases:
                keep(_cell(layout, plane, phase))


def _say(say: Say, where: str, text: str) -> None:
    say(f"{where}: {text}")


@attrs.frozen
class _Phase:
    """One load on one cluster, as the clients saw it."""

    load: str
    start_ms: float
    end_ms: float
    moves: Sequence[Move]
    produced: int
    acknowledged: dict[int, set[int]]
    stored: set[int]


async def _measure(plan: Plan, running: RunningCluster, say: Say) -> list[_Phase]:
    """Create the topic, and move leaderships first with idle brokers, and then under load."""
    per_phase = plan.moves + WARM_UP_MOVES
    count = math.ceil(2 * per_phase / (2 * PER_REQUEST)) * 2 * PER_REQUEST
    homes = {partition: BROKERS if partition % 2 else BROKERS[::-1] for partition in range(count)}
    async with open_cluster(running.bootstrap, "experiment", retry_timeout_s=60) as cluster:
        await cluster.retried(lambda: _all_known(cluster, running), "all brokers", SETTLE_TIMEOUT_S)
        await _create(cluster, homes)
        # All partitions prefer the other broker from now on. A preferred election moves the leader there.
        await _prefer(cluster, {partition: list(replicas[::-1]) for partition, replicas in homes.items()})
        batches = Batches.of(plan.records_per_batch, plan.value_bytes, plan.compression)
        addresses = {broker: running.addresses[broker] for broker in BROKERS}
        phases: list[_Phase] = []
        for place, load in enumerate((IDLE, SATURATED)):
            chosen = range(place * per_phase, (place + 1) * per_phase)
            clients = Load(addresses, batches)
            connections, pause_s = (2, IDLE_PAUSE_S) if load == IDLE else (plan.connections, 0.0)
            phases.append(await _phase(plan, cluster, clients, load, chosen, connections, pause_s))
            say(f"{load}: {len(phases[-1].moves)} leaderships moved")
        return phases


async def _all_known(cluster: Cluster, running: RunningCluster) -> None:
    """Raise KafkaError, which is retried, until the metadata has all brokers."""
    if len(await cluster.brokers()) < len(running.addresses):
        raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE)


async def _create(cluster: Cluster, homes: dict[int, tuple[int, int]]) -> None:
    assignments = [CreatableReplicaAssignment(partition, list(brokers)) for partition, brokers in homes.items()]
    configs = [CreatableTopicConfig("retention.ms", "-1"), CreatableTopicConfig("min.insync.replicas", "1")]
    topic = CreatableTopic(TOPIC, -1, -1, assignments, configs)
    response = await cluster.request(CreateTopicsRequest(topics=[topic]), CONTROLLER_ID)
    check(response.topics[0].error_code, response.topics[0].error_message)


async def _prefer(cluster: Cluster, replicas: dict[int, list[int]]) -> None:
    partitions = [ReassignablePartition(partition, wanted) for partition, wanted in replicas.items()]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, partitions)])
    response = await cluster.request(request, CONTROLLER_ID)
    check(response.error_code, response.error_message)
    for topic in response.responses:
        for partition in topic.partitions:
            check(partition.error_code, partition.error_message)


async def _phase(
    plan: Plan,
    cluster: Cluster,
    clients: Load,
    load: str,
    partitions: Sequence[int],
    connections: int,
    pause_s: float,
) -> _Phase:
    """Run the producers, move the leaderships of ``partitions`` one by one, and read everything back."""
    stopping, account = trio.Event(), clients.account
    async with trio.open_nursery() as followers:
        for broker in BROKERS:
            followers.start_soon(clients.follow_metadata, broker, name=f"metadata of {broker}")
        async with trio.open_nursery() as producers:
            for broker in BROKERS:
                for number in range(connections):
                    acks = ALL if number % 2 else LEADER
                    producers.start_soon(clients.produce, broker, acks, stopping, pause_s, name=f"producer {number}")
            await _until(clients, lambda: all(clients.view.led_by(broker) for broker in BROKERS))
            await trio.sleep(plan.warm_up_s)
            for partition in partitions[:WARM_UP_MOVES]:
                await _move(cluster, clients, partition)
            start_ms, produced = _now_ms(clients), account.requests
            moves = [await _move(cluster, clients, partition) for partition in partitions[WARM_UP_MOVES:]]
            end_ms, produced = _now_ms(clients), account.requests - produced
            stopping.set()
        followers.cancel_scope.cancel(reason="the phase ends")
    stored = await stored_numbers(cluster, await _settled_offsets(cluster, clients.view.leaders))
    return _Phase(load, start_ms, end_ms, moves, produced, account.acknowledged, stored)


def _now_ms(clients: Load) -> float:
    return clients.clock.now_s() * 1000


async def _move(cluster: Cluster, clients: Load, partition: int) -> Move:
    """Elect the preferred leader of a partition, and wait until producers and readers have seen it.

    Raises:
        KafkaError: the controller refused the election.
        trio.TooSlowError: no producer or reader saw the new leader in time.
    """
    old, epoch = clients.view.leaders[partition]
    new = next(broker for broker in BROKERS if broker != old)
    account, key = clients.account, (new, partition)
    account.awaited.add(key)
    asked_ms = _now_ms(clients)
    request = ElectLeadersRequest(0, [TopicPartitions(TOPIC, [partition])], ELECTION_WAIT_MS)
    response = await cluster.request(request, CONTROLLER_ID)
    check(response.error_code)
    for topic in response.replica_election_results:
        for each in topic.partition_result:
            if each.error_code != ErrorCode.REQUEST_TIMED_OUT:  # the clients see the new leader all the same
                check(each.error_code, each.error_message)
    known_ms = 0.0

    def is_known() -> bool:
        nonlocal known_ms
        known_ms = _now_ms(clients)
        return all(clients.known_epoch(broker, partition) > epoch for broker in BROKERS)

    await _until(clients, is_known)
    await _until(clients, lambda: key in account.first_ms)
    return Move(partition, old, new, asked_ms, account.first_ms[key], known_ms)


async def _until(clients: Load, is_true: Callable[[], bool]) -> None:
    """Wait until a response to the clients makes ``is_true`` true. Raises trio.TooSlowError."""
    with trio.fail_after(SETTLE_TIMEOUT_S):
        while not is_true():
            await clients.news.park()


async def _settled_offsets(cluster: Cluster, partitions: Iterable[int]) -> dict[int, int]:
    """Return the high watermarks when the followers have all records: when they move no more."""
    wanted = dict.fromkeys(partitions, LATEST_TIMESTAMP)
    before: dict[int, int] = {}
    while (found := await cluster.offsets(TOPIC, wanted)) != before:
        before = found
        await trio.sleep(SETTLED_S)
    return found


def _cell(layout: Layout, plane: str, phase: _Phase) -> Cell:
    requests: list[TimedRequest] = []
    rounds: list[tuple[float, float, float]] = []
    for broker in layout.brokers:
        directory = layout.directory / f"node-{broker}"
        if layout.software == KRAFT:
            requests += of_kraft(broker, directory / "requests")
            found = read_rounds(directory / "rounds.json")
            rounds += [each for each in found if phase.start_ms <= each[0] <= phase.end_ms]
        else:
            requests += of_apache(broker, directory / "requests.log")
    seconds = (phase.end_ms - phase.start_ms) / 1000
    return Cell(
        layout.software,
        plane,
        phase.load,
        [each for each in requests if phase.start_ms <= each.arrived_ms and each.done_ms <= phase.end_ms],
        phase.moves,
        phase.produced / seconds,
        len(phase.acknowledged[LEADER]),
        len(phase.acknowledged[LEADER] - phase.stored),
        len(phase.acknowledged[ALL] - phase.stored),
        Quantiles.of(took_ms for _, took_ms, _ in rounds) if rounds else None,
        Quantiles.of(cpu_ms for _, _, cpu_ms in rounds) if rounds else None,
    )
