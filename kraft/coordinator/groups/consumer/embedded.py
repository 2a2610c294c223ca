"""The embedded protocol of classic consumers: subscriptions and assignments in JoinGroup and SyncGroup (KIP-62)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from kraft.coordinator.framing import VERSION, version_of
from kraft.messages.consumer_group_heartbeat_request import OwnedTopicPartitions
from kraft.messages.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from kraft.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.wire.codec import decode, decode_in_steps, encode
from kraft.wire.decode_error import DecodeError

_NEWEST = 3


class CustomAssignor(Exception):
    """An assignment has data of its assignor's own. A consumer group has no place for it."""


def _known(data: bytes) -> int:
    """Return the version to read. Each version begins with the fields of those before it."""
    version = version_of(data)
    if version < 0:
        raise DecodeError(f"the embedded protocol has no version {version}")
    return min(version, _NEWEST)


def decode_subscription(data: bytes) -> Steps[ConsumerProtocolSubscription]:
    """Raises DecodeError."""
    version = _known(data)
    steps = decode_in_steps(ConsumerProtocolSubscription, version, data, VERSION.size, max_elements=len(data))
    message, _, _ = yield from steps
    return message


def owned_by_id(subscription: ConsumerProtocolSubscription, image: Image) -> list[OwnedTopicPartitions]:
    """Return the partitions that a member holds by its own account, of the topics that exist."""
    return [
        OwnedTopicPartitions(image.topic_ids[each.topic], each.partitions)
        for each in subscription.owned_partitions
        if each.topic in image.topic_ids
    ]


def decode_assignment(data: bytes, image: Image) -> dict[UUID, frozenset[int]]:
    """Return the partitions of the topics that exist. Empty bytes are no assignment.

    Raises:
        DecodeError: the assignment is unreadable.
        CustomAssignor: it has more than partitions.
    """
    if not data:
        return {}
    message = decode(ConsumerProtocolAssignment, _known(data), data, VERSION.size)[0]
    if message.user_data:
        raise CustomAssignor
    return {
        image.topic_ids[each.topic]: frozenset(each.partitions)
        for each in message.assigned_partitions
        if each.topic in image.topic_ids
    }


def encode_assignment(partitions: Mapping[UUID, Iterable[int]], subscription: bytes, image: Image) -> bytes:
    """Return an assignment in the version of the member's subscription. Raises DecodeError if that is damaged."""
    version = _known(subscription)
    topics = sorted(
        (image.topics[topic_id].name, sorted(numbers))
        for topic_id, numbers in partitions.items()
        if topic_id in image.topics
    )
    message = ConsumerProtocolAssignment([TopicPartition(name, numbers) for name, numbers in topics])
    return VERSION.pack(version) + encode(message, version)
