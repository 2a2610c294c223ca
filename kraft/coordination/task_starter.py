"""Starts tasks from synchronous code, such as the effects of a coordinator's core."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

import attrs
import trio


@attrs.define(eq=False)
class TaskStarter:
    """Starts tasks in the nursery of :meth:`run`. The callers of :meth:`start` bound their number."""

    _waiting: deque[tuple[Callable[[], Awaitable[None]], str]] = attrs.Factory(deque)
    _woken: trio.Event = attrs.Factory(trio.Event)

    def start(self, task: Callable[[], Awaitable[None]], name: str) -> None:
        """Start a task soon; once :meth:`run` runs, if it does not yet."""
        self._waiting.append((task, name))
        self._woken.set()

    async def run(self) -> None:
        """Run the tasks, forever. An error of one ends all."""
        async with trio.open_nursery() as nursery:
            while True:
                self._woken = trio.Event()
                while self._waiting:
                    task, name = self._waiting.popleft()
                    nursery.start_soon(task, name=name)
                await self._woken.wait()
