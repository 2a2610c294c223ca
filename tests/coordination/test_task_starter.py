"""Tasks that synchronous code starts."""

from __future__ import annotations

from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kraft.coordination.task_starter import TaskStarter


async def test_tasks_from_before_the_run_and_from_other_tasks_are_started() -> None:
    tasks, names = TaskStarter(), list[str | None]()

    async def note(*more: str) -> None:
        names.append(trio.lowlevel.current_task().name)
        for name in more:
            tasks.start(note, name)

    tasks.start(partial(note, "from a task"), "from before")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(tasks.run)
        await wait_all_tasks_blocked()
        tasks.start(note, "from outside")
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert names == ["from before", "from a task", "from outside"]


async def test_an_error_of_a_task_ends_the_run() -> None:
    tasks = TaskStarter()

    async def fail() -> None:
        raise OSError("disk")

    tasks.start(fail, "fails")
    with pytest.RaisesGroup(OSError):
        await tasks.run()
