"""The trace events of a broker with ZooKeeper (``kraft.world.trace``)."""

from __future__ import annotations

import attrs

from kraft.world.trace import TraceEvent


@attrs.frozen
class ControllerElected(TraceEvent):
    """This broker became the controller: ``epoch`` is its own from now on."""

    epoch: int
    reason: str


@attrs.frozen
class ControllerResigned(TraceEvent):
    """This broker is the controller of ``epoch`` no longer."""

    epoch: int
    reason: str
