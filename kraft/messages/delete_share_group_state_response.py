"""Generated from spec/DeleteShareGroupStateResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["DeleteShareGroupStateResponse", "DeleteStateResult", "PartitionResult"]


class PartitionResult(Message):
    """Partitions of the topic. (0+)

    Attributes:
        partition: Partition number.
        error_code: Error, or 0.
        error_message: Text of the error, or null.
    """

    __slots__ = ("partition", "error_code", "error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message


class DeleteStateResult(Message):
    """Results by topic. (0+)

    Attributes:
        topic_id: Id of the topic.
        partitions: Partitions of the topic.
    """

    __slots__ = ("topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]struct", PartitionResult),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        partitions: list[PartitionResult] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class DeleteShareGroupStateResponse(Message):
    """DeleteShareGroupStateResponse (response of API 86): versions 0, flexible from 0.

    Attributes:
        results: Results by topic.
    """

    API_KEY: ClassVar[int] = 86
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("results",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("results", "[]struct", DeleteStateResult),)

    def __init__(
        self,
        results: list[DeleteStateResult] = NEW,
    ) -> None:
        self.results = [] if results is NEW else results
