"""Large batches: their throughput in and out, and the CPU time of the server."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.clients import consume, create_topic, delete_topic, produce
from tests.bench.figures import Section, Table, ratio_goal
from tests.bench.peers import APACHE, KRAFT, Running, in_turns

MESSAGES = 300_000
MESSAGE_BYTES = 1_000
PARTITIONS = 4
WARM_UP_ROUNDS = 2


def measure(brokers: Sequence[Running], rounds: int) -> Section:
    """Each round visits every broker once, with a new topic; the first two rounds of all of them are thrown away."""
    subjects = [broker.name for broker in brokers]
    table = Table("Large batches", subjects, base=APACHE)
    rows = [
        table.row("produce", "MB/s"),
        table.row("consume", "MB/s"),
        table.row("server CPU of producing", "s/GB"),
        table.row("server CPU of consuming", "s/GB"),
        table.row("server CPU, both", "s/GB"),
    ]
    for number in range(rounds + WARM_UP_ROUNDS):
        for broker in in_turns(brokers, number):
            values = _once(broker)
            if number >= WARM_UP_ROUNDS:
                for row, value in zip(rows, values, strict=True):
                    row.add(broker.name, value)
    goals = [
        ratio_goal("produce no slower than Apache, warm", rows[0], KRAFT, APACHE, lambda ratio: ratio >= 1),
        ratio_goal("consume no slower than Apache, warm", rows[1], KRAFT, APACHE, lambda ratio: ratio >= 1),
        ratio_goal("server CPU per GB, in and out, at most Apache's", rows[4], KRAFT, APACHE, lambda ratio: ratio <= 1),
    ]
    return Section("throughput", [table], goals)


def _once(broker: Running) -> tuple[float, ...]:
    servers = broker.bootstrap_servers
    topic = create_topic(servers, PARTITIONS)
    before = broker.cpu_s()
    produced = produce(servers, topic, MESSAGES, MESSAGE_BYTES)
    between = broker.cpu_s()
    consumed = consume(servers, topic, PARTITIONS, MESSAGES, MESSAGE_BYTES)
    after = broker.cpu_s()
    delete_topic(servers, topic)
    gigabytes = MESSAGES * MESSAGE_BYTES / 1e9
    into, out = (between - before) / gigabytes, (after - between) / gigabytes
    return produced.mb_per_s, consumed.mb_per_s, into, out, into + out
