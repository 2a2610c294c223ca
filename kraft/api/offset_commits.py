"""Commits of offsets, in a transaction or not: the coordinator decides on the partitions that exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kraft.api.context import BrokerContext
from kraft.messages.offset_commit_request import OffsetCommitRequest
from kraft.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from kraft.rpc.channel import Parked, Reply, response_of
from kraft.wire.errors import ErrorCode
from kraft.world.slices import Slices

_SLICE_PARTITIONS = 500


Commit = TypeVar("Commit", OffsetCommitRequest, TxnOffsetCommitRequest)


async def commit_known(
    broker: BrokerContext,
    message: Commit,
    submit: Callable[[Commit], Reply],
    answered: Callable[[Commit], Any],
    answer: Callable[[int, ErrorCode], Any],
    *,
    by_id: bool = False,
) -> Reply:
    """Submit a commit to a shard. A partition that the image does not have gets an error of its own, by ``answer``.

    A commit without any other partition gets the response ``answered``, as in Apache's ``KafkaApis``. A shard would
    create its group, and may not exist yet.

    ``by_id``: a topic without a name is one whose id the image does not have.

    Raises KafkaError as ``submit``.
    """
    known, unknown = await _divided(broker, message.topics)
    committed = message.evolve(topics=known)
    reply = submit(committed) if any(topic.partitions for topic in known) else answered(committed)
    if not any(unknown):
        return reply

    async def with_unknown() -> Any:
        response: Any = await response_of(reply)
        topics = []
        slices = Slices(_SLICE_PARTITIONS)
        for topic, missing in zip(response.topics, unknown, strict=True):
            is_unknown_id = by_id and not topic.name
            code = ErrorCode.UNKNOWN_TOPIC_ID if is_unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            for index in missing:
                topic.partitions.append(answer(index, code))
                await slices.spend()
            topics.append(topic)
            await slices.spend()
        response.topics = topics
        return response

    return Parked(with_unknown)


async def _divided(broker: BrokerContext, topics: Sequence[Any]) -> tuple[list[Any], list[list[int]]]:
    """Return each topic with the partitions that exist, and the numbers of the others.

    It takes several slices. A topic that is deleted meanwhile does not exist: its offsets would outlive it.
    """
    slices = Slices(_SLICE_PARTITIONS)
    topic_ids = broker.replicas.image.topic_ids
    known, unknown = [], []
    for topic in topics:
        count = broker.replicas.partition_count(topic.name)
        existing, missing = [], []
        for each in topic.partitions:
            if 0 <= each.partition_index < count:
                existing.append(each)
            else:
                missing.append(each.partition_index)
            await slices.spend()
        known.append(topic.evolve(partitions=existing))
        unknown.append(missing)
        await slices.spend()
    if broker.replicas.image.topic_ids is not topic_ids:
        for topic, missing in zip(known, unknown, strict=True):
            if not broker.replicas.partition_count(topic.name):
                missing += [each.partition_index for each in topic.partitions]
                topic.partitions = []
    return known, unknown
