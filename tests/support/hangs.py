"""The calls of other programs and clients that did not end, though their test passed. The tests' summary lists them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread

_hangs: list[str] = []


def note_hang(what: str) -> None:
    _hangs.append(what)


def take_hangs() -> list[str]:
    """Return a line for each hang since the last call."""
    taken = _hangs[:]
    _hangs.clear()
    return taken


def call_in_time(what: str, call: Callable[[], object], limit_s: float) -> None:
    """Make a call that cannot be interrupted, in a thread of its own, and raise what it raises.

    A call that does not end within ``limit_s`` seconds is noted as ``what``, and its thread is left alone.
    """
    outcome: Future[object] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        outcome.result(limit_s)
    except TimeoutError:
        if outcome.done():
            raise
        note_hang(f"{what} did not end within {limit_s:g} s")
