"""Overloaded brokers with ZooKeeper in virtual time: ``python -m tests.simulation.virtual_legacy_overload 0:50``.

Each seed is the load of ``virtual_overload`` on three brokers with ZooKeeper, one of which is the controller. Meanwhile
topics are created, so the controller sends LeaderAndIsr and UpdateMetadata. Whatever the data plane does, each request
of the controller is answered in time, and each broker has the roles and the metadata that it was sent (KIP-291).
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import attrs
import trio

from kraft.client.cluster import Cluster, open_cluster
from kraft.messages.registry import ApiKey
from kraft.rpc.client import connect
from kraft.rpc.trace import RequestCompleted
from kraft.simulation import virtual_time
from kraft.simulation.random_stream import RandomStream
from kraft.zookeeper.znodes.topics import decode_state, state_path
from tests.simulation.virtual_brokers import produce
from tests.simulation.virtual_legacy import DATA_PORT, LegacyBrokers, legacy_brokers
from tests.simulation.virtual_overload import (
    DEEP,
    LOAD_S,
    SETTLE_S,
    VERSIONS,
    Durations,
    Load,
    Plan,
    Target,
    draw_plan,
    load_of,
)
from tests.simulation.virtual_world import until

FROM_CONTROLLER = {ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA, ApiKey.STOP_REPLICA}
ANSWER_LIMIT_S = 1.5
"""A twentieth of ``controller.socket.timeout.ms``. A LeaderAndIsr takes some rounds of the loop, each as long as a
step."""
TOPIC_PAUSE_S = 0.5
EXPIRES_AFTER = 4
"""Topics."""
NODES = (1, 2, 3)
ROTATED = ((1, 2, 3), (2, 3, 1), (3, 1, 2))


@attrs.define
class Answers:
    """The requests of the brokers under the load."""

    requests: Counter[str] = attrs.Factory(Counter)
    """Completed requests by plane."""
    of_controller: int = 0
    slowest_s: float = 0.0
    """The longest time from the arrival of a controller's request to its response, its application included."""

    def note(self, event: RequestCompleted) -> None:
        self.requests[event.head.plane] += 1
        if event.head.api_key in FROM_CONTROLLER:
            self.of_controller += 1
            self.slowest_s = max(self.slowest_s, event.total_s)


async def run_world(plan: Plan, directory: Path, seen: Answers, has_control_plane: bool, expires: bool) -> str | None:
    """Load the brokers, and return the invariant that is broken, if any. With ``expires`` the controller's session ends
    in the middle of the load.
    """
    durations = Durations(plan, RandomStream(plan.seed, "durations"))
    brokers = legacy_brokers(
        directory,
        plan.seed,
        costs=durations.costs(),
        has_control_plane=has_control_plane,
        controlled_shutdown_enable="false",
    )
    async with brokers as cluster:
        await _fill(cluster)
        before = cluster.zookeeper.controller()
        for node in cluster.nodes.values():
            node.running.trace.subscribe(RequestCompleted, seen.note)
        durations.is_on = True
        topics: list[str] = []
        with trio.move_on_after(LOAD_S):
            async with trio.open_nursery() as nursery:
                for node_id in _targets(plan.target, before):
                    for load, count in plan.connections.items():
                        for _ in range(count):
                            nursery.start_soon(_repeat, cluster, node_id, load)
                while True:
                    await trio.sleep(TOPIC_PAUSE_S)
                    if expires and len(topics) == EXPIRES_AFTER:
                        cluster.zookeeper.expire_controller()
                    topics.append(f"t{len(topics)}")
                    cluster.zookeeper.create_topic(topics[-1], *ROTATED)
        await trio.sleep(SETTLE_S)
        durations.is_on = False
        return broken_invariant(cluster, None if expires else before, topics, seen)


def _targets(target: Target, controller: int) -> Sequence[int]:
    if target is Target.ALL:
        return NODES
    return [controller if target is Target.LEADER else min(set(NODES) - {controller})]


async def _repeat(cluster: LegacyBrokers, node_id: int, load: Load) -> None:
    host, dial = cluster.nodes[node_id].host, cluster.network.dial("load")
    async with connect(host, DATA_PORT, load.value, timeout_s=1000, dial=dial) as connection:
        while True:
            await connection.request(load_of(load, node_id), VERSIONS[load])


async def _fill(cluster: LegacyBrokers) -> None:
    cluster.zookeeper.create_topic("deep", *ROTATED)
    cluster.zookeeper.create_topic("compacted", *ROTATED)
    await until("all brokers have the topics", lambda: not lost(cluster, ["deep", "compacted"]))
    async with client_of(cluster) as client:
        for index in range(len(NODES)):
            await produce(client, "deep", index, DEEP)


def client_of(cluster: LegacyBrokers) -> Cluster:
    servers = ",".join(f"{node.host}:{DATA_PORT}" for node in cluster.nodes.values())
    return open_cluster(servers, "client", dial=cluster.network.dial("client"))


def broken_invariant(cluster: LegacyBrokers, controller: int | None, topics: list[str], seen: Answers) -> str | None:
    """The controller is still ``controller``, all that it sent has arrived, and in time. None: there is one again."""
    now = cluster.zookeeper.controller()
    if controller not in (None, now):
        return f"StableController: it was {controller}, and now is {now}"
    missing = lost(cluster, topics)
    if missing:
        return f"NoLostRequest: {missing[0]}, and {len(missing) - 1} more"
    if seen.slowest_s > ANSWER_LIMIT_S:
        return f"AnswersInTime: a broker took {seen.slowest_s:.3f} s for a request of the controller"
    return None


def lost(cluster: LegacyBrokers, topics: Sequence[str]) -> list[str]:
    """The partitions whose state in ZooKeeper a broker was not sent, or of which it has no replica."""
    found = []
    for topic in topics:
        for index in range(len(NODES)):
            znode = cluster.zookeeper.tree.znodes.get(state_path(topic, index))
            state = None if znode is None else decode_state(topic, index, znode.data, znode.version)
            for node_id, node in cluster.nodes.items():
                broker = node.running.broker
                assert broker is not None
                known = broker.image.topic(topic)
                leader = None if known is None else known.partitions[index].leader
                hosted = broker.replicas.partitions.get(topic, {}).get(index)
                if state is None or leader != state.leader or hosted is None or hosted.state.leader != state.leader:
                    found.append(f"{topic}-{index} at broker {node_id}")
    return found


@attrs.frozen
class LegacyOutcome:
    """The result of a seed."""

    plan: Plan
    seen: Answers
    broken: str | None = None

    def __str__(self) -> str:
        counts = ", ".join(f"{count} of the {plane} plane" for plane, count in sorted(self.seen.requests.items()))
        slowest = f"slowest of {self.seen.of_controller} controller requests {self.seen.slowest_s:.3f} s"
        return f"{self.plan}\n  {counts}, {slowest}: {self.broken or 'held'}"


def run_seed(seed: int, *, has_control_plane: bool = True, expires: bool = False) -> LegacyOutcome:
    """Run a seed. The outcome has the broken invariant; an error of a node is raised."""
    plan, seen = draw_plan(seed), Answers()
    with tempfile.TemporaryDirectory(prefix="kraft-overload-") as directory:
        broken = virtual_time.run(run_world, plan, Path(directory), seen, has_control_plane, expires, seed=seed)
    return LegacyOutcome(plan, seen, broken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="?", default="0:20", help="FROM:TO, TO not included")
    parser.add_argument("--expires", action="store_true", help="the controller's session ends under the load")
    parser.add_argument("--shared", action="store_true", help="without a control plane")
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    failed = 0
    for seed in range(*map(int, options.seeds.split(":"))):
        outcome = run_seed(seed, has_control_plane=not options.shared, expires=options.expires)
        print(outcome, flush=True)
        failed += outcome.broken is not None
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
