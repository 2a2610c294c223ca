"""Generated from spec/DeleteTopicsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["DeletableTopicResult", "DeleteTopicsResponse"]


class DeletableTopicResult(Message):
    """One outcome per topic. (0+)

    Attributes:
        name: Name of the topic; null if it is not known or may not be told.
        topic_id (6+): Id of the topic.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message (5+): Text explaining the error, or null.
    """

    __slots__ = ("name", "topic_id", "error_code", "error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", nullable=(6, OPEN)),
        Field("topic_id", "uuid", versions=(6, OPEN), ignorable=True),
        Field("error_code", "int16"),
        Field("error_message", "string", versions=(5, OPEN), nullable=(5, OPEN), default=None, ignorable=True),
    )

    def __init__(
        self,
        name: str | None = "",
        topic_id: UUID = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message


class DeleteTopicsResponse(Message):
    """DeleteTopicsResponse (response of API 20): versions 0-6, flexible from 4.

    Attributes:
        throttle_time_ms (1+): How long a quota held this request back, in milliseconds; 0 for not at all.
        responses: One outcome per topic.
    """

    API_KEY: ClassVar[int] = 20
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "responses")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(1, OPEN), ignorable=True),
        Field("responses", "[]struct", DeletableTopicResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[DeletableTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is NEW else responses
