"""What happens in a node, as one stream of events that anybody may listen to.

A room names its kinds of events in a module ``trace`` of its own (``kraft.quorum.trace``, ``kraft.rpc.trace``): small
frozen classes below :class:`TraceEvent`. Whoever makes events of a kind keeps its :class:`Stream`, and makes none while
nobody listens, which costs one attribute check::

    if stream.listeners:
        stream.emit(RoleBegan(*stream.now(), ...))

Listeners are called at once, in the task in which it happened and in the order in which they subscribed. They must not
wait, and what they raise ends that task.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import attrs

from kraft.world.clock import Clock

NO_NODE = -1
"""The node id in events of what runs outside of a node, as a plane in a test."""


@attrs.frozen
class TraceEvent:
    """What all events begin with: when, in seconds since the epoch on the node's wall clock, and where."""

    time_s: float
    node_id: int


E = TypeVar("E", bound=TraceEvent)
Listener = Callable[[E], object]


class Stream(Generic[E]):
    """The events of one kind. ``listeners`` is empty while nobody wants any."""

    __slots__ = ("_clock", "_node_id", "listeners")

    def __init__(self, clock: Clock, node_id: int) -> None:
        self._clock = clock
        self._node_id = node_id
        self.listeners: tuple[Listener[E], ...] = ()

    def now(self) -> tuple[float, int]:
        """What an event of this moment begins with."""
        return self._clock.now_s(), self._node_id

    def emit(self, event: E) -> None:
        """Tell everybody who listens."""
        for listener in self.listeners:
            listener(event)


class Trace:
    """All streams of a node."""

    def __init__(self, clock: Clock | None = None, node_id: int = NO_NODE) -> None:
        self._clock = clock or Clock()
        self._node_id = node_id
        self._streams: dict[type[TraceEvent], Stream[Any]] = {}
        self._listeners: list[tuple[type[TraceEvent], Listener[Any]]] = []

    def of(self, kind: type[E]) -> Stream[E]:
        """The stream of one kind of events, for whoever makes them."""
        if kind not in self._streams:
            self._streams[kind] = Stream(self._clock, self._node_id)
            self._share_out(kind)
        return self._streams[kind]

    def subscribe(self, kind: type[E], listener: Listener[E]) -> None:
        """Call ``listener`` with every event of a kind and of the kinds below it: of all, for :class:`TraceEvent`."""
        self._listeners.append((kind, listener))
        self._share_out(kind)

    def unsubscribe(self, kind: type[E], listener: Listener[E]) -> None:
        """The end of one subscription. Raises ValueError if there is none."""
        self._listeners.remove((kind, listener))
        self._share_out(kind)

    def _share_out(self, kind: type[TraceEvent]) -> None:
        for each, stream in self._streams.items():
            if issubclass(each, kind):
                stream.listeners = tuple(listener for wanted, listener in self._listeners if issubclass(each, wanted))
