"""Generated from spec/DefaultPrincipalData.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["DefaultPrincipalData"]


class DefaultPrincipalData(Message):
    """DefaultPrincipalData (data): versions 0, flexible from 0.

    Who sent a forwarded request, behind an int16 version.

    Attributes:
        type: Principal type, such as User.
        name: Principal name.
        token_authenticated: True if the client came with a delegation token.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("type", "name", "token_authenticated")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("type", "string"),
        Field("name", "string"),
        Field("token_authenticated", "bool"),
    )

    def __init__(
        self,
        type: str = "",
        name: str = "",
        token_authenticated: bool = False,
    ) -> None:
        self.type = type
        self.name = name
        self.token_authenticated = token_authenticated
