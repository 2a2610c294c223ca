"""Generated from spec/ConsumerGroupRegularExpressionKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerGroupRegularExpressionKey"]


class ConsumerGroupRegularExpressionKey(Message):
    """ConsumerGroupRegularExpressionKey (data): versions 16.

    Attributes:
        group_id (16+): Group id.
        regular_expression (16+): Regular expression to which members subscribe.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (16, 16)

    __slots__ = ("group_id", "regular_expression")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", versions=(16, OPEN)),
        Field("regular_expression", "string", versions=(16, OPEN)),
    )

    def __init__(
        self,
        group_id: str = "",
        regular_expression: str = "",
    ) -> None:
        self.group_id = group_id
        self.regular_expression = regular_expression
