"""Long work lets other tasks of the event loop run after each slice of a few milliseconds.

One loop runs everything: the quorum's heartbeats, the groups, every connection. A task that works for longer than a few
milliseconds awaits :meth:`Slices.spend` between its steps, or yields its costs to :func:`in_slices`. Slices are counted
and not timed, so a simulated run repeats them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol, TypeVar, cast

import trio

SLICE_BYTES: Final = 32 * 1024
"""Not a Kafka setting. The bytes of records that a task replays before other tasks run: a few milliseconds of work."""

T = TypeVar("T")


class NodeQueue(Protocol):
    """Lets in one of the tasks of a simulated node that wait for their next slice."""

    async def __aenter__(self) -> None: ...
    async def __aexit__(self, *_: object) -> None: ...
    def another(self) -> NodeQueue:
        """Return a second queue of the same node."""
        ...


SliceQueue = NodeQueue | trio.Lock

queue_of_node: Final[ContextVar[SliceQueue | None]] = ContextVar("queue of node", default=None)
"""Where the running task waits for its next slice, if that is not the queue of the event loop.

A simulation sets it, because its nodes share an event loop. So does :func:`in_another_queue`.
"""
before_long_work: Final[ContextVar[Callable[[], Awaitable[None]] | None]] = ContextVar("before long work", default=None)
"""Awaited by the running task after each of its slices. A handler of requests leaves its place to another one there, so
that short requests do not wait for the end of its long one.
"""
_queue: Final = trio.lowlevel.RunVar[trio.Lock]("kraft.world.slices")
_pause: Final = trio.lowlevel.RunVar["_Pause"]("kraft.world.slices: pause")
_PAUSE: Final = 2
"""The rest of the round of the call, and the next one."""
_LONGEST_PAUSE: Final = 8
"""In rounds of the scheduler. So many requests of the control plane delay long work, but do not stop it."""


class _Pause:
    __slots__ = ("rounds",)

    def __init__(self) -> None:
        self.rounds = 0


async def next_slice() -> None:
    """Let the other tasks run, then continue.

    Of all tasks that call this, one continues in each round of the scheduler. So another task waits for one slice, and
    not for one of each. None continues in a round after :func:`pause_long_work`, but each after ``_LONGEST_PAUSE``.
    """
    before = before_long_work.get()
    if before is not None:
        await before()
    # A free lock is acquired with a checkpoint, and a taken one when its owner releases it, a round later.
    async with queue_of_node.get() or _queue_of_loop():
        pause = _pause_of_loop()
        for _ in range(_LONGEST_PAUSE):
            if pause.rounds == 0:
                break
            pause.rounds -= 1
            await trio.lowlevel.checkpoint()


def pause_long_work() -> None:
    """Let the next round of the scheduler pass without a slice of long work. A request of the control plane goes on in
    it. From its connection to a handler and back it needs some rounds, and would wait for a slice in each.
    """
    _pause_of_loop().rounds = _PAUSE


@contextmanager
def in_another_queue() -> Iterator[None]:
    """Let the tasks that start in the block wait for each other's slices only, and not for those of all other tasks.

    For work that must not wait for the long work of clients. In each round one more task continues.
    """
    queue = queue_of_node.get()
    another = trio.Lock() if queue is None or isinstance(queue, trio.Lock) else queue.another()
    token = queue_of_node.set(another)
    try:
        yield
    finally:
        queue_of_node.reset(token)


def _queue_of_loop() -> SliceQueue:
    try:
        return _queue.get()
    except LookupError:
        queue = trio.Lock()
        _queue.set(queue)
        return queue


def _pause_of_loop() -> _Pause:
    try:
        return _pause.get()
    except LookupError:
        pause = _Pause()
        _pause.set(pause)
        return pause


class Slices:
    """The slices of one piece of work: ``every`` is the cost of a slice, in the unit that the caller chooses.

    The first slice is an eighth of that, or ``first``. It does not wait for other slices, so many requests that
    arrive together begin in the same round of the scheduler.

    State that the work reads may change at each ``spend``, as at any ``await``.
    """

    __slots__ = ("_every", "_left")

    def __init__(self, every: int, first: int | None = None) -> None:
        self._every = every
        self._left = every >> 3 if first is None else first

    async def spend(self, cost: int = 1) -> None:
        """Count the cost of one step, and let other tasks run if the slice is used up."""
        self._left -= cost
        if self._left <= 0:
            self._left = self._every
            await next_slice()


async def in_slices(work: Generator[int, None, T], every: int | Slices = SLICE_BYTES) -> T:
    """Run ``work``, which yields the costs of its steps, and let other tasks run after each slice. Return its result.

    ``every`` is the cost of a slice, or the slices that this work shares with other work of its caller.
    """
    slices = every if isinstance(every, Slices) else Slices(every)
    while True:
        try:
            cost = next(work)
        except StopIteration as end:
            return cast(T, end.value)
        await slices.spend(cost)
