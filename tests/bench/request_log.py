"""The cost of the request log: many small requests to the same node with the log off and on, in one run."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.bench.clients import create_topic
from tests.bench.figures import Section, Table, ratio_goal
from tests.bench.load import run_load
from tests.bench.peers import KRAFT, Running, find_peers, in_turns

OFF, FILE, FILE_ALL, TOPIC, TOPIC_ALL = "off", "files", "files, every request", "topic", "topic, every request"
LOGS: Mapping[str, dict[str, str]] = {
    OFF: {"kraft.request.log": "off"},
    FILE: {"kraft.request.log": "file"},
    FILE_ALL: {"kraft.request.log": "file", "kraft.request.log.sample": "1"},
    TOPIC: {"kraft.request.log": "topic"},
    TOPIC_ALL: {"kraft.request.log": "topic", "kraft.request.log.sample": "1"},
}
"""The subjects: the same node with these settings. The sample is the default, one request in a hundred, or all."""

REQUESTS = 20_000
CONNECTIONS = 50
MESSAGE_BYTES = 100
PARTITIONS = 4
PIPELINED = 8
WARM_UP_ROUNDS = 2
LEAST_THROUGHPUT = 0.95


def measure(rounds: int) -> Section:
    """Each round visits every node once, and begins with another one each time."""
    table = Table(f"Produce requests with one record of {MESSAGE_BYTES} bytes, {PIPELINED} in flight", [*LOGS])
    rate, cpu = table.row("requests per second"), table.row("server CPU per request", "µs")
    [kraft], _ = find_peers([KRAFT])
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kraft-bench-")))
        nodes = {}
        for number, (name, settings) in enumerate(LOGS.items()):
            nodes[name] = kraft.start(scratch / str(number), settings)
            stack.callback(nodes[name].stop)
        topics = {name: create_topic(node.bootstrap_servers, PARTITIONS) for name, node in nodes.items()}
        for number in range(rounds + WARM_UP_ROUNDS):
            for name in in_turns([*LOGS], number):
                per_s, cpu_us = _once(nodes[name], topics[name])
                if number >= WARM_UP_ROUNDS:
                    rate.add(name, per_s)
                    cpu.add(name, cpu_us)
    goals = [
        ratio_goal(
            f"throughput with the request log in {where} at least {LEAST_THROUGHPUT} of that without",
            rate,
            name,
            OFF,
            lambda ratio: ratio >= LEAST_THROUGHPUT,
        )
        for name, where in ((FILE, "files"), (TOPIC, "a topic"))
    ]
    return Section("request_log", [table], goals)


def _once(node: Running, topic: str) -> tuple[float, float]:
    before = node.cpu_s()
    load = run_load(
        node.port,
        topic,
        PARTITIONS,
        connections=CONNECTIONS,
        requests=REQUESTS,
        depth=PIPELINED,
        message_bytes=MESSAGE_BYTES,
    )
    return load.per_s, (node.cpu_s() - before) / load.requests * 1e6
