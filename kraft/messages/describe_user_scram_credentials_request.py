"""Generated from spec/DescribeUserScramCredentialsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["DescribeUserScramCredentialsRequest", "UserName"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class UserName(Message):
    """Users of interest; null or empty for all. (0+)

    Attributes:
        name: Name of the user.
    """

    name: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("name", "string"),)


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeUserScramCredentialsRequest(Message):
    """DescribeUserScramCredentialsRequest (request of API 50): versions 0, flexible from 0.

    Attributes:
        users: Users of interest; null or empty for all.
    """

    API_KEY: ClassVar[int] = 50
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    users: list[UserName] | None = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("users", "[]struct", UserName, nullable=(0, OPEN)),)
