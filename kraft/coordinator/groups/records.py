"""The records of ``__consumer_offsets`` in Apache Kafka's bytes: an int16 version, then the message.

Key versions 0 and 1 are an offset commit, 2 is the metadata of a classic group. :mod:`.consumer.records` and
:mod:`.share.records` have the others. Values have the versions of Kafka 4.3: an offset commit has version 4, with the
topic's id, or 1 if it has an expiry of its own. It has version 3, as in Kafka 3.9, if the id is unknown. Group metadata
has version 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from uuid import UUID

import attrs

from kraft.coordinator.framing import VERSION, framed, known_version, unframed, version_of
from kraft.coordinator.groups.consumer.records import ConsumerGroupRecord, decode_consumer_record
from kraft.coordinator.groups.group import NO_TIMESTAMP, Group, GroupMember, GroupState
from kraft.coordinator.groups.share.records import ShareGroupRecord, decode_share_group_record
from kraft.coordinator.groups.subscription import subscribed_topics
from kraft.messages.group_metadata_key import GroupMetadataKey
from kraft.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from kraft.messages.offset_commit_key import OffsetCommitKey
from kraft.messages.offset_commit_value import OffsetCommitValue
from kraft.metadata.steps import Steps
from kraft.records.batch import NO_PRODUCER_ID
from kraft.records.control import EndTransactionMarker
from kraft.wire.codec import decode, decode_in_steps, encode_in_steps
from kraft.wire.uuids import ZERO_UUID

OFFSET_KEY_VERSION = 1
GROUP_KEY_VERSION = 2
OFFSET_VALUE_VERSION = 4
OFFSET_VALUE_VERSION_WITHOUT_ID = 3
OFFSET_VALUE_VERSION_WITH_EXPIRY = 1
GROUP_VALUE_VERSION = 3
_ENCODING_COST = 100
"""The cost of a step of :func:`encode_in_steps`."""


@attrs.frozen
class CommittedOffset:
    """One committed offset. Times are wall-clock milliseconds. The expiry is -1 unless the client set one.

    A topic of the same name that is created later has another ``topic_id``. It is zero if unknown.
    """

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_TIMESTAMP
    topic_id: UUID = ZERO_UUID


@attrs.frozen(eq=False)
class OffsetRecord:
    """An offset commit. It is a tombstone if ``committed`` is None. ``producer_id`` is that of its transaction."""

    group_id: str
    topic: str
    partition: int
    committed: CommittedOffset | None
    producer_id: int = NO_PRODUCER_ID

    @property
    def key(self) -> bytes:
        return offset_key(self.group_id, self.topic, self.partition)

    @property
    def value(self) -> bytes | None:
        return None if self.committed is None else offset_value(self.committed)


@attrs.frozen(eq=False)
class GroupRecord:
    """A group's metadata, encoded when the record is made because the group changes afterwards. None is a tombstone."""

    group_id: str
    value: bytes | None

    @property
    def key(self) -> bytes:
        return group_key(self.group_id)


@attrs.frozen(eq=False)
class TransactionEnd:
    """The marker that ends a producer's transaction in this partition."""

    producer_id: int
    marker: EndTransactionMarker

    @property
    def key(self) -> bytes:
        return self.marker.key

    @property
    def value(self) -> bytes:
        return self.marker.value


CoordinatorRecord = OffsetRecord | GroupRecord | TransactionEnd | ConsumerGroupRecord | ShareGroupRecord
"""One record of ``__consumer_offsets``. Compared by identity, because equal records have different offsets in the log.
"""


def offset_key(group_id: str, topic: str, partition: int) -> bytes:
    return framed(OffsetCommitKey(group=group_id, topic=topic, partition=partition), OFFSET_KEY_VERSION)


def offset_value(committed: CommittedOffset) -> bytes:
    expires = committed.expire_timestamp_ms != NO_TIMESTAMP
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=-1 if expires else committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
        expire_timestamp=committed.expire_timestamp_ms,
        topic_id=committed.topic_id,
    )
    if expires:
        return framed(value, OFFSET_VALUE_VERSION_WITH_EXPIRY)
    has_id = committed.topic_id != ZERO_UUID
    return framed(value, OFFSET_VALUE_VERSION if has_id else OFFSET_VALUE_VERSION_WITHOUT_ID)


def group_key(group_id: str) -> bytes:
    return framed(GroupMetadataKey(group=group_id), GROUP_KEY_VERSION)


def group_value(group: Group, assignments: Mapping[str, bytes] | None = None) -> Steps[bytes]:
    """Return the group's current generation: its members with their subscriptions and assignments.

    ``assignments``, by member id, replace the members' own.
    """
    members = []
    for member in group.members.values():
        members.append(
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=round(member.rebalance_timeout_s * 1000),
                session_timeout=round(member.session_timeout_s * 1000),
                subscription=member.metadata(group.protocol_name),
                assignment=member.assignment if assignments is None else assignments.get(member.member_id, b""),
            )
        )
        yield 1
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader,
        current_state_timestamp=group.state_since_ms,
        members=members,
    )
    out = bytearray(VERSION.pack(GROUP_VALUE_VERSION))
    for _ in encode_in_steps(value, GROUP_VALUE_VERSION, out, []):
        yield _ENCODING_COST
    return bytes(out)


def decode_key(key: bytes) -> OffsetCommitKey | GroupMetadataKey | None:
    """Return the key of a record, or None for an unknown kind that a newer Kafka wrote. Such records are skipped.

    Raises DecodeError if the key is shorter than its version, or damaged.
    """
    version = version_of(key)
    if version in (0, OFFSET_KEY_VERSION):
        return decode(OffsetCommitKey, version, key, VERSION.size)[0]
    if version == GROUP_KEY_VERSION:
        return decode(GroupMetadataKey, version, key, VERSION.size)[0]
    return None


def decode_record(
    key: bytes | None, value: bytes | None, producer_id: int = NO_PRODUCER_ID
) -> OffsetRecord | GroupRecord | ConsumerGroupRecord | ShareGroupRecord | None:
    """Return one record of the log, or None if its kind is unknown. ``producer_id`` is that of its transaction.

    Raises DecodeError if the record is damaged.
    """
    if key is None:
        return None
    decoded = decode_key(key)
    if isinstance(decoded, GroupMetadataKey):
        return GroupRecord(decoded.group, value)
    if decoded is None:
        return decode_consumer_record(key, value) or decode_share_group_record(key, value)
    committed = None if value is None else decode_offset(value)
    return OffsetRecord(decoded.group, decoded.topic, decoded.partition, committed, producer_id)


def decode_offset(value: bytes) -> CommittedOffset:
    """Raises DecodeError if the value is damaged or has an unknown version."""
    message = unframed(OffsetCommitValue, value)
    return CommittedOffset(
        offset=message.offset,
        leader_epoch=message.leader_epoch,
        metadata=message.metadata,
        commit_timestamp_ms=message.commit_timestamp,
        expire_timestamp_ms=message.expire_timestamp,
        topic_id=_shared(message.topic_id),
    )


@lru_cache(maxsize=1000)
def _shared(topic_id: UUID) -> UUID:
    """Return one object for equal ids: a topic may have a hundred thousand offsets."""
    return topic_id


def decode_group(group_id: str, value: bytes) -> Steps[Group]:
    """Return the group as stored. The sessions of its members do not run yet.

    Raises DecodeError if the value is damaged or has an unknown version.
    """
    with known_version():
        message, _, _ = yield from decode_in_steps(
            GroupMetadataValue, version_of(value), value, VERSION.size, max_elements=len(value)
        )
    group = Group(
        group_id,
        state=GroupState.STABLE if message.members else GroupState.EMPTY,
        state_since_ms=message.current_state_timestamp,
        generation=message.generation,
        protocol_type=message.protocol_type or None,
        protocol_name=message.protocol,
    )
    for stored in message.members:
        rebalance_ms = stored.rebalance_timeout
        member = GroupMember(
            member_id=stored.member_id,
            group_instance_id=stored.group_instance_id,
            client_id=stored.client_id,
            client_host=stored.client_host,
            rebalance_timeout_s=(rebalance_ms if rebalance_ms >= 0 else stored.session_timeout) / 1000,
            session_timeout_s=stored.session_timeout / 1000,
            protocol_type=message.protocol_type,
            protocols=((message.protocol or "", bytes(stored.subscription)),),
            assignment=bytes(stored.assignment),
        )
        group.add(member)
        yield 1
    if message.leader in group.members:
        group.leader = message.leader
    group.topics = yield from subscribed_topics(group)
    return group
