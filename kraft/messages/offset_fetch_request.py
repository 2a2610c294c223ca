"""Generated from spec/OffsetFetchRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["OffsetFetchRequest", "OffsetFetchRequestGroup", "OffsetFetchRequestTopic", "OffsetFetchRequestTopics"]


class OffsetFetchRequestTopic(Message):
    """Topics asked about, null for all. (0-7)

    Attributes:
        name (0-7): Topic name.
        partition_indexes (0-7): Partition numbers.
    """

    __slots__ = ("name", "partition_indexes")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(0, 7)),
        Field("partition_indexes", "[]int32", versions=(0, 7)),
    )

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = NEW,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is NEW else partition_indexes


class OffsetFetchRequestTopics(Message):
    """Topics asked about, null for all. (8+)

    Attributes:
        name (8-9): Topic name.
        topic_id (10+): Topic id.
        partition_indexes (8+): Partition numbers.
    """

    __slots__ = ("name", "topic_id", "partition_indexes")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(8, 9), ignorable=True),
        Field("topic_id", "uuid", versions=(10, OPEN), ignorable=True),
        Field("partition_indexes", "[]int32", versions=(8, OPEN)),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partition_indexes: list[int] = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = [] if partition_indexes is NEW else partition_indexes


class OffsetFetchRequestGroup(Message):
    """Groups asked about. (8+)

    Attributes:
        group_id (8+): Group id.
        member_id (9+): KIP-848 member that asks, null for anyone else.
        member_epoch (9+): Epoch of that member, -1 for anyone else.
        topics (8+): Topics asked about, null for all.
    """

    __slots__ = ("group_id", "member_id", "member_epoch", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", versions=(8, OPEN)),
        Field("member_id", "string", versions=(9, OPEN), nullable=(9, OPEN), default=None, ignorable=True),
        Field("member_epoch", "int32", versions=(9, OPEN), default=-1, ignorable=True),
        Field("topics", "[]struct", OffsetFetchRequestTopics, versions=(8, OPEN), nullable=(8, OPEN)),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: list[OffsetFetchRequestTopics] | None = NEW,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = [] if topics is NEW else topics


class OffsetFetchRequest(Message):
    """OffsetFetchRequest (request of API 9): versions 0-10, flexible from 6.

    v1 reads the offsets topic (v0 read ZooKeeper), v2 allows "all topics", v7 can wait out open transactions, v8 asks
    for several groups at once (KIP-709), v9 adds KIP-848 members, v10 topic ids.

    Attributes:
        group_id (0-7): Group asked about.
        topics (0-7): Topics asked about, null for all.
        groups (8+): Groups asked about.
        require_stable (7+): Refuse offsets that an open transaction may still change.
    """

    API_KEY: ClassVar[int] = 9
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 10)
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = ("group_id", "topics", "groups", "require_stable")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", versions=(0, 7)),
        Field("topics", "[]struct", OffsetFetchRequestTopic, versions=(0, 7), nullable=(2, 7)),
        Field("groups", "[]struct", OffsetFetchRequestGroup, versions=(8, OPEN)),
        Field("require_stable", "bool", versions=(7, OPEN)),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None = NEW,
        groups: list[OffsetFetchRequestGroup] = NEW,
        require_stable: bool = False,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics
        self.groups = [] if groups is NEW else groups
        self.require_stable = require_stable
