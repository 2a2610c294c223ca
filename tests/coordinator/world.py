"""The common part of the simulated worlds of coordinators: messages, faults, and internal topics that change leaders.

Each step takes one of the possible actions at random: a client acts, a message arrives or is lost, a record is
committed, a coordinator is replaced, time passes. A coordinator that was replaced continues until it notices, but its
replies are lost: one without a record could contradict the next coordinator, here as in Apache Kafka. A seed determines
all of a world.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from random import Random
from typing import Any, ClassVar, Generic, TypeVar

import attrs

from kraft.coordinator.core import Committed, CoordinatorDeadlineReached, CoordinatorRequest, StoredRecord
from kraft.coordinator.partitions import coordinator_partition
from kraft.metadata.steps import finished

Answered = Callable[[Any], object]
TRACED = 2_000
"""The events of a world that its trace keeps: the last ones."""

C = TypeVar("C", bound="Coordinator[Any]")
W = TypeVar("W", bound="CoordinatedWorld[Any]")


class InvariantBroken(AssertionError):
    """``invariant`` names the guarantee that does not hold."""

    def __init__(self, invariant: str, detail: object) -> None:
        super().__init__(f"{invariant}: {detail}")
        self.invariant = invariant


@attrs.frozen(eq=False)
class InFlight:
    """A request or a response under way. ``client`` is the client that sent the request, if one did. It arrives at the
    step ``earliest`` or later.
    """

    arrive: Callable[[], object]
    client: SimulatedClient[Any] | None = None
    earliest: int = 0


class SimulatedClient(Generic[W]):
    """A client with one request at a time. It sends the request again if the response does not arrive."""

    def __init__(self, world: W) -> None:
        self.world = world
        self.is_done = False
        """Whether the client was fenced, has left or has crashed. It sends nothing more."""
        self.is_waiting = False
        self.waits_for = 0

    def expect(self, answered: Answered) -> Answered:
        """Return the receiver of the response to the newest request. Later requests replace it."""
        self.waits_for += 1
        self.is_waiting = True
        expected = self.waits_for

        def received(response: Any) -> None:
            if expected == self.waits_for and not self.is_done:
                self.waits_for += 1
                self.is_waiting = False
                answered(response)

        return received

    def disconnect(self) -> None:
        """Lose the requests that are under way: the client gives them up, and opens another connection."""
        self.world.messages = [each for each in self.world.messages if each.client is not self]


class Coordinator(Generic[W]):
    """A coordinator of one partition, from its election until it notices the next one. ``core`` is the real core.

    It performs the effects of a step as ``kraft.coordination.shard`` does.
    """

    def __init__(self, world: W, ledger: Ledger[Any]) -> None:
        self.world, self.ledger, self.epoch = world, ledger, ledger.epoch
        self.uncommitted: deque[Any] = deque()
        self.may_write = True
        """Whether enough replicas are in sync, which changes between two steps."""
        self.core = self.new_core()
        finished(self.core.load(ledger.loaded()))
        effects = self.core.new_effects()
        finished(self.core.begin(world.now, effects))
        self.perform_own(effects)

    def new_core(self) -> Any:
        raise NotImplementedError

    def perform_own(self, effects: Any) -> None:
        """Perform the effects that only this kind of core has."""

    def stored(self, record: Any, offset: int) -> StoredRecord:
        return StoredRecord(record.key, record.value, offset=offset)

    def decided(self, event: Any, effects: Any) -> None:
        """Check a decision."""

    def replied(self, response: Any) -> None:
        """Check a response whose records are committed."""

    @property
    def is_leader(self) -> bool:
        return self.ledger.leader is self

    def step(self, event: Any) -> None:
        self.may_write = not self.world.is_faulty()
        effects = self.core.step(self.world.now, event)
        self.decided(event, effects)
        if effects.append:
            self.uncommitted.append(effects)  # a coordinator that was replaced appends in vain
        else:
            self.perform_own(effects)
            if self.uncommitted:
                self.uncommitted[-1].replies_once_committed.extend(effects.replies_once_committed)
            else:
                self.reply(effects.replies_once_committed)
        self.reply(effects.replies)

    def commit(self) -> None:
        """Commit the oldest batch."""
        effects = self.uncommitted.popleft()
        base_offset = self.ledger.end_offset
        self.ledger.append(self, effects)
        replayed = self.core.step(self.world.now, Committed(effects.append, base_offset))
        self.world.require(not replayed.append, "CommitAppendsNothing", replayed.append)
        self.reply(replayed.replies)
        for _, response in effects.replies_once_committed:
            self.replied(response)
        self.reply(effects.replies_once_committed)
        self.perform_own(effects)
        self.perform_own(replayed)

    def reply(self, replies: list[tuple[Any, Any]]) -> None:
        if self.is_leader:
            for answered, response in replies:
                self.world.deliver(answered, response)


class Ledger(Generic[C]):
    """One partition of an internal topic: its committed records and its leader."""

    def __init__(self, world: CoordinatedWorld[C], new_coordinator: Callable[[Any, Ledger[C]], C]) -> None:
        self.world, self.new_coordinator = world, new_coordinator
        self.epoch = 0
        self.end_offset = 0
        self.committed: list[StoredRecord] = []
        self.leader = new_coordinator(world, self)
        self.coordinators = [self.leader]

    def loaded(self) -> list[StoredRecord]:
        """Return the records that the next leader loads."""
        return self.committed

    def append(self, coordinator: C, effects: Any) -> None:
        batch = [coordinator.stored(record, offset) for offset, record in enumerate(effects.append, self.end_offset)]
        self.end_offset += len(batch)
        self.committed += batch
        self.world.committed(self, batch)

    def elect(self) -> None:
        """Replace the leader. Some of its appended records are on the next one, and are committed before it serves."""
        old = self.leader
        kept = self.world.random.randint(0, len(old.uncommitted))
        for effects in list(old.uncommitted)[:kept]:
            self.append(old, effects)
        self.world.note("a coordinator is elected", self.epoch + 1, "batches kept", kept, "of", len(old.uncommitted))
        old.uncommitted.clear()
        self.epoch += 1
        self.leader = self.new_coordinator(self.world, self)
        self.coordinators = [old, self.leader] if self.world.random.random() < 0.5 else [self.leader]
        self.world.counts["elections"] += 1


class CoordinatedWorld(Generic[C]):
    """``INVARIANTS`` has what must hold, by name. ``REACHED`` are the events without which runs show nothing."""

    INVARIANTS: ClassVar[dict[str, str]] = {}
    REACHED: ClassVar[tuple[str, ...]] = ()
    STEPS: ClassVar[int]

    def __init__(self, seed: int, fault_rates: tuple[float, ...] = (0.0, 0.02, 0.1, 0.3)) -> None:
        self.random = Random(seed)
        self.fault_rate = self.random.choice(fault_rates)
        self.now = 1_000.0
        self.steps = 0
        self.counts: Counter[str] = Counter()
        self.messages: list[InFlight] = []
        self.ledgers: list[Ledger[C]] = []
        self.trace: deque[tuple[object, ...]] = deque(maxlen=TRACED)

    def note(self, *event: object) -> None:
        """Add an event to the trace."""
        self.trace.append((self.steps, round(self.now, 3), *event))

    def require(self, holds: object, invariant: str, detail: object = "") -> None:
        """Raises InvariantBroken."""
        if not holds:
            raise InvariantBroken(invariant, detail)

    def is_faulty(self) -> bool:
        return self.random.random() < self.fault_rate

    def committed(self, ledger: Ledger[C], batch: list[StoredRecord]) -> None:
        """Note that a batch was committed."""

    # Messages.

    def ledger_of(self, key: str) -> Ledger[C]:
        """Return the partition whose leader coordinates a key."""
        return self.ledgers[coordinator_partition(key, len(self.ledgers))]

    def send(
        self,
        key: str,
        message: Any,
        version: int,
        answered: Answered,
        client: SimulatedClient[Any] | None = None,
        *,
        delay: int = 0,
    ) -> None:
        """Send a request to the coordinator, or to the one before, which does not know that it was replaced.

        It is under way for ``delay`` steps at least.
        """
        coordinator = self.random.choice(self.ledger_of(key).coordinators)
        request = CoordinatorRequest(answered, message, version)
        self.messages.append(InFlight(lambda: coordinator.step(request), client, self.steps + delay))

    def deliver(self, answered: Answered, response: Any) -> None:
        self.messages.append(InFlight(lambda: answered(response)))

    def message_arrives(self) -> None:
        """Deliver a message, in any order, or lose it."""
        if self.messages:
            index = self.random.randrange(len(self.messages))
            if self.messages[index].earliest <= self.steps:
                message = self.messages.pop(index)
                if not self.is_faulty():
                    message.arrive()

    # Coordinators.

    def coordinators(self) -> list[C]:
        return [each for ledger in self.ledgers for each in ledger.coordinators]

    def commit_one(self) -> None:
        ready = [ledger.leader for ledger in self.ledgers if ledger.leader.uncommitted]
        if ready:
            self.random.choice(ready).commit()

    def fire_deadlines(self) -> None:
        for coordinator in self.coordinators():
            if coordinator.core.deadline <= self.now:
                coordinator.step(CoordinatorDeadlineReached())

    # Runs.

    def run(self, steps: int | None = None) -> None:
        """Take steps with faults, settle without them, and check.

        Raises:
            InvariantBroken: a guarantee does not hold.
        """
        for _ in range(self.STEPS if steps is None else steps):
            self.steps += 1
            self.take_step()
        self.fault_rate = 0.0
        for ledger in self.ledgers:
            ledger.coordinators = [ledger.leader]
        self.note("the faults end")
        self.settle()
        self.check()

    def take_step(self) -> None:
        raise NotImplementedError

    def settle(self) -> None:
        """Go on without faults until nothing changes."""
        raise NotImplementedError

    def check(self) -> None:
        """Check the guarantees at the end of the run."""
        raise NotImplementedError
