"""Overloaded combined nodes in virtual time, drawn from a seed: ``python -m tests.simulation.virtual_overload 0:200``.

Each seed is a cluster of three nodes, which are brokers and controllers. Clients load one of them, or all of them.
Each request and each slice of long work takes virtual time on the event loop of its node, within the budget of a step.
No broker may be fenced, no controller may change the quorum's epoch, and controllers answer in time (KIP-291).

``--seed N`` runs one seed and prints its plan.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
import trio

from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.messages.metadata_request import MetadataRequest
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.metadata.steps import finished
from kraft.records.compression import Compression
from kraft.rpc.client import connect
from kraft.rpc.trace import RequestCompleted
from kraft.simulation import virtual_time
from kraft.simulation.random_stream import RandomStream
from kraft.simulation.virtual_cluster import CLIENT_PORT, PORT, Costs
from kraft.wire.schema import Message
from tests.simulation.virtual_brokers import TIMESTAMP_MS, Brokers, batch_of, brokers, create_topic, produce
from tests.simulation.virtual_world import Violated, no_logged_errors

BUDGET_S = 0.05
"""The longest step of a handler, and of a slice."""
LOAD_S = 6.0
SETTLE_S = 3.0
"""Longer than ``controller.quorum.fetch.timeout.ms``: a follower that was starved at the end stands for election."""
ANSWER_LIMIT_S = 0.5
"""A quarter of ``controller.quorum.fetch.timeout.ms``: a controller has responded, its wait for records aside."""
NEIGHBOUR_PAUSE_S = 0.5
RECORDS = 20_000
"""In the batch of a look-up: 40 slices."""
DEEP = batch_of([b""] * RECORDS)
COMPRESSED = batch_of([b"v" * 50] * 2_000, Compression.GZIP)


class Load(Enum):
    """The request that a client repeats."""

    FLOOD = "one topic's metadata"
    METADATA = "all metadata"
    LOOK_UP = "offset by time"
    PRODUCE = "compressed batch into a compacted topic"
    FETCH = "long poll of all partitions"


class Target(Enum):
    """The nodes under load."""

    LEADER = "the leader"
    FOLLOWER = "a follower"
    ALL = "all nodes"


@attrs.frozen
class Plan:
    """All random choices about a seed, except delays, the order of tasks and each single duration."""

    seed: int
    longest_request_s: float
    long_share: float
    """The share of requests that take up to ``longest_request_s``. The others take up to 2 ms."""
    longest_slice_s: float
    longest_job_s: float
    connections: dict[Load, int]
    """For each loaded node."""
    target: Target

    def __str__(self) -> str:
        clients = ", ".join(f"{count} of {load.value}" for load, count in self.connections.items())
        times = f"requests up to {self.longest_request_s} s ({self.long_share:.0%} of them)"
        slices = f"slices up to {self.longest_slice_s} s, jobs up to {self.longest_job_s} s"
        return f"seed {self.seed}: {times}, {slices}; at {self.target.value}: {clients}"


def draw_plan(seed: int) -> Plan:
    rng = RandomStream(seed, "overload plan")
    return Plan(
        seed,
        longest_request_s=rng.pick((0.01, 0.02, BUDGET_S)),
        long_share=rng.pick((0.1, 0.5, 1.0)),
        longest_slice_s=rng.pick((0.005, 0.02, BUDGET_S)),
        longest_job_s=rng.pick((0.01, 0.1, 1.0)),
        connections={
            Load.FLOOD: rng.pick((0, 50, 600)),
            Load.METADATA: rng.pick((0, 5, 30)),
            Load.LOOK_UP: rng.pick((0, 5, 50)),
            Load.PRODUCE: rng.pick((0, 2, 10)),
            Load.FETCH: rng.pick((0, 5, 30)),
        },
        target=rng.pick(tuple(Target)),
    )


@attrs.define
class Durations:
    """Draws the durations of the work on all nodes. Until ``is_on``, work takes no time."""

    plan: Plan
    rng: RandomStream
    is_on: bool = False

    def of_request(self, request: Any) -> float:
        if not self.is_on:
            return 0.0
        is_long = request.connection.listener != "CONTROLLER" and self.rng.happens(self.plan.long_share)
        return self.rng.between(0.0002, self.plan.longest_request_s if is_long else 0.002)

    def of_slice(self) -> float:
        return self.rng.between(0.001, self.plan.longest_slice_s) if self.is_on else 0.0

    def of_job(self) -> float:
        return self.rng.between(0.001, self.plan.longest_job_s) if self.is_on else 0.0

    def costs(self) -> Costs:
        return Costs(self.of_request, self.of_slice, self.of_job)


@attrs.define
class Seen:
    """The work of all nodes under the load."""

    requests: Counter[str] = attrs.Factory(Counter)
    """Completed requests by plane."""
    slowest_s: float = 0.0
    """The longest time in which a controller handled and answered a request, its wait for records aside."""
    lines: list[str] = attrs.Factory(list)

    def note(self, event: RequestCompleted) -> None:
        self.requests[event.head.plane] += 1
        took_s = event.total_s - event.remote_s
        if event.head.plane == "controller":
            self.slowest_s = max(self.slowest_s, took_s)
        self.lines.append(f"{event.time_s} {event.node_id} {event.head} {took_s}")


def load_of(load: Load, node_id: int) -> Message:
    """Return the request of a client that loads the node ``node_id``, which leads the partitions ``node_id - 1``."""
    index = node_id - 1
    if load is Load.PRODUCE:
        data = [PartitionProduceData(index, COMPRESSED)]
        return ProduceRequest(
            acks=1, timeout_ms=30_000, topic_data=[TopicProduceData(name="compacted", partition_data=data)]
        )
    if load is Load.LOOK_UP:
        last = ListOffsetsPartition(partition_index=index, timestamp=TIMESTAMP_MS + RECORDS - 1)
        return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic("deep", [last])])
    if load is Load.FETCH:
        wanted = FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1)
        topics = [FetchTopic(topic="compacted", partitions=[wanted])]
        return FetchRequest(max_wait_ms=500, min_bytes=2**30, topics=topics)
    return MetadataRequest(topics=[] if load is Load.FLOOD else None)


VERSIONS = {Load.FETCH: 12, Load.PRODUCE: 12, Load.FLOOD: 9, Load.METADATA: 9, Load.LOOK_UP: 7}


async def repeat(cluster: Brokers, node_id: int, load: Load, request: Message) -> None:
    """Load a node from one connection, until cancelled."""
    host = cluster.nodes[node_id].host
    async with connect(host, CLIENT_PORT, load.value, timeout_s=1000, dial=cluster.network.dial("load")) as connection:
        while True:
            await connection.request(request, VERSIONS[load])


async def neighbour(
    cluster: Brokers, node_id: int, seen: Seen, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Send controller requests to one node, until cancelled, and note the slowest response. Start once connected."""
    quorum = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(0)])
    dial = cluster.network.dial("neighbour")
    async with connect(cluster.nodes[node_id].host, PORT, "neighbour", timeout_s=1000, dial=dial) as connection:
        task_status.started()
        while True:
            began = trio.current_time()
            try:
                await connection.request(DescribeQuorumRequest(topics=[quorum]))
            finally:  # the last request may have no response
                seen.slowest_s = max(seen.slowest_s, trio.current_time() - began)
            await trio.sleep(NEIGHBOUR_PAUSE_S)


async def run_world(plan: Plan, directory: Path, seen: Seen) -> None:
    """Load the nodes and check them. Raises Violated."""
    durations = Durations(plan, RandomStream(plan.seed, "durations"))
    with no_logged_errors(), no_logged_errors("kraft.lifecycle", logging.WARNING):
        async with brokers(directory, plan.seed, costs=durations.costs()) as cluster:
            await _fill(cluster)
            before = leaders_of(cluster)
            leader = before[1][0]
            assert leader is not None
            offset = cluster.node(leader).parts.quorum.end_offset
            for node_id in cluster.nodes:
                cluster.node(node_id).trace.subscribe(RequestCompleted, seen.note)
            async with trio.open_nursery() as nursery:
                await nursery.start(neighbour, cluster, leader, seen)
                durations.is_on = True
                with trio.move_on_after(LOAD_S):
                    await _load(cluster, plan, _targets(cluster, plan.target, leader))
                await trio.sleep(SETTLE_S)
                nursery.cancel_scope.cancel(reason="the load is over")
            durations.is_on = False
            check(cluster, before, offset, seen)


def _targets(cluster: Brokers, target: Target, leader: int) -> list[int]:
    if target is Target.ALL:
        return list(cluster.nodes)
    return [leader if target is Target.LEADER else min(cluster.nodes.keys() - {leader})]


async def _load(cluster: Brokers, plan: Plan, loaded: Collection[int]) -> None:
    """Load these nodes until cancelled."""
    async with trio.open_nursery() as clients:
        for node_id in loaded:
            for load, count in plan.connections.items():
                request = load_of(load, node_id)
                for _ in range(count):
                    clients.start_soon(repeat, cluster, node_id, load, request)


def leaders_of(cluster: Brokers) -> dict[int, tuple[int | None, int]]:
    """Return the leader and the epoch that each node knows."""
    quorums = {node_id: cluster.node(node_id).parts.quorum for node_id in cluster.nodes}
    return {node_id: (quorum.leader_id, quorum.epoch) for node_id, quorum in quorums.items()}


async def _fill(cluster: Brokers) -> None:
    async with cluster.client() as client:
        await create_topic(client, "deep", list(cluster.nodes))
        await create_topic(client, "compacted", list(cluster.nodes), cleanup_policy="compact")
        for index in range(len(cluster.nodes)):
            await produce(client, "deep", index, DEEP)


def check(cluster: Brokers, before: dict[int, tuple[int | None, int]], offset: int, seen: Seen) -> None:
    """The quorum and the brokers are as ``before`` the load, and controllers answered in time."""
    for node_id in cluster.nodes:
        for record in _records(cluster.node(node_id).parts.quorum, offset):
            seen.lines.append(f"{node_id} {record}")
            if isinstance(record, BrokerRegistrationChangeRecord):
                raise Violated(f"NoFencedBroker: {record}")
    if leaders_of(cluster) != before:
        raise Violated(f"StableLeadership: leaders and epochs were {before}, and now are {leaders_of(cluster)}")
    if seen.slowest_s > ANSWER_LIMIT_S:
        raise Violated(f"AnswersInTime: a controller took {seen.slowest_s:.3f} s for a request")


def _records(quorum: Any, offset: int) -> Iterator[Any]:
    while batches := finished(quorum.log.batches(offset, quorum.end_offset)):
        for batch in batches:
            yield from batch.records
        offset = batches[-1].next_offset


@attrs.frozen
class Outcome:
    """The result of a seed. ``history`` is a digest of all requests and their times."""

    plan: Plan
    seen: Seen
    history: str = ""
    broken: str | None = None
    """The broken invariant, in one line."""
    details: str = ""

    def __str__(self) -> str:
        counts = ", ".join(
            f"{count} requests of the {plane} plane" for plane, count in sorted(self.seen.requests.items())
        )
        slowest = f"slowest controller request {self.seen.slowest_s:.3f} s"
        return f"{self.plan}\n  {self.history[:12]} {counts}, {slowest}: {self.broken or 'held'}{self.details}"


def run_plan(plan: Plan) -> Outcome:
    """Run a plan. The outcome holds any violation: nothing is raised."""
    seen = Seen()
    with tempfile.TemporaryDirectory(prefix="kraft-overload-") as directory:
        try:
            virtual_time.run(run_world, plan, Path(directory), seen, seed=plan.seed)
        except Exception as error:
            first = error
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            details = "" if isinstance(first, Violated) else "".join(traceback.format_exception(error))
            return Outcome(plan, seen, broken=f"{type(first).__name__}: {first}".splitlines()[0], details=details)
    return Outcome(plan, seen, hashlib.sha256("\n".join(seen.lines).encode()).hexdigest())


def run_seed(seed: int, change: Callable[[Plan], Plan] = lambda plan: plan) -> Outcome:
    return run_plan(change(draw_plan(seed)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="?", default="0:100", help="FROM:TO, TO not included")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    seeds = range(*map(int, options.seeds.split(":")))
    if options.seed is not None:
        logging.basicConfig(level=logging.INFO)
        seeds = range(options.seed, options.seed + 1)
    failed, requests, slowest_s, began_s = 0, 0, 0.0, time.process_time()
    for seed in seeds:
        outcome = run_seed(seed)
        print(outcome, flush=True)
        failed += outcome.broken is not None
        requests += outcome.seen.requests.total()
        slowest_s = max(slowest_s, outcome.seen.slowest_s)
    cpu_s = time.process_time() - began_s
    print(f"{len(seeds)} seeds, {failed} failed; {requests} requests in {cpu_s:.0f} s of CPU time")
    print(f"slowest controller request: {slowest_s:.3f} s")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
