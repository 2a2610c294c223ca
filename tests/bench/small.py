"""Small requests over many connections: the cost of a request as such."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.clients import create_topic, delete_topic
from tests.bench.figures import Section, Table
from tests.bench.load import Load, run_load
from tests.bench.peers import APACHE, Running, in_turns
from tests.bench.profiled import profile_of, profiled_kraft

REQUESTS = 20_000
CONNECTIONS = 50
MESSAGE_BYTES = 100
PARTITIONS = 4
PIPELINED = 8
WARM_UP_ROUNDS = 2


def measure(brokers: Sequence[Running], rounds: int) -> Section:
    """Batches of one record, one batch per request: with one request in flight per connection, and with eight."""
    table = Table(
        f"Batches of one record of {MESSAGE_BYTES} bytes over {CONNECTIONS} connections",
        [broker.name for broker in brokers],
        base=APACHE,
    )
    topics = {broker.name: create_topic(broker.bootstrap_servers, PARTITIONS) for broker in brokers}
    generator: list[float] = []
    for number in range(rounds + WARM_UP_ROUNDS):
        for broker in in_turns(brokers, number):
            for depth, words in ((1, "one in flight"), (PIPELINED, f"{PIPELINED} in flight")):
                before = broker.cpu_s()
                load = _load(broker.port, topics[broker.name], depth)
                spent = broker.cpu_s() - before
                if number >= WARM_UP_ROUNDS:
                    table.row(f"requests per second, {words}").add(broker.name, load.per_s)
                    table.row(f"server CPU per request, {words}", "µs").add(broker.name, spent / load.requests * 1e6)
                    generator.append(load.generator_cpu_s / load.requests * 1e6)
    for broker in brokers:
        delete_topic(broker.bootstrap_servers, topics[broker.name])
    low, high = min(generator), max(generator)
    notes = [f"The generator itself needs {low:.0f} to {high:.0f} µs of CPU per request, on the same machine."]
    return Section("small", [table, _profile()], [], notes)


def _load(port: int, topic: str, depth: int) -> Load:
    return run_load(
        port,
        topic,
        PARTITIONS,
        connections=CONNECTIONS,
        requests=REQUESTS,
        depth=depth,
        message_bytes=MESSAGE_BYTES,
    )


def _profile() -> Table:
    """Profile our node under this load, in a run of its own."""
    table = Table("Where the node's CPU goes under this load, one request in flight per connection", ["share"])
    with tempfile.TemporaryDirectory(prefix="kraft-bench-") as scratch:
        broker = profiled_kraft().start(Path(scratch) / "kraft")
        try:
            topic = create_topic(broker.bootstrap_servers, PARTITIONS)
            for _ in range(4):
                _load(broker.port, topic, 1)
        finally:
            broker.stop()
        for label, share in profile_of(Path(scratch) / "kraft"):
            table.row(label, "%").add("share", share * 100)
    return table
