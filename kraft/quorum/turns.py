"""Who steps the core of a quorum, and when.

Whoever brings an event steps the core with it and performs the effects, there and then, while the task of the role
rests: a step takes microseconds, and a commit is a chain of them, in which the way to another task would cost more than
the step. What has to wait (an election state to be written, a log to be cut, a flush that answers go before) is left to
the role. Until that is done the role takes the events, in their order.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Awaitable, Callable

import trio

from kraft.quorum.flusher import Flusher
from kraft.raft.events import Event, Timeout

_INBOX = 100
_ROUNDS = 3
"""Of Trio's scheduler: in so many a request that has arrived is read, handled and reported, and an answer is sent."""

_Reported = tuple[Event, bytes]
"""An event, and the bytes that came with it."""
_TIMEOUT: _Reported = Timeout(), b""


class Turns:
    """The turns at one core: one event after the other, and a flush of its log as soon as nothing goes before it.

    ``step`` steps the core with an event, or with what has been appended if that is None, and performs the effects, or
    leaves them to ``postpone``. What it appends is made durable by ``flusher``; ``seconds`` measures what that takes.
    """

    def __init__(
        self, step: Callable[[Event | None, bytes], None], flusher: Flusher, seconds: Callable[[], float]
    ) -> None:
        self.deadline = trio.current_time()
        """When the core is to be stepped if nothing happens before, in seconds."""
        self.has_grown = False
        """Whether the log has, and the core was not told."""
        self.has_replied = False
        """Whether the core gave answers in this turn, which go out before a flush."""
        self.has_turned = False
        """Whether the core made a transition, and nobody was told."""
        self.has_followers = False
        """Whether other voters take what is appended here: a flush gives way to those that are about to ask for it."""
        self.busy_s = 0.0
        """Seconds spent with steps of the core, and with flushes on the event loop."""
        self._step = step
        self._flusher = flusher
        self._seconds = seconds
        # What was reported while the role was busy (None only wakes it), and what the core is now to be stepped with.
        self._inbox, self._events = trio.open_memory_channel[_Reported | None](_INBOX)
        self._at_hand: deque[_Reported] = deque([_TIMEOUT])
        self._postponed: Callable[[], Awaitable[None]] | None = None
        self._rests = False  # then nothing is reported, at hand, postponed, or to be flushed
        self._nap = trio.CancelScope()
        self._failure: Exception | None = None

    # For whoever brings an event.

    async def report(self, event: Event, data: bytes = b"", /) -> None:
        """Have the core stepped with ``event``: before this returns if the role rests, else in its turn.

        What fails in the step ends the role, not the caller. May wait while too many events do.
        """
        reported = event, data
        if self._rests:
            self._at_hand.append(reported)
            self._step_for_role()
            return
        try:
            self._inbox.send_nowait(reported)
        except trio.WouldBlock:
            await self._inbox.send(reported)

    def report_growth(self) -> None:
        """Have the core told that the log has grown. What grows before the role had its turn makes one flush."""
        self.has_grown = True
        if self._rests:
            self._step_for_role()
            if self._rests:
                self._wake()

    # For the step.

    def follow(self, event: Event) -> None:
        """Let the core be stepped with ``event``, which came of a step."""
        self._at_hand.append((event, b""))

    def postpone(self, perform: Callable[[], Awaitable[None]]) -> None:
        """Leave to the role what has to wait for the disk. Nothing is stepped before it is done."""
        self._postponed = perform

    # For the role.

    async def take(self) -> bool:
        """Rest until there is something to do, and do it; return whether the core made a transition.

        Raises what failed in the role's place, too.
        """
        try:
            reported = self._events.receive_nowait()
        except trio.WouldBlock:
            reported = await self._rest()
        self.raise_failure()
        if reported is not None:
            self._at_hand.append(reported)
        elif trio.current_time() >= self.deadline:
            self._at_hand.append(_TIMEOUT)
        # Who was answered in the role's place was woken no later than this task.
        return await self.carry_on(1 if self.has_replied else _ROUNDS)

    async def carry_on(self, rounds: int = _ROUNDS) -> bool:
        """Step the core with what is at hand, and do what comes of it, until nothing is left to do.

        A flush that is left to the role comes after so many ``rounds`` of other tasks. Returns whether the core made a
        transition.
        """
        while True:
            self._advance()
            if self._postponed is not None:
                await self._postponed()
                self._postponed = None
            elif self._flusher.is_due:
                await self._flush_after(rounds)
                rounds = _ROUNDS
            else:
                break
        has_turned = self.has_turned
        self.has_replied = self.has_turned = False
        return has_turned

    async def _flush_after(self, rounds: int) -> None:
        """Flush when answers are out, and those to whoever asked meanwhile: their disks work while this one does."""
        for _ in range(rounds):
            await trio.lowlevel.checkpoint()
        self.has_replied = False
        with contextlib.suppress(trio.WouldBlock):
            while True:
                reported = self._events.receive_nowait()
                if reported is not None:
                    self._at_hand.append(reported)
        self._step_through()
        if self.has_replied:  # once: who asks after that is answered after the flush
            for _ in range(_ROUNDS):
                await trio.lowlevel.checkpoint()
            self.has_replied = False
        if self._postponed is None:
            self._flush()

    @property
    def failed(self) -> bool:
        """Whether a step in the role's place failed, and nobody was told."""
        return self._failure is not None

    def raise_failure(self) -> None:
        """Raise what failed in the role's place, if anything did."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    async def _rest(self) -> _Reported | None:
        """Let others step the core, until its deadline or until they leave something to do."""
        with trio.CancelScope(deadline=self.deadline) as self._nap:
            self._rests = True
            try:
                return await self._events.receive()
            finally:
                self._rests = False
        return None

    # In the task of whoever has the turn.

    def _step_for_role(self) -> None:
        """Step the core in the place of the role, which rests, and wake it if that leaves something to do."""
        self._rests = False
        self.has_replied = False
        try:
            self._advance()
        except Exception as failure:
            self._failure = failure
        if self._failure or self._postponed or self.has_turned or self._flusher.is_due:
            self._wake()
            return
        self._rests = True
        if self.deadline < self._nap.deadline:
            self._nap.deadline = self.deadline

    def _wake(self) -> None:
        """End the rest of the role."""
        self._rests = False
        self._inbox.send_nowait(None)

    def _advance(self) -> None:
        """Step the core and flush, as far as nothing has to wait: effects for the disk, or a flush for answers."""
        self._step_through()
        while self._flusher.is_due and not (self.has_replied or self.has_followers or self._postponed):
            self._flush()
            self._step_through()

    def _flush(self) -> None:
        began = self._seconds()
        flushed = self._flusher.flush()
        self.busy_s += self._seconds() - began
        if flushed is not None:
            self.follow(flushed)

    def _step_through(self) -> None:
        """Step the core with what was appended, what is at hand and what comes of it, until effects are postponed."""
        began = self._seconds()
        while self._postponed is None:
            if self.has_grown:
                self.has_grown = False
                self._step(None, b"")
            elif self._at_hand:
                self._step(*self._at_hand.popleft())
            else:
                break
        self.busy_s += self._seconds() - began
