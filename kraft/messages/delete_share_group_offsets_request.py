"""Generated from spec/DeleteShareGroupOffsetsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["DeleteShareGroupOffsetsRequest", "DeleteShareGroupOffsetsRequestTopic"]


class DeleteShareGroupOffsetsRequestTopic(Message):
    """Topics whose state is deleted. (0+)

    Attributes:
        topic_name: Topic name.
    """

    __slots__ = ("topic_name",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topic_name", "string"),)

    def __init__(
        self,
        topic_name: str = "",
    ) -> None:
        self.topic_name = topic_name


class DeleteShareGroupOffsetsRequest(Message):
    """DeleteShareGroupOffsetsRequest (request of API 92): versions 0, flexible from 0.

    Attributes:
        group_id: Group id.
        topics: Topics whose state is deleted.
    """

    API_KEY: ClassVar[int] = 92
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", DeleteShareGroupOffsetsRequestTopic),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[DeleteShareGroupOffsetsRequestTopic] = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics
