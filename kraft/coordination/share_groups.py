"""The requests of the group coordinator to the share coordinators, which keep the state of each share partition."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from uuid import UUID

import attrs
import trio

from kraft.coordinator.groups.share.effects import DeleteStates, StateRequest, StatesAnswered
from kraft.coordinator.share.core import ShareStateRequest
from kraft.coordinator.share.state import SharePartitionKey
from kraft.messages import delete_share_group_state_request as delete_request
from kraft.messages import initialize_share_group_state_request as initialize_request
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.coordinator")

_AT_ONCE = 100
"""Not a Kafka setting. The partitions of a request that are asked for at once."""

AskShareCoordinator = Callable[[ShareStateRequest], Awaitable[Any]]
"""Returns the result of one share partition, or raises KafkaError with its error."""
Report = Callable[[StatesAnswered], None]


@attrs.define(eq=False)
class StateRequests:
    """The requests of this broker. A group has one for its heartbeats at a time, and those of administrators."""

    ask: AskShareCoordinator
    _waiting: deque[tuple[StateRequest, Report]] = attrs.Factory(deque)
    _woken: trio.Event = attrs.Factory(trio.Event)

    def begin(self, request: StateRequest, report: Report) -> None:
        """Ask for all partitions in the background, then report."""
        self._waiting.append((request, report))
        self._woken.set()

    async def run(self) -> None:
        """Run a task for each request, forever."""
        async with trio.open_nursery() as nursery:
            while True:
                while self._waiting:
                    request, report = self._waiting.popleft()
                    nursery.start_soon(self._perform, request, report, name=f"states of {request.group_id}")
                await self._woken.wait()
                self._woken = trio.Event()

    async def _perform(self, request: StateRequest, report: Report) -> None:
        errors: dict[tuple[UUID, int], ErrorCode] = {}
        elements = _elements(request)
        limit = trio.CapacityLimiter(_AT_ONCE)

        async def ask(element: ShareStateRequest) -> None:
            async with limit:
                try:
                    await self.ask(element)
                except KafkaError as error:
                    key = element.share_partition
                    errors[key.topic_id, key.partition] = error.code

        async with trio.open_nursery() as nursery:
            for element in elements:
                nursery.start_soon(ask, element, name=element.share_partition.coordinator_key)
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
