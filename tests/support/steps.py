"""Count how often a task let others run: a bound on its work that does not depend on the machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import trio


@attrs.define(eq=False)
class Steps(trio.abc.Instrument):
    """Counts the steps of one task: a task that never lets others run has none inside the block."""

    task: trio.lowlevel.Task
    count: int = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += task is self.task


@attrs.define(eq=False)
class StepsByName(trio.abc.Instrument):
    """Counts the steps of the tasks whose name begins with ``prefix``, such as the connections of a node."""

    prefix: str
    count: int = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += task.name.startswith(self.prefix)


@asynccontextmanager
async def steps_of_tasks(prefix: str) -> AsyncIterator[StepsByName]:
    steps = StepsByName(prefix)
    trio.lowlevel.add_instrument(steps)
    try:
        yield steps
    finally:
        trio.lowlevel.remove_instrument(steps)


@asynccontextmanager
async def steps_of_this_task() -> AsyncIterator[Steps]:
    steps = Steps(trio.lowlevel.current_task())
    trio.lowlevel.add_instrument(steps)
    try:
        yield steps
    finally:
        trio.lowlevel.remove_instrument(steps)
