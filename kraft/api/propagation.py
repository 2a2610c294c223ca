"""The wait of a broker with ZooKeeper until its metadata shows a change of the controller (Kafka's topic purgatory).

The controller's response comes once ZooKeeper has the change, and the brokers learn it afterwards. A client that read
the metadata at once would not find its new topic, or would still find the deleted one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import trio

from kraft.api.context import ZkBrokerContext
from kraft.metadata.image import Image
from kraft.metadata.partitions import NO_LEADER
from kraft.wire.errors import ErrorCode, KafkaError

T = TypeVar("T")

MAX_ENTRIES = 10_000
"""As many as the controller of a quorum decides on in one request. Apache Kafka has no limit with ZooKeeper."""


def check_size(entries: int) -> None:
    """Raise KafkaError POLICY_VIOLATION if a request has more topics or partitions than the controller decides on."""
    if entries > MAX_ENTRIES:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"A request has at most {MAX_ENTRIES} topics or partitions.")


async def not_shown(
    broker: ZkBrokerContext, changes: Iterable[T], timeout_ms: int, is_shown: Callable[[Image, T], bool]
) -> set[T]:
    """Wait for all changes, but no longer than the client does, and return those that the metadata does not show.

    A client that does not wait gets all of them, as from Kafka.
    """
    waiting = set(changes)

    def all_are_shown(image: Image) -> bool:
        waiting.difference_update([each for each in waiting if is_shown(image, each)])
        return not waiting

    if waiting and timeout_ms > 0:
        with trio.move_on_after(timeout_ms / 1000):
            await broker.commands.until(all_are_shown)
    return waiting


def has_leaders(image: Image, name: str, count: int) -> bool:
    """Whether the topic has its first ``count`` partitions, each with a leader."""
    topic = image.topic(name)
    if topic is None or len(topic.partitions) < count:
        return False
    return all(index in topic.partitions and topic.partitions[index].leader != NO_LEADER for index in range(count))
