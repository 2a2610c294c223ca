"""The trace events of a controller (``kraft.world.trace``)."""

from __future__ import annotations

import attrs

from kraft.world.trace import TraceEvent


@attrs.frozen
class ControllerActivated(TraceEvent):
    """The controller of this node became active."""

    epoch: int


@attrs.frozen
class ControllerDeactivated(TraceEvent):
    """The controller of this node is no longer active: another node leads, or this node stops."""

    epoch: int
