"""Commits of offsets, in a transaction or not: the coordinator decides on the partitions that exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import attrs

from kraft.api.context import BrokerContext
from kraft.coordination.groups import GroupShard
from kraft.rpc.channel import Parked, Reply, Request, response_of
from kraft.wire.errors import ErrorCode
from kraft.world.turns import Turns

_SLICE_PARTITIONS = 500


class _Commit(Protocol):
    """OffsetCommit or TxnOffsetCommit."""

    @property
    def topics(self) -> Sequence[Any]: ...


async def commit_known(
    broker: BrokerContext,
    shard_of: Callable[[], GroupShard],
    request: Request,
    message: _Commit,
    answer: Callable[[int, ErrorCode], Any],
) -> Reply:
    """Commit to the shard. A partition that the image does not have gets an error of its own, by ``answer``.

    Raises:
        KafkaError: as ``shard_of`` and :meth:`Shard.submit`.
    """
    known, unknown = await _divided(broker, message.topics)
    shard = shard_of()
    if not any(unknown):
        return shard.submit(request, message)
    reply = shard.submit(request, attrs.evolve(message, topics=known))  # type: ignore[misc]

    async def with_unknown() -> Any:
        response: Any = await response_of(reply)
        turns = Turns(_SLICE_PARTITIONS)
        for topic, missing in zip(response.topics, unknown, strict=True):
            for index in missing:
                topic.partitions.append(answer(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                await turns.spend()
        return response

    return Parked(with_unknown)


async def _divided(broker: BrokerContext, topics: Sequence[Any]) -> tuple[list[Any], list[list[int]]]:
    """Return each topic with the partitions that exist, and the numbers of the others."""
    turns = Turns(_SLICE_PARTITIONS)
    known, unknown = [], []
    for topic in topics:
        count = broker.replicas.partition_count(topic.name)
        existing, missing = [], []
        for each in topic.partitions:
            if 0 <= each.partition_index < count:
                existing.append(each)
            else:
                missing.append(each.partition_index)
            await turns.spend()
        known.append(attrs.evolve(topic, partitions=existing))
        unknown.append(missing)
        await turns.spend()
    return known, unknown
