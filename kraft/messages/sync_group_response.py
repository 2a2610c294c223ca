"""Generated from spec/SyncGroupResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["SyncGroupResponse"]


class SyncGroupResponse(Message):
    """SyncGroupResponse (response of API 14): versions 0-5, flexible from 4.

    Attributes:
        throttle_time_ms (1+): Time the client was held back by a quota, in milliseconds.
        error_code: Error, 0 if the assignment is valid.
        protocol_type (5+): Family of protocols of the group.
        protocol_name (5+): Protocol of this generation.
        assignment: Share of the member that asked.
    """

    API_KEY: ClassVar[int] = 14
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(1, OPEN), ignorable=True),
        Field("error_code", "int16"),
        Field("protocol_type", "string", versions=(5, OPEN), nullable=(5, OPEN), default=None, ignorable=True),
        Field("protocol_name", "string", versions=(5, OPEN), nullable=(5, OPEN), default=None, ignorable=True),
        Field("assignment", "bytes"),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment
