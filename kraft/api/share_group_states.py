"""The five APIs of the share coordinator: each element of a request is decided by the shard of its share partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from kraft.api.context import BrokerContext
from kraft.coordination.shard import ReplySlot
from kraft.coordinator.partitions import HASHED_CHARACTERS
from kraft.coordinator.share.core import ShareStateRequest, refusal
from kraft.coordinator.share.state import SharePartitionKey
from kraft.rpc.channel import Parked, Reply
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices

_SLICE_PARTITIONS = 100

Answer = Callable[[list[tuple[UUID, list[Any]]]], Any]
"""Makes a response of the PartitionResults of each topic."""


async def perform(broker: BrokerContext, message: Any, answer: Answer) -> Reply:
    """Decide on all elements of a request. A request without a group or with an empty topic gets an empty response, as
    from Apache's ``ShareCoordinatorService``.
    """
    if not message.group_id or not message.topics or not all(topic.partitions for topic in message.topics):
        return answer([])  # type: ignore[no-any-return]
    slices = Slices(_SLICE_PARTITIONS)
    slots: list[tuple[UUID, list[Any]]] = []
    for topic in message.topics:
        pending: list[Any] = []
        slots.append((topic.topic_id, pending))
        for data in topic.partitions:
            key = SharePartitionKey(message.group_id, topic.topic_id, data.partition)
            try:
                pending.append((data, broker.coordinators.share_states.request(ShareStateRequest(key, data))))
            except KafkaError as refused:
                pending.append((data, refusal(data, refused.code, refused.message)))
            await slices.spend(1 + len(message.group_id) // HASHED_CHARACTERS)

    async def wait() -> Any:
        slices = Slices(_SLICE_PARTITIONS)
        for _, pending in slots:
            for index, (data, outcome) in enumerate(pending):
                pending[index] = await _result(data, outcome) if isinstance(outcome, ReplySlot) else outcome
                await slices.spend()
        return answer(slots)

    return Parked(wait)


async def _result(data: Any, slot: ReplySlot) -> Any:
    try:
        return await slot.wait()
    except KafkaError as refused:
        return refusal(data, refused.code, refused.message)


def refused(message: Any, code: ErrorCode, text: str | None, answer: Answer) -> Any:
    """Return the response that refuses all elements of a request."""
    return answer(
        mapped(
            message.topics,
            lambda topic: (topic.topic_id, mapped(topic.partitions, lambda data: refusal(data, code, text))),
        )
    )
