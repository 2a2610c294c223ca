"""The requests of the group coordinator to the share coordinators, which keep the state of each share partition."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import attrs
import trio

from kraft.coordination.task_starter import TaskStarter
from kraft.coordinator.groups.share.effects import DeleteStates, StateRequest, StatesAnswered
from kraft.coordinator.share.core import ShareStateRequest
from kraft.coordinator.share.state import SharePartitionKey
from kraft.messages import delete_share_group_state_request as delete_request
from kraft.messages import initialize_share_group_state_request as initialize_request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices

logger = logging.getLogger("kraft.coordinator")

_CONCURRENT = 100
"""Not a Kafka setting. The partitions of a request that are asked for at once."""
_SLICE_ELEMENTS = 100
"""Not a Kafka setting. The elements that are asked for before other tasks run."""

AskShareCoordinator = Callable[[ShareStateRequest], Awaitable[Any]]
"""Returns the result of one share partition, or raises KafkaError with its error."""
Report = Callable[[StatesAnswered], None]
T = TypeVar("T")


async def for_each(ask: Callable[[T], Awaitable[None]], elements: Iterable[T]) -> None:
    """Call ``ask`` for all elements, in up to ``_CONCURRENT`` tasks."""
    waiting, slices = deque(elements), Slices(_SLICE_ELEMENTS)

    async def work() -> None:
        while waiting:
            await ask(waiting.popleft())
            await slices.spend()

    async with trio.open_nursery() as nursery:
        for _ in range(min(_CONCURRENT, len(waiting))):
            nursery.start_soon(work)


@attrs.define(eq=False)
class StateRequests:
    """The requests of this broker. A group has one for its heartbeats at a time, and those of administrators."""

    ask: AskShareCoordinator
    _tasks: TaskStarter = attrs.Factory(TaskStarter)

    def begin(self, request: StateRequest, report: Report) -> None:
        """Ask for all partitions in the background, then report."""
        self._tasks.start(partial(self._perform, request, report), f"states of {request.group_id}")

    async def run(self) -> None:
        """Run a task for each request, forever."""
        await self._tasks.run()

    async def _perform(self, request: StateRequest, report: Report) -> None:
        errors: dict[tuple[UUID, int], ErrorCode] = {}
        elements = _elements(request)

        async def ask(element: ShareStateRequest) -> None:
            try:
                await self.ask(element)
            except KafkaError as error:
                key = element.share_partition
                errors[key.topic_id, key.partition] = error.code

        await for_each(ask, elements)
        if errors:
            (topic_id, index), code = next(iter(errors.items()))
            logger.warning(
                "share group %s: the share coordinator refused %d partitions, the first one %s-%d: %s; clients retry",
                request.group_id,
                len(errors),
                topic_id,
                index,
                code.name,
            )
        report(StatesAnswered(request, errors))


def _elements(request: StateRequest) -> Iterator[ShareStateRequest]:
    data: Any
    if isinstance(request, DeleteStates):
        for topic_id, partitions in request.partitions.items():
            for index in sorted(partitions):
                data = delete_request.PartitionData(index)
                yield ShareStateRequest(SharePartitionKey(request.group_id, topic_id, index), data)
        return
    for topic_id, offsets in request.start_offsets.items():
        for index in sorted(offsets):
            data = initialize_request.PartitionData(index, request.state_epoch, offsets[index])
            yield ShareStateRequest(SharePartitionKey(request.group_id, topic_id, index), data)
