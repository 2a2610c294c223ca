"""What a controller's trace tells (``kraft.world.trace``)."""

from __future__ import annotations

import attrs

from kraft.world.trace import TraceEvent


@attrs.frozen
class ControllerActivated(TraceEvent):
    """The controller of this node is active: from now on it decides."""

    epoch: int


@attrs.frozen
class ControllerDeactivated(TraceEvent):
    """It decides no more: another leads, or the node ends."""

    epoch: int
