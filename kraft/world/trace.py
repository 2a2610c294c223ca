"""The trace of a node: one stream of events, to which any part of the node or of a test can subscribe.

A room declares its kinds of events in its own module ``trace`` (``kraft.quorum.trace``, ``kraft.rpc.trace``): small
frozen classes below :class:`TraceEvent`. A producer of events keeps the :class:`Stream` of their kind. It makes no
event while the stream has no listeners, which costs one attribute check::

    if stream.listeners:
        stream.emit(RoleBegan(*stream.now(), ...))

Listeners run in the task that emits the event, in the order of their subscriptions. They must not wait, and an
exception in one ends that task.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import attrs

from kraft.world.clock import Clock

NO_NODE = -1
"""The node id of events from outside a node, such as those of a plane in a test."""


@attrs.frozen
class TraceEvent:
    """The first fields of every event: its time, in seconds since the epoch on the node's wall clock, and its node."""

    time_s: float
    node_id: int


E = TypeVar("E", bound=TraceEvent)
TraceListener = Callable[[E], object]


class Stream(Generic[E]):
    """The events of one kind. ``listeners`` is empty while nothing has subscribed."""

    __slots__ = ("_clock", "_node_id", "listeners")

    def __init__(self, clock: Clock, node_id: int) -> None:
        self._clock = clock
        self._node_id = node_id
        self.listeners: tuple[TraceListener[E], ...] = ()

    def now(self) -> tuple[float, int]:
        """Return the first fields of an event that happens now."""
        return self._clock.now_s(), self._node_id

    def emit(self, event: E) -> None:
        """Call every listener."""
        for listener in self.listeners:
            listener(event)


class Trace:
    """All streams of a node."""

    def __init__(self, clock: Clock | None = None, node_id: int = NO_NODE) -> None:
        self._clock = clock or Clock()
        self._node_id = node_id
        self._streams: dict[type[TraceEvent], Stream[Any]] = {}
        self._listeners: list[tuple[type[TraceEvent], TraceListener[Any]]] = []

    def of(self, kind: type[E]) -> Stream[E]:
        """Return the stream of one kind of events, for its producer."""
        if kind not in self._streams:
            self._streams[kind] = Stream(self._clock, self._node_id)
            self._update_listeners(kind)
        return self._streams[kind]

    def subscribe(self, kind: type[E], listener: TraceListener[E]) -> None:
        """Call ``listener`` with every event of a kind and of its subclasses; :class:`TraceEvent` stands for all."""
        self._listeners.append((kind, listener))
        self._update_listeners(kind)

    def unsubscribe(self, kind: type[E], listener: TraceListener[E]) -> None:
        """End one subscription. Raises ValueError if it does not exist."""
        self._listeners.remove((kind, listener))
        self._update_listeners(kind)

    def _update_listeners(self, kind: type[TraceEvent]) -> None:
        for each, stream in self._streams.items():
            if issubclass(each, kind):
                stream.listeners = tuple(listener for wanted, listener in self._listeners if issubclass(each, wanted))
