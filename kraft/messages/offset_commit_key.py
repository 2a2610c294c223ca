"""Generated from spec/OffsetCommitKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["OffsetCommitKey"]


class OffsetCommitKey(Message):
    """OffsetCommitKey (data): versions 0-1.

    v0 and v1 have one layout; v1 is written.

    Attributes:
        group: Group id.
        topic: Topic name.
        partition: Partition number.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)

    __slots__ = ("group", "topic", "partition")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group", "string"),
        Field("topic", "string"),
        Field("partition", "int32"),
    )

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition
