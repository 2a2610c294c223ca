"""Which brokers are alive, as far as heartbeats tell.

The one thing the controller knows that is not in the log: it dies with the controller, and a new one gives every
unfenced broker a full session to be heard of again. Times are milliseconds on the caller's clock.
"""

from __future__ import annotations

import math

import attrs


@attrs.frozen
class Session:
    """The last sign of life of one incarnation of a broker."""

    broker_epoch: int
    deadline_ms: float
    metadata_offset: int
    fenced: bool
    shutdown_offset: int | None = None
    """Where it gave up what it led, once it is in controlled shutdown."""


class Sessions:
    """The sessions of all brokers. One lasts ``timeout_ms`` (broker.session.timeout.ms) from the last heartbeat."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._sessions: dict[int, Session] = {}

    def touch(self, broker_id: int, broker_epoch: int, metadata_offset: int, fenced: bool, now_ms: float) -> None:
        """Note a sign of life. ``metadata_offset`` is how far the broker has replayed the log, -1 if unknown."""
        former = self._sessions.get(broker_id)
        shutdown_offset = former.shutdown_offset if former is not None and former.broker_epoch == broker_epoch else None
        self._sessions[broker_id] = Session(
            broker_epoch, now_ms + self._timeout_ms, metadata_offset, fenced, shutdown_offset
        )

    def begin_shutdown(self, broker_id: int, offset: int) -> None:
        """Note that a broker gave up what it led by records up to ``offset``."""
        self._sessions[broker_id] = attrs.evolve(self._sessions[broker_id], shutdown_offset=offset)

    def fence(self, broker_id: int) -> None:
        """Note that a broker is fenced, if it was heard of at all."""
        session = self._sessions.get(broker_id)
        if session is not None:
            self._sessions[broker_id] = attrs.evolve(session, fenced=True)

    def may_stop(self, broker_id: int) -> bool:
        """Whether every other active broker has replayed that this one gave up what it led."""
        session = self._sessions.get(broker_id)
        offset = None if session is None else session.shutdown_offset
        # A controller that took over in between does not know the offset; leading nothing must then do.
        return offset is None or all(
            other.metadata_offset >= offset
            for other in self._sessions.values()
            if not other.fenced and other.shutdown_offset is None
        )

    def forget(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def is_alive(self, broker_id: int, broker_epoch: int, now_ms: float) -> bool:
        """Whether this incarnation was heard of within the session timeout, fenced or not."""
        session = self._sessions.get(broker_id)
        return session is not None and session.broker_epoch == broker_epoch and now_ms < session.deadline_ms

    def expired(self, now_ms: float) -> list[int]:
        """The unfenced brokers whose session is over, longest over first."""
        late = [(s.deadline_ms, id) for id, s in self._sessions.items() if not s.fenced and s.deadline_ms <= now_ms]
        return [broker_id for _, broker_id in sorted(late)]

    def next_deadline_ms(self) -> float:
        """When the first session of an unfenced broker will be over; infinity if there is none."""
        return min((s.deadline_ms for s in self._sessions.values() if not s.fenced), default=math.inf)
