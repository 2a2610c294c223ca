"""Generated from spec/ShareAcknowledgeRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["AcknowledgePartition", "AcknowledgeTopic", "AcknowledgementBatch", "ShareAcknowledgeRequest"]


class AcknowledgementBatch(Message):
    """Acknowledgements of acquired records. (0+)

    Attributes:
        first_offset: First offset of the batch.
        last_offset: Last offset of the batch.
        acknowledge_types: One type for the batch or one for each offset: 0 gap, 1 accept, 2 release, 3 reject, 4 renew.
    """

    __slots__ = ("first_offset", "last_offset", "acknowledge_types")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("first_offset", "int64"),
        Field("last_offset", "int64"),
        Field("acknowledge_types", "[]int8"),
    )

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        acknowledge_types: list[int] = NEW,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.acknowledge_types = [] if acknowledge_types is NEW else acknowledge_types


class AcknowledgePartition(Message):
    """Partitions of the topic. (0+)

    Attributes:
        partition_index: Partition number.
        acknowledgement_batches: Acknowledgements of acquired records.
    """

    __slots__ = ("partition_index", "acknowledgement_batches")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("acknowledgement_batches", "[]struct", AcknowledgementBatch),
    )

    def __init__(
        self,
        partition_index: int = 0,
        acknowledgement_batches: list[AcknowledgementBatch] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches = [] if acknowledgement_batches is NEW else acknowledgement_batches


class AcknowledgeTopic(Message):
    """Topics of the share partitions. (0+)

    Attributes:
        topic_id: Id of the topic.
        partitions: Partitions of the topic.
    """

    __slots__ = ("topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]struct", AcknowledgePartition),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        partitions: list[AcknowledgePartition] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class ShareAcknowledgeRequest(Message):
    """ShareAcknowledgeRequest (request of API 79): versions 1-2, flexible from 0.

    v2 adds renewals (KIP-1222).

    Attributes:
        group_id: Share group.
        member_id: Member of the group, as a UUID.
        share_session_epoch: 0 opens a session, -1 closes it; otherwise the number of the request in the session.
        is_renew_ack (2+): Whether an acknowledgement renews locks, so that nothing is fetched (KIP-1222).
        topics: Topics of the share partitions.
    """

    API_KEY: ClassVar[int] = 79
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "member_id", "share_session_epoch", "is_renew_ack", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", nullable=(0, OPEN), default=None),
        Field("member_id", "string", nullable=(0, OPEN)),
        Field("share_session_epoch", "int32"),
        Field("is_renew_ack", "bool", versions=(2, OPEN)),
        Field("topics", "[]struct", AcknowledgeTopic),
    )

    def __init__(
        self,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        is_renew_ack: bool = False,
        topics: list[AcknowledgeTopic] = NEW,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.is_renew_ack = is_renew_ack
        self.topics = [] if topics is NEW else topics
