"""Generated from spec/ShareGroupMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["ShareGroupMetadataValue"]


class ShareGroupMetadataValue(Message):
    """ShareGroupMetadataValue (data): versions 0, flexible from 0.

    Attributes:
        epoch: Group epoch.
        metadata_hash: Hash of the subscribed topics.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("epoch", "metadata_hash")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("epoch", "int32"),
        Field("metadata_hash", "int64"),
    )

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
