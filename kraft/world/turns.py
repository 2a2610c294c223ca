"""Long work gives the event loop's turn away, in slices of a few milliseconds.

One loop runs everything: the quorum's heartbeats, the groups, every connection. A task that works for longer than a few
milliseconds awaits :meth:`Turns.spend` between its steps, or yields its costs to :func:`in_slices`. Slices are counted
and not timed, so a simulated run repeats them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import Final, TypeVar, cast

import attrs
import trio

SLICE_BYTES: Final = 32 * 1024
"""Not a Kafka setting. The bytes of records that a task replays before other tasks run: a few milliseconds of work."""

T = TypeVar("T")

Line = AbstractAsyncContextManager[None]
"""Lets in one of the tasks that wait for their next slice."""

line_of_node: Final[ContextVar[Line | None]] = ContextVar("line of node", default=None)
"""The line of one node. Only a simulation sets it, because its nodes share an event loop."""
_line: Final = trio.lowlevel.RunVar[trio.Lock]("kraft.world.turns")


async def give_turn() -> None:
    """Let the other tasks run, then continue.

    Of all tasks that call this, one continues in each round of the scheduler. So another task waits for one slice, and
    not for one of each.
    """
    # A free lock is acquired with a checkpoint, and a taken one when its owner releases it, a round later.
    async with line_of_node.get() or _line_of_loop():
        pass


def _line_of_loop() -> Line:
    try:
        return _line.get()
    except LookupError:
        line = trio.Lock()
        _line.set(line)
        return line


@attrs.define(eq=False)
class Turns:
    """The slices of one piece of work: ``every`` is the cost of a slice, in the unit that the caller chooses.

    State that the work reads may change at each ``spend``, as at any ``await``.
    """

    every: int
    _spent: int = 0

    async def spend(self, cost: int = 1) -> None:
        """Count the cost of one step, and give the turn away if the slice is used up."""
        self._spent += cost
        if self._spent >= self.every:
            self._spent = 0
            await give_turn()


async def in_slices(work: Generator[int, None, T], every: int | Turns = SLICE_BYTES) -> T:
    """Run ``work``, which yields the costs of its steps, and give the turn away after each slice. Return its result.

    ``every`` is the cost of a slice, or the slices that this work shares with other work of its caller.
    """
    turns = every if isinstance(every, Turns) else Turns(every)
    while True:
        try:
            cost = next(work)
        except StopIteration as end:
            return cast(T, end.value)
        await turns.spend(cost)
