"""The checks of OffsetCommit and OffsetFetch: a member uses its member epoch.

Source: ``ConsumerGroup.validateOffsetCommit`` and ``validateOffsetFetch``. A commit with an older epoch is accepted for
partitions that the member has held since (KIP-1251): a heartbeat may have raised the epoch while the commit was sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from kraft.coordinator.groups.consumer.group import ConsumerGroup, ConsumerMember
from kraft.coordinator.groups.consumer.membership import known_member
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

EPOCHS_VERSION = 9
"""The first version of OffsetCommit with member epochs."""


def check_commit(
    group: ConsumerGroup,
    member_id: str,
    epoch: int,
    version: int,
    partitions: Iterable[tuple[str, int]],
    image: Image,
) -> Steps[None]:
    """Check the sender of OffsetCommit. A client that is no member may commit for an empty group.

    Raises KafkaError UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, or UNSUPPORTED_VERSION for a version without member epochs.
    """
    if epoch < 0 and not group.members:
        return
    member = known_member(group, member_id)
    if member.classic is None and version < EPOCHS_VERSION:
        text = "OffsetCommit version 9 or above must be used by members using the modern group protocol."
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, text)
    if epoch == member.member_epoch:
        return
    if member.classic is not None:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if epoch > member.member_epoch:
        raise _stale(member, epoch)
    for topic, partition in partitions:
        topic_id = image.topic_ids.get(topic)
        if topic_id is None or not _held_since(member, topic_id, partition, epoch):
            raise _stale(member, epoch)
        yield 1


def _held_since(member: ConsumerMember, topic_id: UUID, partition: int, epoch: int) -> bool:
    held = (owned.get(topic_id, {}).get(partition) for owned in (member.assigned, member.revoking))
    return any(since is not None and since <= epoch for since in held)


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> None:
    """Check the sender of OffsetFetch. A client that is no member gives neither member id nor epoch.

    Raises KafkaError UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH.
    """
    if member_id is None and epoch < 0:
        return
    member = known_member(group, member_id or "")
    if epoch != member.member_epoch:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION) if member.classic is not None else _stale(member, epoch)


def _stale(member: ConsumerMember, epoch: int) -> KafkaError:
    text = f"The received member epoch {epoch} does not match the expected member epoch {member.member_epoch}."
    return KafkaError(ErrorCode.STALE_MEMBER_EPOCH, text)
