"""Generated from spec/SaslHandshakeResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["SaslHandshakeResponse"]


class SaslHandshakeResponse(Message):
    """SaslHandshakeResponse (response of API 17): versions 0-1.

    Attributes:
        error_code: Error, 0 if the mechanism is enabled.
        mechanisms: Mechanisms enabled on this listener.
    """

    API_KEY: ClassVar[int] = 17
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)

    __slots__ = ("error_code", "mechanisms")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("mechanisms", "[]string"),
    )

    def __init__(
        self,
        error_code: int = 0,
        mechanisms: list[str] = NEW,
    ) -> None:
        self.error_code = error_code
        self.mechanisms = [] if mechanisms is NEW else mechanisms
