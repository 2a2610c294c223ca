"""Generated from spec/DeleteTopicsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["DeleteTopicState", "DeleteTopicsRequest"]


class DeleteTopicState(Message):
    """The topics to delete, by name or by id. (6+)

    Attributes:
        name (6+): Name of the topic, or null when given by id.
        topic_id (6+): Id of the topic; zero when given by name.
    """

    __slots__ = ("name", "topic_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(6, OPEN), nullable=(6, OPEN), default=None),
        Field("topic_id", "uuid", versions=(6, OPEN)),
    )

    def __init__(
        self,
        name: str | None = None,
        topic_id: UUID = ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id


class DeleteTopicsRequest(Message):
    """DeleteTopicsRequest (request of API 20): versions 0-6, flexible from 4.

    v6 replaces the list of names by topics, named or by id.

    Attributes:
        topics (6+): The topics to delete, by name or by id.
        topic_names (0-5): Names of the topics to delete.
        timeout_ms: How long the server may wait for completion, in milliseconds.
    """

    API_KEY: ClassVar[int] = 20
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("topics", "topic_names", "timeout_ms")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topics", "[]struct", DeleteTopicState, versions=(6, OPEN)),
        Field("topic_names", "[]string", versions=(0, 5), ignorable=True),
        Field("timeout_ms", "int32"),
    )

    def __init__(
        self,
        topics: list[DeleteTopicState] = NEW,
        topic_names: list[str] = NEW,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.topic_names = [] if topic_names is NEW else topic_names
        self.timeout_ms = timeout_ms
