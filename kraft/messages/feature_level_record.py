"""Generated from spec/FeatureLevelRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["FeatureLevelRecord"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class FeatureLevelRecord(Message):
    """FeatureLevelRecord (metadata record, type 12): versions 0, flexible from 0.

    Attributes:
        name: Name of the feature.
        feature_level: Level now in force; 0 removes the feature.
    """

    API_KEY: ClassVar[int] = 12
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    name: str = ""
    feature_level: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("feature_level", "int16"),
    )
