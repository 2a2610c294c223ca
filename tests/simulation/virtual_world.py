"""One world of ``virtual_faults``: controllers, an observer, clients, faults and the checks."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import attrs
import trio

from kraft.config.features import SUPPORTED_FEATURES
from kraft.control.controller_channel import ControllerChannel
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.node.node import Node
from kraft.quorum.driver import Quorum
from kraft.quorum.journal import FILE_NAME
from kraft.quorum.trace import CoreStepped
from kraft.raft.events import Effects
from kraft.raft.state import Candidate, Leader, State
from kraft.records.batch import iter_headers
from kraft.simulation.random_stream import RandomStream
from kraft.simulation.virtual_cluster import CLUSTER_ID, VirtualNode, VirtualObserver, quorum_voters, virtual_nodes
from kraft.simulation.virtual_network import VirtualNetwork
from kraft.wire.errors import ErrorCode, KafkaError
from tests.simulation.virtual_faults import Fault, Kind, Plan, Round

logger = logging.getLogger("kraft.world")

#: An election takes at most two timeouts of a second; some are lost, and peers that fell silent add to that.
LIMIT_S = 30.0
TICK_S = 0.1
CLIENTS = 2
CLIENT_TIMEOUT_MS = 5_000
OBSERVER = 100
BROKER = 101


class Violated(AssertionError):
    """An invariant does not hold."""


@attrs.define(eq=False)
class World:
    """The running nodes, and the facts that the checks have collected."""

    plan: Plan
    directory: Path
    network: VirtualNetwork
    nodes: dict[int, VirtualNode]
    observer: VirtualObserver
    nursery: trio.Nursery
    seen: Counter[str]
    lines: list[str] = attrs.Factory(list)
    acknowledged: list[tuple[str, UUID | None]] = attrs.Factory(list)
    """The id is None if a retry got the response that the topic exists."""
    committed: dict[int, bytes] = attrs.Factory(dict)
    """The batches that some node called committed, by their base offset."""
    compared: dict[Quorum, int] = attrs.Factory(dict)
    """The offset up to which the committed part of a log was compared with the others."""
    completed: dict[Quorum, int] = attrs.Factory(dict)
    """The number of ``acknowledged`` topics that an active controller was seen to have."""
    votes: dict[tuple[int, int], int] = attrs.Factory(dict)
    """The candidate that a voter voted for in an epoch, if the candidate counted the vote: by (voter, epoch)."""
    down: set[int] = attrs.Factory(set)

    def say(self, text: str) -> None:
        logger.info("%s", text)
        self.lines.append(f"{trio.current_time():.6f} {text}")

    def alive(self) -> dict[int, Node]:
        return {key: each.node for key, each in self.nodes.items() if each.node is not None}

    async def start(self, node_id: int) -> None:
        node = self.nodes[node_id]
        with within("a node starts"):
            await self.nursery.start(node.run, name=node.host)
        quorum = self.alive()[node_id].parts.quorum
        self.remembers_its_vote(node_id, quorum.state)
        self.listen_to(quorum)
        self.down.discard(node_id)

    def listen_to(self, quorum: Quorum) -> None:
        quorum.trace.subscribe(CoreStepped, lambda told: self.note(quorum, told.effects))

    def active(self, among: set[int]) -> tuple[int, Node] | None:
        """The active controller of the newest epoch that any of these is in, if a majority of all follows it."""
        nodes = {key: node for key, node in self.alive().items() if key in among}
        epoch = max((node.parts.quorum.epoch for node in nodes.values()), default=-1)
        for key, node in nodes.items():
            quorum, controller = node.parts.quorum, node.parts.controller
            assert controller is not None
            if quorum.is_leader and quorum.epoch == epoch and controller.is_active:
                following = [
                    other
                    for other in nodes.values()
                    if (other.parts.quorum.leader_id, other.parts.quorum.epoch) == (key, epoch)
                ]
                return (key, node) if len(following) > len(self.nodes) / 2 else None
        return None

    def by_role(self) -> list[int]:
        """All nodes, beginning with the leader."""
        leaders = [(node.parts.quorum.epoch, key) for key, node in self.alive().items() if node.parts.quorum.is_leader]
        first = max(leaders)[1] if leaders else 1
        return [first, *(key for key in self.nodes if key != first)]

    async def progress(self, healthy: set[int]) -> None:
        """A majority soon has a leader, a healthy node if there is one, and commits new records."""
        before, began = len(self.acknowledged), trio.current_time()
        await until(
            f"EventuallyLeaderElected: {sorted(healthy)} have an active controller",
            lambda: (self.active(healthy) or self.active(set(self.nodes))) is not None,
        )
        led = trio.current_time()
        await until("ValuesEventuallyAcked: a topic is acknowledged", lambda: len(self.acknowledged) > before)
        self.say(f"led after {led - began:.3f} s, a topic after {trio.current_time() - began:.3f} s")

    # Faults.

    async def play(self, each: Round) -> None:
        """Run one round, and check the invariants after it."""
        victims = self.by_role()[: self.plan.minority] if each.of_minority else None
        async with trio.open_nursery() as faults:
            for fault in each.faults:
                faults.start_soon(self.strike, fault, victims)
            if victims is not None:
                await trio.sleep(1.0)
                await self.progress(set(self.nodes) - set(victims))
        assert not self.down
        self.network.heal()
        self.network.delay_s = self.plan.delay_s
        await self.progress(set(self.nodes))

    async def strike(self, fault: Fault, victims: list[int] | None) -> None:
        await trio.sleep(fault.at_s)
        targets = self.by_role() if victims is None else victims
        target = targets[fault.target % len(targets)]
        self.say(f"{fault.kind.value} of {target}")
        self.seen[fault.kind.value] += 1
        if fault.kind in (Kind.KILL, Kind.STOP, Kind.BLACKOUT):
            await self.end(fault, targets if fault.kind is Kind.BLACKOUT else [target])
        elif fault.kind is Kind.PAUSE:
            self.nodes[target].pause()
            try:
                await trio.sleep(fault.lasts_s)
            finally:
                self.nodes[target].resume()  # a world that is broken off could not end with a node that stands still
        elif fault.kind is Kind.RESET:
            self.network.reset(self.nodes[target].host)
        elif fault.kind is Kind.RESIGN:
            await self.nodes[target].resign()
        elif fault.kind is Kind.DELAY:
            self.network.delay_s = (0.02, 0.5)
            await trio.sleep(fault.lasts_s)
            self.network.delay_s = self.plan.delay_s
        elif fault.kind is Kind.SLOW_DISK:
            self.nodes[target].disk_s = 0.5
            await trio.sleep(fault.lasts_s)
            self.nodes[target].disk_s = self.plan.disk_s
        else:
            pairs = self.cut_by(fault, target, targets)
            self.network.cut(*pairs)
            await trio.sleep(fault.lasts_s)
            self.network.heal(*pairs)

    async def end(self, fault: Fault, targets: list[int]) -> None:
        """Kill or stop those that are up, and start them again one by one."""
        ended = [target for target in targets if target not in self.down]
        self.down.update(ended)
        async with trio.open_nursery() as nursery:
            for target in ended:
                nursery.start_soon(self.nodes[target].stop if fault.kind is Kind.STOP else self.nodes[target].kill)
        for target in ended:
            await trio.sleep(fault.lasts_s / len(ended))
            await self.start(target)

    def cut_by(self, fault: Fault, target: int, targets: list[int]) -> list[tuple[str, str]]:
        """The ways from one host to another that nothing passes."""
        hosts = {key: node.host for key, node in self.nodes.items()}
        if fault.kind is Kind.LINK:
            other = targets[fault.other % len(targets)]
            return [(hosts[target], hosts[other])] if other != target else []
        if fault.other % 2:
            hosts[0] = self.observer.host
        if fault.kind is Kind.SPLIT:
            pairs = itertools.permutations(hosts, 2)
            return [(hosts[a], hosts[b]) for a, b in pairs if (fault.other >> a ^ fault.other >> b) & 1]
        outward = [(hosts[target], host) for host in hosts.values() if host != hosts[target]]
        inward = [(there, here) for here, there in outward]
        return (outward if fault.kind is not Kind.DEAF else []) + (inward if fault.kind is not Kind.MUTE else [])

    # Checks.

    async def watch(self) -> None:
        """Check all nodes periodically."""
        while True:
            acknowledged = len(self.acknowledged)
            await trio.sleep(TICK_S)
            self.compare(OBSERVER, self.observer.quorum)
            for key, node in self.alive().items():
                self.compare(key, node.parts.quorum)
            active = self.active(set(self.nodes))
            if active is not None:
                self.know_all_acknowledged(*active, acknowledged)

    def compare(self, key: int, quorum: Quorum) -> None:
        """NoLogDivergence: committed records are the same on all nodes."""
        start = max(self.compared.get(quorum, 0), quorum.start_offset)
        self.compared[quorum] = max(start, quorum.high_watermark)
        if start >= quorum.high_watermark:
            return
        data, _ = quorum.log.read(start, 2**30)
        for position, header in iter_headers(data):
            if header.base_offset >= quorum.high_watermark:
                break
            batch = bytes(data[position : position + header.size])
            if self.committed.setdefault(header.base_offset, batch) != batch:
                raise Violated(f"NoLogDivergence: node {key} committed something else at offset {header.base_offset}")

    def know_all_acknowledged(self, key: int, node: Node, count: int) -> None:
        """LeaderCompleteness: the active controller of the newest epoch knows every acknowledged topic."""
        quorum, topic_ids = node.parts.quorum, node.parts.metadata.image.topic_ids
        for name, topic_id in self.acknowledged[self.completed.get(quorum, 0) : count]:
            if name not in topic_ids or topic_id not in (None, topic_ids[name]):
                raise Violated(f"AckedValueNotLost: {name} is not known to {key}, active in epoch {quorum.epoch}")
        self.completed[quorum] = count

    def remembers_its_vote(self, voter: int, state: State) -> None:
        """OneVotePerEpoch: a restarted voter knows its vote if a candidate counted it.

        A voter that forgot it could vote twice and elect two leaders. That rarely happens, so this check notices it at
        once.
        """
        given = [(epoch, whom) for (who, epoch), whom in self.votes.items() if who == voter]
        epoch, candidate = max(given, default=(0, None))
        led = candidate == voter == state.leader_id
        if state.epoch < epoch or (state.epoch == epoch and state.voted_for != candidate and not led):
            raise Violated(f"OneVotePerEpoch: {voter} voted for {candidate} in epoch {epoch}, and starts as {state}")

    def note(self, quorum: Quorum, effects: Effects) -> None:
        """Record one step of a quorum member."""
        state = quorum.state
        if isinstance(state, Candidate | Leader):
            for voter in state.granted:
                whom = self.votes.setdefault((voter, state.epoch), quorum.node_id)
                if whom != quorum.node_id:
                    raise Violated(f"OneVotePerEpoch: {voter} voted for {whom} and {quorum.node_id} in {state.epoch}")
        self.seen["log cut"] += effects.truncate is not None
        self.seen["snapshot installed"] += effects.install is not None

    def elections_are_safe(self) -> None:
        """ElectionSafety: an epoch has one leader."""
        leaders: dict[int, int] = {}
        for key in self.nodes:
            for line in (self.directory / str(key) / FILE_NAME).read_text().splitlines():
                told = json.loads(line)
                if told["kind"] == "transition" and told["after"] == "Leader" and told["before"] != "Leader":
                    other = leaders.setdefault(told["epoch"], key)
                    self.seen["leader elected"] += 1
                    if other != key:
                        raise Violated(f"ElectionSafety: {other} and {key} led epoch {told['epoch']}")

    async def agree(self) -> None:
        """Check that all nodes committed and replayed the same records, among them all acknowledged ones."""
        active = self.active(set(self.nodes))
        if active is None:
            raise Violated("StableLeadership: nothing disturbed the leader, and it is gone")
        leader = active[1].parts.quorum
        everybody = {OBSERVER: (self.observer.quorum, self.observer.metadata)}
        everybody |= {key: (node.parts.quorum, node.parts.metadata) for key, node in self.alive().items()}
        await until(
            "ValuesEventuallyAcked: all have replayed all",
            lambda: all(metadata.next_offset == leader.end_offset for _, metadata in everybody.values()),
        )
        for key, (quorum, _) in everybody.items():
            self.compare(key, quorum)
        images = {key: metadata.image for key, (_, metadata) in everybody.items()}
        for key, image in images.items():
            if image != images[OBSERVER]:
                raise Violated(f"ConsistentCommittedData: the image of {key} is another than the observer's")
        self.know_all_acknowledged(*active, len(self.acknowledged))
        self.seen["topic acknowledged"] += len(self.acknowledged)

    def digest(self) -> str:
        """Return a digest of all events with their times, and of all written bytes."""
        digest = hashlib.sha256("\n".join(self.lines).encode())
        for key in self.nodes:
            digest.update((self.directory / str(key) / FILE_NAME).read_bytes())
        for _, batch in sorted(self.committed.items()):
            digest.update(batch)
        return digest.hexdigest()

    # Clients.

    async def register(self) -> None:
        """A broker for the topics: it registers and sends heartbeats, no more."""
        features = [Feature(name, low, high) for name, (low, high) in SUPPORTED_FEATURES.items()]
        request = BrokerRegistrationRequest(
            broker_id=BROKER,
            cluster_id=CLUSTER_ID,
            incarnation_id=UUID(int=BROKER),
            listeners=[Listener("PLAINTEXT", "node-101", 9092, 0)],
            features=features,
            log_dirs=[UUID(int=10 * BROKER)],
        )
        with within("a broker is registered"):
            epoch = (await self.observer.channel.request(request)).broker_epoch
            beat = BrokerHeartbeatRequest(broker_id=BROKER, broker_epoch=epoch, current_metadata_offset=epoch)
            while True:
                if not (await self.observer.channel.request(beat)).is_fenced:
                    return
                await trio.sleep(TICK_S)

    def channel(self, rng: RandomStream) -> ControllerChannel:
        """The observer's, or that of a node: if it leads, there is no network between client and controller."""
        node = self.alive().get(1 + rng.below(2 * self.plan.voters))
        return self.observer.channel if node is None else node.parts.channel

    async def create(self, client: int) -> None:
        """Create topics, and now and then one that is there already."""
        rng = RandomStream(self.plan.seed, f"client {client}")
        for number in itertools.count():
            await trio.sleep(rng.between(0.05, 0.6))
            again = bool(self.acknowledged) and rng.happens(0.1)
            name = rng.pick(self.acknowledged)[0] if again else f"topic-{client}-{number}"
            topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            request = CreateTopicsRequest(topics=[topic], timeout_ms=CLIENT_TIMEOUT_MS)
            try:
                (result,) = (await self.channel(rng).request(request, timeout_ms=CLIENT_TIMEOUT_MS)).topics
            except KafkaError as failure:
                if failure.code is not ErrorCode.REQUEST_TIMED_OUT:
                    raise
                self.seen["request timed out"] += 1
                continue
            self.say(f"{name}: {result.error_code}")
            if result.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                raise Violated(f"{name} is refused: {result.error_code} {result.error_message}")
            if again and result.error_code == ErrorCode.NONE:
                raise Violated(f"AckedValueNotLost: {name} was acknowledged twice")
            if not again:
                self.acknowledged.append((name, None if result.error_code else result.topic_id))


async def until(what: str, condition: Callable[[], bool]) -> None:
    with within(what):
        while True:
            if condition():
                return
            await trio.sleep(TICK_S)


@contextmanager
def within(what: str) -> Iterator[None]:
    try:
        with trio.fail_after(LIMIT_S):
            yield
    except trio.TooSlowError:
        raise Violated(f"{what}: not within {LIMIT_S:.0f} s") from None


class LoggedErrors(logging.Handler):
    """Nothing that happens here is an error of a node, so none may call it one."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


@contextmanager
def no_logged_errors(name: str = "kraft", level: int = logging.ERROR) -> Iterator[None]:
    errors, logger = LoggedErrors(level), logging.getLogger(name)
    logger.addHandler(errors)
    try:
        yield
    finally:
        logger.removeHandler(errors)
    if errors.texts:
        raise Violated(f"NoIllegalState: {errors.texts[0]}")


async def run_world(plan: Plan, directory: Path, seen: Counter[str]) -> tuple[str, float]:
    """Return the digest of all events, and the number of virtual seconds. Raises Violated, or the error of a task."""
    network = VirtualNetwork(plan.seed, plan.delay_s)
    settings = {
        "metadata.max.idle.interval.ms": "0",
        "metadata.log.max.record.bytes.between.snapshots": str(plan.snapshot_bytes),
        "metadata.log.segment.bytes": str(plan.segment_bytes),
        "metadata.max.retention.bytes": "1",
        "broker.session.timeout.ms": "3600000",
    }
    of_observer = {
        "listeners": "PLAINTEXT://node-100:9092",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": quorum_voters(plan.voters),
        "log.dirs": str(directory / str(OBSERVER)),
    }
    with no_logged_errors():
        async with trio.open_nursery() as nursery:
            nodes = virtual_nodes(directory, plan.voters, network, settings, plan.disk_s)
            observer = VirtualObserver(OBSERVER, settings | of_observer, network)
            world = World(plan, directory, network, nodes, observer, nursery, seen)
            world.listen_to(observer.quorum)
            for node_id in nodes:
                await world.start(node_id)
            nursery.start_soon(observer.run, name=observer.host)
            await world.register()
            nursery.start_soon(world.watch)
            async with trio.open_nursery() as clients:
                for client in range(CLIENTS):
                    clients.start_soon(world.create, client)
                for each in plan.rounds:
                    await world.play(each)
                await end_with_a_minority_dead(world)
                clients.cancel_scope.cancel(reason="enough")
            await world.agree()
            virtual_s = trio.current_time()
            nursery.cancel_scope.cancel(reason="the end")
    world.elections_are_safe()
    return world.digest(), virtual_s


async def end_with_a_minority_dead(world: World) -> None:
    """A minority stays down for a while. Then it starts again, and all nodes run."""
    dead = world.by_role()[: world.plan.dead_at_end]
    for node_id in dead:
        await world.nodes[node_id].kill()
    await world.progress(set(world.nodes) - set(dead))
    for node_id in dead:
        await world.start(node_id)
    await world.progress(set(world.nodes))
