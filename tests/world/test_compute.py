"""Worker threads."""

from __future__ import annotations

import threading

import trio

from kraft.world.world import World


async def test_lookups_that_hang_do_not_hold_up_the_disk() -> None:
    """``trio.socket.getaddrinfo`` keeps a thread of the default limiter until it returns, also if it is cancelled."""
    limiter = trio.to_thread.current_default_thread_limiter()
    hung = [object() for _ in range(int(limiter.total_tokens))]
    for lookup in hung:
        limiter.acquire_on_behalf_of_nowait(lookup)
    with trio.fail_after(10):
        assert await World().in_thread(threading.get_ident) != threading.get_ident()
    for lookup in hung:
        limiter.release_on_behalf_of(lookup)
