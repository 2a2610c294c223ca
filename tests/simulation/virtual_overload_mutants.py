"""Planted bugs that starve the control plane: each removes one rule, and a seed of ``virtual_overload`` notices it.

``python -m tests.simulation.virtual_overload_mutants`` prints the first seed that notices each.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import attrs
import trio

from kraft.node.node import Node
from kraft.rpc import server
from kraft.rpc.channel import Request
from kraft.simulation.virtual_cluster import TimedQueue
from tests.simulation.virtual_overload import Outcome, Plan, run_seed

BOUND = 100
SEED = 38
"""A seed that notices each of them."""


@attrs.frozen
class Mutant:
    """``planted`` removes the rule, or ``changed`` alters the plan. ``SEED`` notices it."""

    rule: str
    planted: Callable[[], contextlib.AbstractContextManager[object]] = contextlib.nullcontext
    changed: Callable[[Plan], Plan] = lambda plan: plan

    def run(self, seed: int = SEED) -> Outcome:
        with self.planted():
            return run_seed(seed, self.changed)


_queue: ContextVar[Any] = ContextVar("shared queue")
"""The request queue of a node, and the handlers of its planes by listener."""


@contextlib.contextmanager
def one_queue_for_both_planes() -> Iterator[None]:
    """Both planes of a node have one request queue, and any handler takes its requests."""
    run, service_of = Node.run, Node._service

    async def run_with_queue(node: Node, **options: Any) -> None:
        _queue.set(SimpleNamespace(ends=trio.open_memory_channel[Request](500), handlers={}))
        await run(node, **options)

    def service(node: Node, dispatcher: Any, plane: Any) -> Any:
        own = service_of(node, dispatcher, plane)
        shared = _queue.get()
        shared.handlers |= {endpoint.listener: own.handle for endpoint in plane.listeners}

        async def handle(request: Request) -> Any:
            return await shared.handlers[request.connection.listener](request)

        return attrs.evolve(own, handle=handle)

    class Channels:
        def __getitem__(self, kind: Any) -> Callable[[int], Any]:
            if kind is Request:
                return lambda capacity: tuple(end.clone() for end in _queue.get().ends)
            return trio.open_memory_channel[kind]

    shared_trio = SimpleNamespace(**{**vars(trio), "open_memory_channel": Channels()})
    with (
        patch.object(Node, "run", run_with_queue),
        patch.object(Node, "_service", service),
        patch.object(server, "trio", shared_trio),
    ):
        yield


@contextlib.contextmanager
def slices_without_a_pause() -> Iterator[None]:
    """Long work goes on after each slice, and lets no other task run."""

    async def go_on(line: TimedQueue) -> None:
        line.process.work(line.costs.slice_s())

    async def nothing(line: TimedQueue, *_: object) -> None:
        pass

    with patch.object(TimedQueue, "__aenter__", go_on), patch.object(TimedQueue, "__aexit__", nothing):
        yield


@contextlib.contextmanager
def a_slice_for_each_task() -> Iterator[None]:
    """All tasks with long work continue in each round, and not one of them."""

    async def go_on(line: TimedQueue) -> None:
        line.process.work(line.costs.slice_s())
        await trio.lowlevel.checkpoint()

    async def nothing(line: TimedQueue, *_: object) -> None:
        pass

    with patch.object(TimedQueue, "__aenter__", go_on), patch.object(TimedQueue, "__aexit__", nothing):
        yield


def handlers_empty_the_queue() -> contextlib.AbstractContextManager[object]:
    return patch.object(server, "HANDLER_SLICE_S", math.inf)


def each_handler_in_each_round() -> contextlib.AbstractContextManager[object]:
    async def this_round(line: trio.Lock) -> None:
        pass

    return patch.object(server, "_next_round", this_round)


MUTANTS = {
    "one queue for both planes": Mutant("a controller's requests have a queue of their own", one_queue_for_both_planes),
    "slices without a pause": Mutant("long work lets other tasks run", slices_without_a_pause),
    "a slice for each task": Mutant("one task continues in each round", a_slice_for_each_task),
    "handlers empty the queue": Mutant("a handler lets other tasks run", handlers_empty_the_queue),
    "each handler in each round": Mutant("one handler continues in each round", each_handler_in_each_round),
    "one request holds the loop": Mutant(
        "no step is longer than the budget", changed=lambda plan: attrs.evolve(plan, longest_request_s=2.5)
    ),
}


def main() -> None:
    for name, mutant in MUTANTS.items():
        caught = next((outcome for outcome in map(mutant.run, range(BOUND)) if outcome.broken is not None), None)
        print(f"{name:30}{'survived' if caught is None else caught}", flush=True)


if __name__ == "__main__":
    main()
