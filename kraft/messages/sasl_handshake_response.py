"""Generated from spec/SaslHandshakeResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["SaslHandshakeResponse"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SaslHandshakeResponse(Message):
    """SaslHandshakeResponse (response of API 17): versions 0-1.

    Attributes:
        error_code: Error, 0 if the mechanism is enabled.
        mechanisms: Mechanisms enabled on this listener.
    """

    API_KEY: ClassVar[int] = 17
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)

    error_code: int = 0
    mechanisms: list[str] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("mechanisms", "[]string"),
    )
