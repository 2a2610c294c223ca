"""Generated from spec/DescribeUserScramCredentialsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["DescribeUserScramCredentialsRequest", "UserName"]


class UserName(Message):
    """Users of interest; null or empty for all. (0+)

    Attributes:
        name: Name of the user.
    """

    __slots__ = ("name",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("name", "string"),)

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


class DescribeUserScramCredentialsRequest(Message):
    """DescribeUserScramCredentialsRequest (request of API 50): versions 0, flexible from 0.

    Attributes:
        users: Users of interest; null or empty for all.
    """

    API_KEY: ClassVar[int] = 50
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("users",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("users", "[]struct", UserName, nullable=(0, OPEN)),)

    def __init__(
        self,
        users: list[UserName] | None = NEW,
    ) -> None:
        self.users = [] if users is NEW else users
