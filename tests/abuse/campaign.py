"""One attack on one node, and its verdict: the neighbour's waits, the node's memory, the quorum's epoch."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from kraft.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.records.record import Record, encode_batch
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC
from tests.abuse.attacks import Attack
from tests.fuzz.strike import NEIGHBOUR_TOPIC, Address, Neighbour
from tests.support.node_process import NodeProcess

PATIENCE_S = 120.0
"""The time for the answer to an attack, and for any answer to the neighbour."""
QUIET_REQUESTS = 200
"""The neighbour's requests before an attack, for its waits on an idle node."""
_CLEAR_PEAK = "5"


@attrs.define
class Waits:
    """The waits of the neighbour, in seconds."""

    all: list[float] = attrs.Factory(list)

    def worst_ms(self) -> float:
        return max(self.all, default=0.0) * 1000

    def p99_ms(self) -> float:
        return sorted(self.all)[len(self.all) * 99 // 100] * 1000 if self.all else 0.0


@attrs.frozen
class Outcome:
    """The responses to an attack: whole frames, until the node answered all requests or closed the connection."""

    seconds: float
    frames: int
    received_bytes: int
    closed: bool

    def __str__(self) -> str:
        if self.closed:
            return f"closed after {self.seconds:.2f} s"
        return f"{self.received_bytes / 1e6:.1f} MB in {self.seconds:.2f} s"


@attrs.frozen
class Verdict:
    attack: str
    outcome: Outcome
    quiet_ms: float
    worst_ms: float
    p99_ms: float
    memory_mib: tuple[int, int, int]
    """Resident: before the attack, at its peak, after it."""
    epochs: tuple[int, int]
    alive: bool


@contextlib.contextmanager
def neighbour(address: Address) -> Iterator[Neighbour]:
    with socket.create_connection(address, timeout=PATIENCE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield Neighbour(connection)


def ask_in_turn(friend: Neighbour, waits: Waits) -> None:
    """Produce one record of 100 bytes, then ask for the metadata of its topic, and note both waits."""
    records = encode_batch([Record(0, -1, None, bytes(100))])
    data = TopicProduceData(NEIGHBOUR_TOPIC, partition_data=[PartitionProduceData(0, records)])
    topics = [MetadataRequestTopic(name=NEIGHBOUR_TOPIC)]
    for request in (ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[data]), MetadataRequest(topics=topics)):
        began = time.perf_counter()
        friend.ask(request, 9)
        waits.all.append(time.perf_counter() - began)


def strike(address: Address, frames: Sequence[bytes]) -> Outcome:
    """Send the frames of an attack on one connection, and read the answers."""
    began = time.perf_counter()
    answered = received = 0
    with socket.create_connection(address, timeout=PATIENCE_S) as connection:
        try:
            for frame in frames:
                connection.sendall(frame)
                size = _answer(connection)
                if size == 0:
                    break
                answered, received = answered + 1, received + size
        except ConnectionError:  # closed before it had read the frame
            pass
    return Outcome(time.perf_counter() - began, answered, received, answered < len(frames))


def _answer(connection: socket.socket) -> int:
    """Read one frame and forget it. Return its size, 0 if the node closed the connection."""
    head = connection.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        return 0
    left = total = struct.unpack(">i", head)[0]
    scratch = bytearray(1 << 20)
    while left:
        count = connection.recv_into(scratch, min(left, len(scratch)))
        if not count:
            return 0
        left -= count
    return int(total)


def judge(node: NodeProcess, attack: Attack) -> Verdict:
    """Attack a node while a neighbour asks."""
    address = ("127.0.0.1", node.ports[0])
    quiet, busy, ended = Waits(), Waits(), threading.Event()

    with neighbour(address) as friend, neighbour(address) as observer:
        friend.prepare()
        attack.prepare(friend)
        frames = list(attack.frames())  # made before the neighbour's waits are measured in the same interpreter
        for _ in range(QUIET_REQUESTS):
            ask_in_turn(friend, quiet)
        epoch, before = quorum_epoch(observer), resident_mib(node)
        Path(f"/proc/{node.pid}/clear_refs").write_text(_CLEAR_PEAK)

        def ask_until_the_end() -> None:
            with contextlib.suppress(OSError, AssertionError):  # the node ended: ``alive`` says so
                while not ended.is_set():
                    ask_in_turn(friend, busy)

        asking = threading.Thread(target=ask_until_the_end, name="neighbour", daemon=True)
        asking.start()
        try:
            outcome = strike(address, frames)
        finally:
            ended.set()
            asking.join(PATIENCE_S)
        alive = node.is_running
        memory = (before, resident_mib(node, "VmHWM"), resident_mib(node)) if alive else (before, 0, 0)
        later = quorum_epoch(observer) if alive else -1
    return Verdict(attack.name, outcome, quiet.p99_ms(), busy.worst_ms(), busy.p99_ms(), memory, (epoch, later), alive)


def quorum_epoch(friend: Neighbour) -> int:
    topic = TopicData(CLUSTER_METADATA_TOPIC, [PartitionData(0)])
    response = friend.ask(DescribeQuorumRequest(topics=[topic]), 0)
    return int(response.topics[0].partitions[0].leader_epoch)


def resident_mib(node: NodeProcess, key: str = "VmRSS") -> int:
    """A line of the process's status: its resident memory, now or (``VmHWM``) at most."""
    for line in Path(f"/proc/{node.pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) // 1024
    raise KeyError(key)
