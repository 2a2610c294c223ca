"""The one way a test waits for another process: poll until a condition holds, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

T = TypeVar("T")

PAUSE_S = 0.02


def eventually(ask: Callable[[], T], timeout_s: float = 60.0) -> T:
    """Return the first truthy result of ``ask``.

    Raises:
        AssertionError: ``timeout_s`` seconds passed; it has the last result.
    """
    deadline = time.monotonic() + timeout_s
    while not (answer := ask()):
        assert time.monotonic() < deadline, f"not so within {timeout_s} s; the last answer was {answer!r}"
        time.sleep(PAUSE_S)
    return answer


async def until(condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
    """Wait until ``condition()`` is true. Another task must make it true."""

    async def ask() -> bool:
        return condition()

    await eventually_async(ask, timeout_s)


async def eventually_async(ask: Callable[[], Awaitable[T]], timeout_s: float = 60.0) -> T:
    """Return the first true result of ``ask``."""
    with trio.fail_after(timeout_s):
        answer = await ask()
        while not answer:
            await trio.sleep(PAUSE_S)
            answer = await ask()
    return answer
