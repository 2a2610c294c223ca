"""The trace events of the quorum (``kraft.world.trace``)."""

from __future__ import annotations

import attrs

from kraft.quorum.refusals import Refusal
from kraft.raft.events import Effects, Event
from kraft.world.trace import TraceEvent


@attrs.frozen
class CoreStepped(TraceEvent):
    """The core was stepped with ``event``, and its effects are about to be performed.

    ``event`` is a message of a peer, a deadline, or the end of an effect that takes time: a flush, a write of the
    election state, a check of a snapshot. ``effects`` has the transitions and verdicts of the step. With LogAppended,
    ``appended_at`` is the time when the leader appended the oldest of these records, in seconds.
    """

    event: Event
    effects: Effects
    appended_at: float | None


@attrs.frozen
class RequestRefused(TraceEvent):
    """A request of a peer was refused before the core."""

    refusal: Refusal


@attrs.frozen
class RoleBegan(TraceEvent):
    """The scope of a role began, after the end of the previous one. ``role`` is the name of its task."""

    role: str
    epoch: int
    leader_id: int | None
