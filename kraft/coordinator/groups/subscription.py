"""The topics to which the consumers of a group subscribe. The coordinator reads nothing else of their metadata."""

from __future__ import annotations

from kraft.coordinator.groups.group import CONSUMER_PROTOCOL, Group
from kraft.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kraft.metadata.steps import Steps
from kraft.wire.codec import decode
from kraft.wire.decode_error import DecodeError

_VERSION_SIZE = 2


def subscribed_topics(group: Group) -> Steps[frozenset[str] | None]:
    """Return the topics of all members. None if the protocol type is not "consumer" or a subscription is unreadable."""
    if group.protocol_type != CONSUMER_PROTOCOL:
        return None
    topics: set[str] = set()
    for member in group.members.values():
        metadata = member.metadata(group.protocol_name)
        try:
            # Every version begins with the fields of version 0.
            topics.update(decode(ConsumerProtocolSubscription, 0, metadata, _VERSION_SIZE)[0].topics)
        except DecodeError:
            return None
        yield 1
    return frozenset(topics)
