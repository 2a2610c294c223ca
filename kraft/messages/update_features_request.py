"""Generated from spec/UpdateFeaturesRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["FeatureUpdateKey", "UpdateFeaturesRequest"]


class FeatureUpdateKey(Message):
    """The changes to finalized features. (0+)

    Attributes:
        feature: Name of the feature.
        max_version_level: Level to finalize; below 1 removes the feature.
        allow_downgrade (0): Let the level go down.
        upgrade_type (1+): 1 upgrade, 2 downgrade without loss, 3 downgrade even with loss.
    """

    __slots__ = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("feature", "string"),
        Field("max_version_level", "int16"),
        Field("allow_downgrade", "bool", versions=(0, 0)),
        Field("upgrade_type", "int8", versions=(1, OPEN), default=1),
    )

    def __init__(
        self,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
    ) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade
        self.upgrade_type = upgrade_type


class UpdateFeaturesRequest(Message):
    """UpdateFeaturesRequest (request of API 57): versions 0-2, flexible from 0.

    Attributes:
        timeout_ms: How long the server may wait for completion, in milliseconds.
        feature_updates: The changes to finalized features.
        validate_only (1+): Check the request but change nothing.
    """

    API_KEY: ClassVar[int] = 57
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("timeout_ms", "feature_updates", "validate_only")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("timeout_ms", "int32", default=60000),
        Field("feature_updates", "[]struct", FeatureUpdateKey),
        Field("validate_only", "bool", versions=(1, OPEN)),
    )

    def __init__(
        self,
        timeout_ms: int = 60000,
        feature_updates: list[FeatureUpdateKey] = NEW,
        validate_only: bool = False,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates = [] if feature_updates is NEW else feature_updates
        self.validate_only = validate_only
