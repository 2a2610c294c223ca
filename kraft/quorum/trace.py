"""What a quorum's trace tells (``kraft.world.trace``)."""

from __future__ import annotations

import attrs

from kraft.quorum.refusals import Refusal
from kraft.raft.events import Effects
from kraft.world.trace import TraceEvent


@attrs.frozen
class CoreStepped(TraceEvent):
    """The core was stepped, and its effects are about to be performed: they say which state it came to, and why."""

    effects: Effects


@attrs.frozen
class RequestRefused(TraceEvent):
    """A request of a peer was refused without a step of the core."""

    refusal: Refusal


@attrs.frozen
class RoleBegan(TraceEvent):
    """The scope of a role was entered; that of the role before has ended. ``role`` is the name of its task."""

    role: str
    epoch: int
    leader_id: int | None
