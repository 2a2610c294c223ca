"""The group coordinator: heartbeats of many members, and rebalances of a large group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.bench.clients import create_topic, delete_topic
from tests.bench.figures import Section, Table, percentile
from tests.bench.load import Load
from tests.bench.members import ClassicGroup, ConsumerGroup, heartbeats, until_stable
from tests.bench.peers import APACHE, NEWEST_RELEASE, Peer, Running, running
from tests.bench.raw_clients import Client, find_coordinator, run_clients

GROUPS, GROUP_SIZE = 10, 100
CONNECTIONS = 10
HEARTBEATS = 5
"""Of each member in a round."""
INTERVAL_S = 5
"""``group.consumer.heartbeat.interval.ms``, in seconds."""
PARTITIONS = 200
WARM_UP_ROUNDS = 2
SETTINGS = {"group.consumer.assignment.interval.ms": "0"}
"""Apache Kafka computes one assignment of a group in a second by default, and the next rebalance would wait for it."""


class _Figure(NamedTuple):
    label: str
    unit: str
    value: float


def measure(peers: Sequence[Peer], rounds: int) -> Section:
    """Rounds as for throughput. Only the peers that keep data on disk have the consumer protocol."""
    whole = [peer.at_release(NEWEST_RELEASE) for peer in peers if peer.keeps_on_disk]
    with (
        TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True) as scratch,
        running(whole, Path(scratch), SETTINGS) as brokers,
    ):
        return _measure(brokers, rounds)


def _measure(brokers: Sequence[Running], rounds: int) -> Section:
    subjects = [broker.name for broker in brokers]
    many = Table(f"{GROUPS * GROUP_SIZE:,} members in {GROUPS} groups, consumer protocol", subjects, base=APACHE)
    one = Table(f"A group of {GROUP_SIZE} members", subjects, base=APACHE)
    topics = {broker.name: create_topic(broker.bootstrap_servers, PARTITIONS) for broker in brokers}
    for broker in brokers:
        find_coordinator(broker.port)
    for number in range(rounds + WARM_UP_ROUNDS):
        for broker in brokers:
            coordinator = _Coordinator(broker, topics[broker.name])
            figures = [(many, each) for each in coordinator.heartbeats()]
            figures += [(one, each) for each in (*coordinator.consumer_rebalances(), *coordinator.classic_rebalances())]
            for table, figure in figures:
                row = table.row(figure.label, figure.unit)
                if number >= WARM_UP_ROUNDS:
                    row.add(broker.name, figure.value)
    for broker in brokers:
        delete_topic(broker.bootstrap_servers, topics[broker.name])
    return Section("groups", [many, one])


class _Coordinator:
    """One round with one broker."""

    def __init__(self, broker: Running, topic: str) -> None:
        self._broker = broker
        self._topic = topic
        self._server_cpu_s = 0.0

    def _run(self, clients: Sequence[Client]) -> Load:
        before = self._broker.cpu_s()
        load = run_clients(self._broker.port, clients)
        self._server_cpu_s = self._broker.cpu_s() - before
        return load

    def heartbeats(self) -> Iterator[_Figure]:
        groups = [ConsumerGroup.create(self._topic, PARTITIONS, GROUP_SIZE) for _ in range(GROUPS)]
        joined = self._run(until_stable(groups, CONNECTIONS))
        yield _Figure("all join, until all groups are stable", "s", joined.elapsed_s)
        yield _Figure("all join: server CPU", "s", self._server_cpu_s)
        times: list[float] = []
        load = self._run(heartbeats(groups, CONNECTIONS, HEARTBEATS, times))
        yield _Figure("heartbeats per second", "", load.per_s)
        yield _Figure(f"members at a heartbeat every {INTERVAL_S} s", "", load.per_s * INTERVAL_S)
        yield _Figure("a heartbeat: p99", "ms", percentile(times, 0.99) * 1000)
        yield _Figure("a heartbeat: server CPU", "µs", self._server_cpu_s / load.requests * 1e6)
        yield _Figure("a heartbeat: client CPU", "µs", load.generator_cpu_s / load.requests * 1e6)
        self._run([group.leave(group.members) for group in groups])

    def consumer_rebalances(self) -> Iterator[_Figure]:
        group = ConsumerGroup.create(self._topic, PARTITIONS, GROUP_SIZE)
        self._run(until_stable([group], CONNECTIONS))
        leaving = self._run([group.leave(group.members[:1])])
        yield from self._figures(
            "consumer protocol, one leaves", self._run(until_stable([group], CONNECTIONS)), leaving
        )
        group.add()
        yield from self._figures("consumer protocol, one joins", self._run(until_stable([group], CONNECTIONS)))
        self._run([group.leave(group.members)])

    def classic_rebalances(self) -> Iterator[_Figure]:
        group = ClassicGroup.create(GROUP_SIZE)
        self._run(group.until_stable())
        leaving = self._run([group.leave(group.members[:1])])
        yield from self._figures("classic protocol, one leaves", self._run(group.until_stable()), leaving)
        group.add()
        yield from self._figures("classic protocol, one joins", self._run(group.until_stable()))
        self._run([group.leave(group.members)])

    def _figures(self, what: str, load: Load, *before: Load) -> Iterator[_Figure]:
        """The time and the CPU time of a rebalance that ended with ``load``."""
        yield _Figure(f"{what}, until all are stable", "ms", sum(each.elapsed_s for each in (*before, load)) * 1000)
        yield _Figure(f"{what}: server CPU", "ms", self._server_cpu_s * 1000)
        yield _Figure(f"{what}: client CPU", "ms", load.generator_cpu_s * 1000)
