"""The sessions of brokers, renewed by heartbeats.

Sessions are not in the log. They end with the controller, and a new one gives every unfenced broker a full session.
Times are seconds on the caller's clock.
"""

from __future__ import annotations

import math

import attrs


@attrs.frozen
class Session:
    """The session of one incarnation of a broker."""

    broker_epoch: int
    deadline: float
    metadata_offset: int
    fenced: bool
    shutdown_offset: int | None = None
    """The offset of the last record that moved its leaderships away, once it is in controlled shutdown."""


class Sessions:
    """The sessions of all brokers. A session lasts ``timeout_s`` (broker.session.timeout.ms) from a heartbeat."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._sessions: dict[int, Session] = {}

    def touch(self, broker_id: int, broker_epoch: int, metadata_offset: int, fenced: bool, now: float) -> None:
        """Renew a session. ``metadata_offset``: up to where the broker has replayed the log, -1 if unknown."""
        former = self._sessions.get(broker_id)
        shutdown_offset = former.shutdown_offset if former is not None and former.broker_epoch == broker_epoch else None
        self._sessions[broker_id] = Session(
            broker_epoch, now + self._timeout_s, metadata_offset, fenced, shutdown_offset
        )

    def renew(self, broker_id: int, broker_epoch: int, now: float) -> None:
        """Renew the session of this incarnation, if it has one, and change nothing else."""
        session = self._sessions.get(broker_id)
        if session is not None and session.broker_epoch == broker_epoch:
            self._sessions[broker_id] = attrs.evolve(session, deadline=now + self._timeout_s)

    def begin_shutdown(self, broker_id: int, offset: int) -> None:
        """Record that records up to ``offset`` moved the broker's leaderships away."""
        self._sessions[broker_id] = attrs.evolve(self._sessions[broker_id], shutdown_offset=offset)

    def fence(self, broker_id: int) -> None:
        """Mark a broker's session as fenced, if it has one."""
        session = self._sessions.get(broker_id)
        if session is not None:
            self._sessions[broker_id] = attrs.evolve(session, fenced=True)

    def may_stop(self, broker_id: int) -> bool:
        """Whether every other active broker has replayed that the broker's leaderships moved away."""
        session = self._sessions.get(broker_id)
        offset = None if session is None else session.shutdown_offset
        # A new active controller does not know the offset. It lets a broker stop that leads nothing.
        return offset is None or all(
            other.metadata_offset >= offset
            for other in self._sessions.values()
            if not other.fenced and other.shutdown_offset is None
        )

    def forget(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def is_alive(self, broker_id: int, broker_epoch: int, now: float) -> bool:
        """Whether this incarnation sent a heartbeat within the session timeout, fenced or not."""
        session = self._sessions.get(broker_id)
        return session is not None and session.broker_epoch == broker_epoch and now < session.deadline

    def expired(self, now: float) -> list[int]:
        """The unfenced brokers whose sessions have expired, the longest expired first."""
        late = [(s.deadline, id) for id, s in self._sessions.items() if not s.fenced and s.deadline <= now]
        return [broker_id for _, broker_id in sorted(late)]

    def next_deadline(self) -> float:
        """When the next session of an unfenced broker expires; infinity if there is none."""
        return min((s.deadline for s in self._sessions.values() if not s.fenced), default=math.inf)
