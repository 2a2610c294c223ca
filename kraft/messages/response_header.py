"""Generated from spec/ResponseHeader.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["ResponseHeader"]


class ResponseHeader(Message):
    """ResponseHeader (header): versions 0-1, flexible from 1.

    Attributes:
        correlation_id: Number from the request that is answered.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("correlation_id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("correlation_id", "int32"),)

    def __init__(
        self,
        correlation_id: int = 0,
    ) -> None:
        self.correlation_id = correlation_id
