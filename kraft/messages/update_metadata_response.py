"""Generated from spec/UpdateMetadataResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["UpdateMetadataResponse"]


class UpdateMetadataResponse(Message):
    """UpdateMetadataResponse (response of API 6): versions 0-8, flexible from 6.

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
    """

    API_KEY: ClassVar[int] = 6
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 8)
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = ("error_code",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("error_code", "int16"),)

    def __init__(
        self,
        error_code: int = 0,
    ) -> None:
        self.error_code = error_code
