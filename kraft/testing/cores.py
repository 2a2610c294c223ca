"""Several Raft cores in one process, and the messages in flight between them.

Nothing is random, and no thread runs. A message waits in ``in_flight`` until a caller delivers it. A timer fires when a
caller fires it. Transcripts, examples and property tests are built on this.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable

from kraft.raft.events import Effects, RequestFailed, RequestReceived, ResponseReceived, Send, Timeout
from kraft.raft.messages import Request
from kraft.raft.timing import Timing
from kraft.testing.driven import DrivenCore, InFlight, Line
from kraft.testing.words import name_of

_MOST_STEPS = 10_000
_MOST_TIMEOUTS = 100


def _silent(text: str, kind: Line, about: Request | None) -> None:
    pass


class Cores:
    """The cores of ``voters`` and ``observers``, by node id. All share one clock, ``now``, in seconds.

    ``say`` receives a text for each event, and the request that the event is about. The nodes in ``old`` run a release
    without pre-votes. ``sides`` maps a node to its side of a network partition.
    """

    def __init__(
        self,
        voters: Iterable[int],
        observers: Iterable[int] = (),
        *,
        timing: Timing | None = None,
        say: Callable[[str, Line, Request | None], None] = _silent,
    ) -> None:
        self.voters = tuple(voters)
        self.timing = timing or Timing()
        self.say = say
        self.now = 0.0
        self.in_flight: list[InFlight] = []
        self.sides: dict[int, int] = {}
        self.old: set[int] = set()
        self._values = itertools.count(1)
        self._requests = itertools.count(1)
        self.nodes = {node_id: DrivenCore(self, node_id) for node_id in (*self.voters, *observers)}
        for node in self.nodes.values():
            node.start()

    def stepped(self, node: DrivenCore, effects: Effects) -> None:
        """Called after each step of a core, before its effects are performed. Subclasses override it to watch."""

    def append(self, node_id: int, count: int = 1) -> bool:
        """Append new records as one batch, if this node leads. Return whether it leads."""
        return self.nodes[node_id].propose(list(itertools.islice(self._values, count)))

    # Time.

    def fire(self, node_id: int) -> None:
        """Advance the clock to a node's deadline and fire its timer. Raises ValueError if no timer is set."""
        node = self.nodes[node_id]
        if not node.free or node.deadline == math.inf:
            raise ValueError(f"{node_id} has no timer")
        self.now = max(self.now, node.deadline)
        node.step(Timeout())
        assert node.deadline > self.now or not node.free, "an expired deadline must move, or a driver spins"

    def time_out(self, node_id: int) -> None:
        """Fire the timer of one node until its state changes. Nothing is delivered meanwhile.

        Raises ValueError if the state does not change.
        """
        node = self.nodes[node_id]
        before = node.core.state
        for _ in range(_MOST_TIMEOUTS):
            self.fire(node_id)
            after = node.core.state
            if (type(after), after.epoch) != (type(before), before.epoch):
                return
        raise ValueError(f"{node_id} stays {type(before).__name__}")

    def run(self, seconds: float) -> None:
        """Let ``seconds`` pass for all nodes: messages arrive at once, timers fire at their deadlines."""
        end = self.now + seconds
        for _ in range(_MOST_STEPS):
            self.settle()
            due = min((node for node in self.nodes.values() if node.free), key=lambda node: node.deadline, default=None)
            if due is None or due.deadline > end:
                self.now = end
                return
            self.fire(due.node_id)
        raise AssertionError("time does not pass")

    # Messages.

    def post(self, in_flight: InFlight) -> bool:
        """Send a message. Return False if the network partition loses it at once."""
        if self._is_cut(in_flight):
            return False
        self.in_flight.append(in_flight)
        return True

    def cut(self, *sides: Iterable[int]) -> None:
        """Partition the network: only nodes on the same side reach each other. Without sides, heal the network."""
        self.sides = {node_id: number for number, side in enumerate(sides) for node_id in side}
        self.in_flight = [each for each in self.in_flight if not self._is_cut(each)]

    def _is_cut(self, in_flight: InFlight) -> bool:
        return self.sides.get(in_flight.source) != self.sides.get(in_flight.target)

    def may_arrive(self, in_flight: InFlight) -> bool:
        """Whether the receiver handles messages: not while it writes its election state."""
        return self.nodes[in_flight.target].writing is None

    def deliver(self, in_flight: InFlight, *, keep: bool = False) -> None:
        """Deliver a message. With ``keep`` it will arrive once more. A request to a stopped node fails at once."""
        if not keep:
            self.in_flight.remove(in_flight)
        target, message = self.nodes[in_flight.target], in_flight.message
        forgotten = isinstance(message, ResponseReceived) and in_flight.life != target.life
        self.say(f"{in_flight}{'' if target.up and not forgotten else ' (dropped)'}", Line.ARRIVAL, message.request)
        if not target.up:
            self._fail(in_flight)
        elif isinstance(message, Send):
            number = next(self._requests)
            target.callers[number] = in_flight
            target.step(RequestReceived(number, message.request))
            if number in target.callers and target.free:
                self.say(f"{in_flight.target} parks the {name_of(message.request)}", Line.DETAIL, message.request)
        elif not forgotten:
            target.step(message)

    def fail(self, in_flight: InFlight) -> None:
        """Lose a message. The sender of a request is informed that it failed."""
        self.in_flight.remove(in_flight)
        self._fail(in_flight)

    def _fail(self, in_flight: InFlight) -> None:
        sender, message = self.nodes[in_flight.source], in_flight.message
        if isinstance(message, Send) and sender.free and in_flight.life == sender.life:
            sender.step(RequestFailed(message.number, message.to, message.request))

    def settle(self) -> None:
        """Deliver messages in the order of sending until none is left that can arrive."""
        for _ in range(_MOST_STEPS):
            in_flight = next(filter(self.may_arrive, self.in_flight), None)
            if in_flight is None:
                return
            self.deliver(in_flight)
        raise AssertionError("the members never come to rest")
