"""Generated from spec/ApiVersionsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ApiVersion", "ApiVersionsResponse", "FinalizedFeatureKey", "SupportedFeatureKey"]


class ApiVersion(Message):
    """The APIs served on this listener. (0+)

    Attributes:
        api_key: Key of the API.
        min_version: Lowest version served.
        max_version: Highest version served.
    """

    __slots__ = ("api_key", "min_version", "max_version")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("api_key", "int16"),
        Field("min_version", "int16"),
        Field("max_version", "int16"),
    )

    def __init__(
        self,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version


class SupportedFeatureKey(Message):
    """Features this server can run. (3+)

    Attributes:
        name (3+): Name of the feature.
        min_version (3+): Lowest level supported.
        max_version (3+): Highest level supported.
    """

    __slots__ = ("name", "min_version", "max_version")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(3, OPEN)),
        Field("min_version", "int16", versions=(3, OPEN)),
        Field("max_version", "int16", versions=(3, OPEN)),
    )

    def __init__(
        self,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version


class FinalizedFeatureKey(Message):
    """Features in force in the whole cluster; valid only with an epoch of 0 or more. (3+)

    Attributes:
        name (3+): Name of the feature.
        max_version_level (3+): Highest level in force.
        min_version_level (3+): Lowest level in force.
    """

    __slots__ = ("name", "max_version_level", "min_version_level")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(3, OPEN)),
        Field("max_version_level", "int16", versions=(3, OPEN)),
        Field("min_version_level", "int16", versions=(3, OPEN)),
    )

    def __init__(
        self,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
    ) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level


class ApiVersionsResponse(Message):
    """ApiVersionsResponse (response of API 18): versions 0-4, flexible from 3.

    Always sent with response header v0, so that any client can read it. v4 may report features whose lowest level is 0;
    below v4 those are left out.

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        api_keys: The APIs served on this listener.
        throttle_time_ms (1+): How long a quota held this request back, in milliseconds; 0 for not at all.
        supported_features (3+): Features this server can run.
        finalized_features_epoch (3+): Grows with every change of the finalized features; -1 when unknown.
        finalized_features (3+): Features in force in the whole cluster; valid only with an epoch of 0 or more.
        zk_migration_ready (3+): Whether this controller is ready for a ZooKeeper migration.
    """

    API_KEY: ClassVar[int] = 18
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = (
        "error_code",
        "api_keys",
        "throttle_time_ms",
        "supported_features",
        "finalized_features_epoch",
        "finalized_features",
        "zk_migration_ready",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("api_keys", "[]struct", ApiVersion),
        Field("throttle_time_ms", "int32", versions=(1, OPEN), ignorable=True),
        Field(
            "supported_features",
            "[]struct",
            SupportedFeatureKey,
            versions=(3, OPEN),
            tag=0,
            tagged=(3, OPEN),
            ignorable=True,
        ),
        Field(
            "finalized_features_epoch", "int64", versions=(3, OPEN), tag=1, tagged=(3, OPEN), default=-1, ignorable=True
        ),
        Field(
            "finalized_features",
            "[]struct",
            FinalizedFeatureKey,
            versions=(3, OPEN),
            tag=2,
            tagged=(3, OPEN),
            ignorable=True,
        ),
        Field("zk_migration_ready", "bool", versions=(3, OPEN), tag=3, tagged=(3, OPEN), ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        api_keys: list[ApiVersion] = NEW,
        throttle_time_ms: int = 0,
        supported_features: list[SupportedFeatureKey] = NEW,
        finalized_features_epoch: int = -1,
        finalized_features: list[FinalizedFeatureKey] = NEW,
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code = error_code
        self.api_keys = [] if api_keys is NEW else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features = [] if supported_features is NEW else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features = [] if finalized_features is NEW else finalized_features
        self.zk_migration_ready = zk_migration_ready
