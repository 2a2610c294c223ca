"""The world of a node, as one value.

A node reads no clock, draws no random number, opens no socket and starts no thread except through its world. The
defaults are the real ones. A simulation gives the node another world, and so patches nothing
(``kraft.simulation.virtual_network.VirtualNetwork.world``).

Trio's clock is not part of it: ``trio.current_time`` and ``trio.sleep`` follow the clock that ``trio.run`` was given.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Protocol
from uuid import UUID

import attrs

from kraft.world.clock import Clock
from kraft.world.compute import compute, in_thread, let_go
from kraft.world.dial import Dial, dial_by_tcp
from kraft.world.listen import Listen, listen_by_tcp
from kraft.world.steps import WatchSteps, sample_steps
from kraft.world.uuids import random_uuid

InThread = Callable[..., Awaitable[Any]]
"""Calls a function with its arguments in a thread, where it may block, and returns its result."""


Handle = Callable[[Any], Awaitable[Any]]
"""Handles a request, and returns its reply."""


def handle_at_once(handle: Handle) -> Handle:
    """Let a request take the time that it takes."""
    return handle


class Syncable(Protocol):
    """A write that must become durable, such as ``kraft.storage.flush.Flush``."""

    def run(self) -> None:
        """Sync it. Raises OSError."""


def sync_now(flush: Syncable) -> None:
    """The real fsync policy: the data is durable when this returns."""
    flush.run()


@attrs.frozen(eq=False, kw_only=True)
class World:
    """Everything that a node takes from outside. The defaults are this process, its host and its network."""

    clock: Clock = attrs.Factory(Clock)
    """The wall clock, for records and sessions."""
    seconds: Callable[[], float] = time.perf_counter
    """A monotonic clock in seconds, for durations. Its zero has no meaning."""
    random: Random = attrs.Factory(Random)
    new_uuid: Callable[[], UUID] = random_uuid
    listen: Listen = listen_by_tcp
    dial: Dial = dial_by_tcp
    in_thread: InThread = in_thread
    compute: InThread = compute
    """Calls a function that computes its result and does nothing else. One core stays free: with more than one, fewer
    run at a time than there are cores.
    """
    let_go: Callable[[], None] = let_go
    """Lets other threads run. Only worker threads call it."""
    sync: Callable[[Syncable], None] = sync_now
    """The fsync policy: how a flush becomes durable. Tests of the quorum give another."""
    handling: Callable[[Handle], Handle] = handle_at_once
    """Wraps the handling of requests. A simulation lets it take virtual time."""
    watch_steps: WatchSteps = sample_steps
    """Finds the steps of tasks that hold the event loop."""
