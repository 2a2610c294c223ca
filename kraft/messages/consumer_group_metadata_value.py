"""Generated from spec/ConsumerGroupMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerGroupMetadataValue"]


class ConsumerGroupMetadataValue(Message):
    """ConsumerGroupMetadataValue (data): versions 0, flexible from 0.

    Attributes:
        epoch: Group epoch.
        metadata_hash: Hash of the metadata of all subscribed topics, 0 if it was never computed.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("epoch", "metadata_hash")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("epoch", "int32"),
        Field("metadata_hash", "int64", tag=0, tagged=(0, OPEN)),
    )

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
