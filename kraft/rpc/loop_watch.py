"""The watch on the event loop: which task held it, for how long, and for which request."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import trio

from kraft.metrics import Registry
from kraft.metrics.window import Window
from kraft.rpc.channel import current_request
from kraft.rpc.trace import LoopHeld, RequestHead, head_of
from kraft.world.steps import SAMPLE_S, LongStep, WatchSteps
from kraft.world.trace import Trace

logger = logging.getLogger("kraft.node")

PAUSE_S = 0.1
"""A step beyond it is a line in the log and an event."""
LINES = 5
INTERVAL_S = 60.0

_METRICS = ("kraft.server", "EventLoop")


_watch_of_node: ContextVar[LoopWatch | None] = ContextVar("loop watch", default=None)


class LoopWatch:
    """Reports the long steps of one node's tasks. Other nodes may run in the same event loop.

    ``registry`` gets the metrics, ``trace`` an event for each step beyond ``PAUSE_S``. ``watch_steps`` finds the steps.
    """

    def __init__(self, registry: Registry, trace: Trace, watch_steps: WatchSteps) -> None:
        self._watch_steps = watch_steps
        self._clock = registry.clock
        self._stream = trace.of(LoopHeld)
        self._recent = Window(registry.clock)
        registry.gauge(*_METRICS, "EventLoopMaxPauseMs", self._max_pause_ms)
        self._pauses = registry.histogram(*_METRICS, "EventLoopPauseMs", scale=0.001)
        self._lines = 0
        self._lines_end_at = 0.0
        self.longest: LoopHeld | None = None
        """The longest of the reported steps since the start."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the calling task, and the tasks that it starts, until the block ends."""
        token = _watch_of_node.set(self)
        try:
            with self._watch_steps(self._describe, self._note):
                yield
        finally:
            _watch_of_node.reset(token)

    def _describe(self, task: trio.lowlevel.Task) -> tuple[str, RequestHead | None] | None:
        if task.context.get(_watch_of_node) is not self:
            return None
        current = task.context.get(current_request)
        request = current and current.request
        return task.name, head_of(current.plane, request) if current and request else None

    def _note(self, step: LongStep) -> None:
        self._recent.record(step.held_s * 1000)
        self._pauses.record(int(step.held_s * 1e6))
        name, head = step.what
        pause = LoopHeld(*self._stream.now(), name, head, step.held_s, step.cpu_s, step.collections)
        if self.longest is None or pause.held_s > self.longest.held_s:
            self.longest = pause
        # A step beyond PAUSE_S must not be missed because it was measured too short.
        if pause.held_s > PAUSE_S - SAMPLE_S / 2:
            self._log(pause)
            self._stream.emit(pause)

    def _log(self, pause: LoopHeld) -> None:
        """Log at most ``LINES`` lines in ``INTERVAL_S``."""
        now = self._clock()
        if now >= self._lines_end_at:
            if self._lines > LINES:
                logger.warning("the event loop was held %d more times", self._lines - LINES)
            self._lines, self._lines_end_at = 0, now + INTERVAL_S
        self._lines += 1
        if self._lines <= LINES:
            silent = "; more are only counted for a while" if self._lines == LINES else ""
            logger.warning("the event loop was held for %s; all other tasks waited%s", pause, silent)

    def _max_pause_ms(self) -> float:
        largest = self._recent.maximum
        return largest if largest > 0 else 0.0  # not NaN, which a window without values has
