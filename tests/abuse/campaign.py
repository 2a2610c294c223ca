"""One attack on a cluster, and its verdict: waits, the longest step of the node, its memory, the quorum's epoch."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import attrs

from kraft.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.records.record import Record, encode_batch
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC
from tests.abuse.attack import Attack
from tests.abuse.state import write
from tests.abuse.target import Step, Target
from tests.fuzz.strike import NEIGHBOUR_TOPIC, Address, Neighbour

STEP_MS = 50
"""The budget of a step of the node, in CPU time."""
NEIGHBOUR_P99_MS = 20
CONTROL_P99_MS = 10
QUIET_SHARE = 0.5
"""Waits are judged only if the p99 of an idle node is below this share of the budget: a busy machine adds to both."""
MEMORY_MIB = 512
"""The budget for what an attack adds to the node's resident memory."""

PATIENCE_S = 120.0
"""The time for the answer to an attack, and for any answer to the neighbour."""
QUIET_REQUESTS = 100
"""The requests before an attack, for the waits on an idle node."""
SUM_S = 1.0
"""A shorter attack is repeated for this time, so that a p99 is one of a hundred requests, not the worst of two."""
CONTROL_PAUSE_S = 0.01
"""Between two requests to the controller: its peers and the brokers send it few."""
CONNECT_AT_ONCE = 50


@attrs.define
class Waits:
    """The waits of a client, in seconds."""

    all: list[float] = attrs.Factory(list)

    def worst_ms(self) -> float:
        return max(self.all, default=0.0) * 1000

    def p99_ms(self) -> float:
        return sorted(self.all)[len(self.all) * 99 // 100] * 1000 if self.all else 0.0

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.all.append(time.perf_counter() - began)


@attrs.frozen
class Outcome:
    """The responses to an attack: whole frames, until the node answered all requests or closed the connections."""

    seconds: float
    frames: int
    received_bytes: int
    closed: int
    """The connections that the node closed."""
    silent: int = 0
    """The connections without a response for ``PATIENCE_S``."""

    def __str__(self) -> str:
        if self.silent:
            return f"no response in {PATIENCE_S:.0f} s"
        if self.closed and not self.frames:
            return f"closed after {self.seconds:.2f} s"
        return f"{self.received_bytes / 1e6:.1f} MB in {self.seconds:.2f} s"


@attrs.frozen
class Verdict:
    """The effects of an attack. ``quiet_ms`` are the p99 of the neighbour and of the controller's client before it.

    ``memory_mib`` is resident: before the attack, at its peak, after it. ``epochs`` has -1 if the node does not lead.
    ``step`` is the longest of the node's, None if none was long enough to note.
    """

    attack: str
    outcome: Outcome
    quiet_ms: tuple[float, float]
    worst_ms: float
    p99_ms: float
    control_worst_ms: float
    control_p99_ms: float
    memory_mib: tuple[int, int, int]
    epochs: frozenset[int]
    fenced: int
    alive: bool
    step: Step | None

    def faults(self) -> list[str]:
        """Name what is over its budget."""
        return [
            name
            for name, is_over in (
                ("a node ended", not self.alive),
                ("no response", self.outcome.silent > 0),
                ("another epoch", len(self.epochs) != 1 or -1 in self.epochs),
                ("a fenced broker", self.fenced > 0),
                ("step", self.step is not None and self.step.cpu_ms > STEP_MS),
                ("memory", self.memory_mib[1] - self.memory_mib[0] > MEMORY_MIB),
                ("neighbour", self._is_slow(self.p99_ms, self.quiet_ms[0], NEIGHBOUR_P99_MS)),
                ("controller", self._is_slow(self.control_p99_ms, self.quiet_ms[1], CONTROL_P99_MS)),
            )
            if is_over
        ]

    @staticmethod
    def _is_slow(p99_ms: float, quiet_ms: float, budget_ms: float) -> bool:
        return quiet_ms < budget_ms * QUIET_SHARE and p99_ms > budget_ms


@contextlib.contextmanager
def neighbour(address: Address, broker_id: int | None = None) -> Iterator[Neighbour]:
    with socket.create_connection(address, timeout=PATIENCE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield Neighbour(connection, broker_id)


def ask_in_turn(friend: Neighbour, waits: Waits) -> None:
    """Produce one record of 100 bytes, then ask for the metadata of its topic, and note both waits."""
    records = encode_batch([Record(0, -1, None, bytes(100))])
    data = TopicProduceData(NEIGHBOUR_TOPIC, partition_data=[PartitionProduceData(0, records)])
    topics = [MetadataRequestTopic(name=NEIGHBOUR_TOPIC)]
    for request in (ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[data]), MetadataRequest(topics=topics)):
        with waits.one():
            friend.ask(request, 9)


def quorum_epoch(friend: Neighbour) -> int:
    """Ask the controller; -1 if it does not lead."""
    topic = TopicData(CLUSTER_METADATA_TOPIC, [PartitionData(0)])
    response = friend.ask(DescribeQuorumRequest(topics=[topic]), 0)
    partitions = response.topics[0].partitions if response.topics else []
    return -1 if response.error_code or not partitions or partitions[0].error_code else int(partitions[0].leader_epoch)


def strike(address: Address, frames: Sequence[bytes], connections: int = 1) -> Outcome:
    """Deal the frames to the connections, and read the answers."""
    began = time.perf_counter()
    connecting = threading.Semaphore(CONNECT_AT_ONCE)
    hands = [_Hand(address, frames[number::connections], connecting) for number in range(connections)]
    threads = [threading.Thread(target=hand.play, name="attacker", daemon=True) for hand in hands[1:]]
    for thread in threads:
        thread.start()
    hands[0].play()
    for thread in threads:
        thread.join(PATIENCE_S)
    return Outcome(
        time.perf_counter() - began,
        sum(hand.answered for hand in hands),
        sum(hand.received for hand in hands),
        sum(hand.closed for hand in hands),
        sum(hand.silent for hand in hands),
    )


@attrs.define(eq=False)
class _Hand:
    """The frames of one connection, and the answers to them."""

    address: Address
    frames: Sequence[bytes]
    connecting: threading.Semaphore
    answered: int = 0
    received: int = 0
    closed: bool = False
    silent: bool = False

    def play(self) -> None:
        with self.connecting:
            connection = socket.create_connection(self.address, timeout=PATIENCE_S)
        with connection:
            try:
                for frame in self.frames:
                    connection.sendall(frame)
                    size = _answer(connection)
                    if size == 0:
                        self.closed = True
                        return
                    self.answered, self.received = self.answered + 1, self.received + size
            except TimeoutError:
                self.silent = True
            except ConnectionError:  # closed before it had read the frame
                self.closed = True


def _answer(connection: socket.socket) -> int:
    """Read one frame and forget it. Return its size, 0 if the node closed the connection."""
    head = connection.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        return 0
    left = total = struct.unpack(">i", head)[0]
    scratch = bytearray(min(left, 1 << 20))
    while left:
        count = connection.recv_into(scratch, min(left, len(scratch)))
        if not count:
            return 0
        left -= count
    return int(total)


@contextlib.contextmanager
def again_and_again(ask: Callable[[], object], pause_s: float = 0.0) -> Iterator[None]:
    """Call ``ask`` in a thread until the block ends."""
    ended = threading.Event()

    def run() -> None:
        with contextlib.suppress(OSError, AssertionError):  # the node ended: ``alive`` says so
            while not ended.wait(pause_s):
                ask()

    thread = threading.Thread(target=run, name="neighbour", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(PATIENCE_S)


def judge(target: Target, attack: Attack) -> Verdict:
    """Attack the cluster while a neighbour asks, and a client of the controller."""
    quiet, busy, control_quiet, control_busy = Waits(), Waits(), Waits(), Waits()
    with neighbour(target.address, target.broker_id) as friend, neighbour(target.controller_address) as observer:
        attack.prepare(friend)  # makes one of the fuzzer's topics wide, if the attack needs that
        friend.prepare()
        write(friend, NEIGHBOUR_TOPIC, encode_batch([Record(0, -1, None, b"")]))
        frames = list(attack.frames())  # made before the waits are measured in the same interpreter

        def observe(waits: Waits) -> int:
            with waits.one():
                return quorum_epoch(observer)

        for _ in range(QUIET_REQUESTS):
            ask_in_turn(friend, quiet)
            epoch = observe(control_quiet)
        before, fenced_before, epochs = target.resident_mib(), target.fenced(), {epoch}
        target.forget_peak()
        target.new_steps()
        with (
            again_and_again(lambda: ask_in_turn(friend, busy)),
            again_and_again(lambda: epochs.add(observe(control_busy)), CONTROL_PAUSE_S),
        ):
            address = target.controller_address if attack.at_controller else target.address
            began = time.perf_counter()
            outcome = strike(address, frames, attack.connections)
            while not outcome.silent and time.perf_counter() - began < SUM_S:
                strike(address, frames, attack.connections)
            time.sleep(attack.lasts_s)
        alive = target.is_alive
        memory = (before, target.resident_mib("VmHWM"), target.resident_mib()) if alive else (before, 0, 0)
        epochs.add(quorum_epoch(observer) if alive else -1)
    return Verdict(
        attack.name,
        outcome,
        (quiet.p99_ms(), control_quiet.p99_ms()),
        busy.worst_ms(),
        busy.p99_ms(),
        control_busy.worst_ms(),
        control_busy.p99_ms(),
        memory,
        frozenset(epochs),
        target.fenced() - fenced_before,
        alive,
        max(target.new_steps(), key=lambda step: step.cpu_ms, default=None),
    )
