"""Generated from spec/MetadataRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["MetadataRequest", "MetadataRequestTopic"]


class MetadataRequestTopic(Message):
    """Topics asked for; null is all of them (in v0 an empty list is all). (0+)

    Attributes:
        topic_id (10+): Id of the topic; zero when asking by name.
        name: Name of the topic, or null when asking by id.
    """

    __slots__ = ("topic_id", "name")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid", versions=(10, OPEN), ignorable=True),
        Field("name", "string", nullable=(10, OPEN)),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        name: str | None = "",
    ) -> None:
        self.topic_id = topic_id
        self.name = name


class MetadataRequest(Message):
    """MetadataRequest (request of API 3): versions 0-13, flexible from 9.

    v1: null asks for all topics. v4: auto-creation is a choice. v10: topics by id, usable from v12. v11 drops the
    cluster operations, which DescribeCluster reports.

    Attributes:
        topics: Topics asked for; null is all of them (in v0 an empty list is all).
        allow_auto_topic_creation (4+): Let the broker create missing topics, if its settings allow that.
        include_cluster_authorized_operations (8-10): Report what the caller may do with the cluster.
        include_topic_authorized_operations (8+): Report what the caller may do with each topic.
    """

    API_KEY: ClassVar[int] = 3
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 13)
    FLEXIBLE_FROM: ClassVar[int] = 9

    __slots__ = (
        "topics",
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topics", "[]struct", MetadataRequestTopic, nullable=(1, OPEN)),
        Field("allow_auto_topic_creation", "bool", versions=(4, OPEN), default=True),
        Field("include_cluster_authorized_operations", "bool", versions=(8, 10)),
        Field("include_topic_authorized_operations", "bool", versions=(8, OPEN)),
    )

    def __init__(
        self,
        topics: list[MetadataRequestTopic] | None = NEW,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations
