"""One attack on a cluster, and its verdict: waits, the longest step of the node, its memory, the quorum's epoch."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence

import attrs

from kraft.records.record import Record, encode_batch
from tests.abuse.attack import Attack
from tests.abuse.client import PATIENCE_S, PAUSE_S, Asked, Client, running_client
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

ROUND_S = 0.4
"""A shorter attack is repeated for this time: some 100 requests of each client."""
ENOUGH_WAITS = 500
"""A p99 of so many has five above it. Rounds follow until then, but only while a wait is over its budget."""
LONGEST_S = 10.0
"""No round begins after this time."""
QUIET_S = 0.1
QUIET_WAITS = 300
QUIET_ROUNDS = 50
"""The clients ask an idle node for this time before each attack: repeated for the first one, and while other work slows
the machine down, because waits are not judged then.
"""
CONNECT_AT_ONCE = 50


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
    lost: bool
    """Whether a client lost its connection, or got no response."""
    step: Step | None

    def harm(self) -> list[str]:
        """Name the faults that a busy machine does not cause by itself."""
        return _names(
            ("a node ended", not self.alive),
            ("a lost client", self.alive and self.lost),
            ("no response", self.outcome.silent > 0),
            ("another epoch", len(self.epochs) != 1 or -1 in self.epochs),
            ("a fenced broker", self.fenced > 0),
            ("memory", self.memory_mib[1] - self.memory_mib[0] > MEMORY_MIB),
        )

    def faults(self) -> list[str]:
        """Name all that is over its budget."""
        return self.harm() + _names(
            ("step", self.step is not None and self.step.cpu_ms > STEP_MS),
            ("neighbour", is_slow(self.p99_ms, self.quiet_ms[0], NEIGHBOUR_P99_MS)),
            ("controller", is_slow(self.control_p99_ms, self.quiet_ms[1], CONTROL_P99_MS)),
        )


def _names(*faults: tuple[str, bool]) -> list[str]:
    return [name for name, is_over in faults if is_over]


def is_quiet(both: Both) -> bool:
    """Whether the clients of an idle node are so fast that later waits can be judged."""
    budgets = NEIGHBOUR_P99_MS, CONTROL_P99_MS
    return all(seen.p99_ms() < budget_ms * QUIET_SHARE for seen, budget_ms in zip(both, budgets, strict=True))


def is_slow(wait_ms: float, quiet_ms: float, budget_ms: float) -> bool:
    """Whether a wait is over its budget, and the machine not to blame."""
    return quiet_ms < budget_ms * QUIET_SHARE and wait_ms > budget_ms


@contextlib.contextmanager
def neighbour(address: Address, broker_id: int | None = None) -> Iterator[Neighbour]:
    with socket.create_connection(address, timeout=PATIENCE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield Neighbour(connection, broker_id)


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


Both = tuple[Asked, Asked]
"""The requests of the neighbour, and those of the controller's client."""


@attrs.frozen
class Clients:
    """The clients whose waits are measured: a neighbour of the attacker, and a client of the controller."""

    neighbour: Client
    controller: Client
    quiet: Both = attrs.Factory(lambda: (Asked(), Asked()))
    """The last requests without an attack."""

    @contextlib.contextmanager
    def sampling(self, asked: Both) -> Iterator[None]:
        """Let both ask until the block ends, and add what they see."""
        both = self.neighbour, self.controller
        for client in both:
            client.begin()
        yield
        for client, seen in zip(both, asked, strict=True):
            seen.add(client.cease())

    def ask_quietly(self, rounds: int = QUIET_ROUNDS) -> Both:
        """Ask an idle node. Return the last requests to it: for a p99 the new ones alone would be too few.

        More rounds follow, up to ``rounds``, until the machine is quiet.
        """
        for _ in range(rounds):
            with self.sampling(self.quiet):
                time.sleep(QUIET_S)
            for seen in self.quiet:
                del seen.waits[:-QUIET_WAITS]
            if min(len(seen.waits) for seen in self.quiet) >= QUIET_WAITS and is_quiet(self.quiet):
                break
        return self.quiet


@contextlib.contextmanager
def running_clients(target: Target, pause_s: float = PAUSE_S) -> Iterator[Clients]:
    with (
        running_client(target.address, "neighbour", pause_s) as neighbour,
        running_client(target.controller_address, "controller", pause_s) as controller,
    ):
        yield Clients(neighbour, controller)


@attrs.frozen
class Watch:
    """The cluster before an attack, and the requests of the clients during it."""

    target: Target
    clients: Clients
    quiet: Both
    resident_mib: int
    fenced: int
    busy: Both = attrs.Factory(lambda: (Asked(), Asked()))

    @classmethod
    def begin(cls, target: Target, clients: Clients, rounds: int = QUIET_ROUNDS) -> Watch:
        quiet = clients.ask_quietly(rounds)
        watch = cls(target, clients, quiet, target.resident_mib(), target.fenced())
        target.forget_peak()
        target.new_steps()
        return watch

    def sampling(self) -> contextlib.AbstractContextManager[None]:
        return self.clients.sampling(self.busy)

    def verdict(self, name: str, outcome: Outcome) -> Verdict:
        target, (quiet, quiet_control), (busy, busy_control) = self.target, self.quiet, self.busy
        alive = target.is_alive
        peak, after = (target.resident_mib("VmHWM"), target.resident_mib()) if alive else (0, 0)
        return Verdict(
            name,
            outcome,
            (quiet.p99_ms(), quiet_control.p99_ms()),
            busy.worst_ms(),
            busy.p99_ms(),
            busy_control.worst_ms(),
            busy_control.p99_ms(),
            (self.resident_mib, peak, after),
            frozenset((*quiet_control.epochs, *busy_control.epochs)) if alive else frozenset({-1}),
            target.fenced() - self.fenced,
            alive,
            any(asked.is_lost for asked in self.busy),
            max(target.new_steps(), key=lambda step: step.cpu_ms, default=None),
        )


def judge(target: Target, clients: Clients, attack: Attack, *, once: bool = False) -> Verdict:
    """Attack the cluster while both clients ask: again until the waits can be judged, or only ``once``, on a busy
    machine, too.
    """
    with neighbour(target.address, target.broker_id) as friend:
        attack.prepare(friend)  # makes one of the fuzzer's topics wide, if the attack needs that
        prepare_clients(friend)
    frames = list(attack.frames())
    watch = Watch.begin(target, clients, 1 if once else QUIET_ROUNDS)
    address = target.controller_address if attack.at_controller else target.address
    outcome, began = None, time.perf_counter()
    while outcome is None or not (
        once or outcome.silent or _is_enough(watch.quiet, watch.busy) or time.perf_counter() - began > LONGEST_S
    ):
        with watch.sampling():
            answered = _strike_for(0.0 if once else ROUND_S, address, frames, attack.connections)
            time.sleep(attack.lasts_s)
        outcome = outcome or answered
    return watch.verdict(attack.name, outcome)


def prepare_clients(friend: Neighbour) -> None:
    """Make what the clients need: their topic, and a first record in it."""
    friend.prepare()
    write(friend, NEIGHBOUR_TOPIC, encode_batch([Record(0, -1, None, b"")]))


def _is_enough(quiet: Both, busy: Both) -> bool:
    """Whether the p99 of ``ENOUGH_WAITS`` is known to be over its budget, or known to be within it."""
    return all(
        is_decided(asked, budget_ms) or not is_slow(asked.worst_ms(), idle.p99_ms(), budget_ms)
        for idle, asked, budget_ms in zip(quiet, busy, (NEIGHBOUR_P99_MS, CONTROL_P99_MS), strict=True)
    )


def is_decided(asked: Asked, budget_ms: float) -> bool:
    """Whether later waits can no longer bring the p99 of ``ENOUGH_WAITS`` below the budget, or there are as many."""
    over = sum(wait * 1000 > budget_ms for wait in asked.waits)
    return len(asked.waits) >= ENOUGH_WAITS or over > ENOUGH_WAITS // 100


def _strike_for(seconds: float, address: Address, frames: Sequence[bytes], connections: int) -> Outcome:
    """Strike until the time has passed, at least once. Return the first outcome, or one without a response."""
    began = time.perf_counter()
    first = last = strike(address, frames, connections)
    while not last.silent and time.perf_counter() - began < seconds:
        last = strike(address, frames, connections)
    return last if last.silent else first
