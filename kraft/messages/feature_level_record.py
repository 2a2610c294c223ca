"""Generated from spec/FeatureLevelRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["FeatureLevelRecord"]


class FeatureLevelRecord(Message):
    """FeatureLevelRecord (metadata record, type 12): versions 0, flexible from 0.

    Attributes:
        name: Name of the feature.
        feature_level: Level now in force; 0 removes the feature.
    """

    API_KEY: ClassVar[int] = 12
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("name", "feature_level")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("feature_level", "int16"),
    )

    def __init__(
        self,
        name: str = "",
        feature_level: int = 0,
    ) -> None:
        self.name = name
        self.feature_level = feature_level
