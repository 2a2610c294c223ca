"""One acknowledged produce at a time."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.clients import SingleProduces, create_topic, delete_topic
from tests.bench.figures import Section, Table, percentile, ratio_goal
from tests.bench.peers import APACHE, KRAFT, Running, in_turns

PRODUCES = 2_000
TURNS = 20
"""How often a round visits each broker, for a twentieth of its produces. So a busy second of the machine affects all of
them.
"""
MESSAGE_BYTES = 100
WARM_UP_ROUNDS = 2


def measure(brokers: Sequence[Running], rounds: int) -> Section:
    """Rounds as for throughput; a round gives one p50 and one p99 per broker."""
    table = Table("A single acknowledged produce", [broker.name for broker in brokers], base=APACHE)
    middle, slow = table.row("p50", "ms"), table.row("p99", "ms")
    cpu = table.row("server CPU per produce", "µs")
    topics = {broker.name: create_topic(broker.bootstrap_servers, 1) for broker in brokers}
    clients = {each.name: SingleProduces(each.bootstrap_servers, topics[each.name], MESSAGE_BYTES) for each in brokers}
    for number in range(rounds + WARM_UP_ROUNDS):
        times: dict[str, list[float]] = {broker.name: [] for broker in brokers}
        spent_s = dict.fromkeys(times, 0.0)
        for turn in range(TURNS):
            for broker in in_turns(brokers, turn):
                before = broker.cpu_s()
                times[broker.name] += clients[broker.name].times_ms(PRODUCES // TURNS)
                spent_s[broker.name] += broker.cpu_s() - before
        if number < WARM_UP_ROUNDS:
            continue
        for name in times:
            middle.add(name, percentile(times[name], 0.5))
            slow.add(name, percentile(times[name], 0.99))
            cpu.add(name, spent_s[name] / PRODUCES * 1e6)
    for broker in brokers:
        delete_topic(broker.bootstrap_servers, topics[broker.name])
    goal = "p50 of a single acknowledged produce at most 1.3× Apache's"
    return Section("latency", [table], [ratio_goal(goal, middle, KRAFT, APACHE, lambda ratio: ratio <= 1.3)])
