"""Generated from spec/CreateTopicsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["CreatableTopicConfigs", "CreatableTopicResult", "CreateTopicsResponse"]


class CreatableTopicConfigs(Message):
    """Settings of the new topic, or null if not disclosed. (5+)

    Attributes:
        name (5+): Name of the setting.
        value (5+): Value of the setting, or null.
        read_only (5+): Whether the setting cannot be changed.
        config_source (5+): Where the value comes from, as a code.
        is_sensitive (5+): Whether the value is secret and thus left out.
    """

    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(5, OPEN)),
        Field("value", "string", versions=(5, OPEN), nullable=(5, OPEN)),
        Field("read_only", "bool", versions=(5, OPEN)),
        Field("config_source", "int8", versions=(5, OPEN), default=-1, ignorable=True),
        Field("is_sensitive", "bool", versions=(5, OPEN)),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive


class CreatableTopicResult(Message):
    """One entry per topic. (0+)

    Attributes:
        name: Name of the topic.
        topic_id (7+): Id of the topic.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message (1+): Text explaining the error, or null.
        topic_config_error_code (5+): Why the topic's settings could not be read; 0 if they are given.
        num_partitions (5+): Number of partitions, or -1 if not disclosed.
        replication_factor (5+): Replicas per partition, or -1 if not disclosed.
        configs (5+): Settings of the new topic, or null if not disclosed.
    """

    __slots__ = (
        "name",
        "topic_id",
        "error_code",
        "error_message",
        "topic_config_error_code",
        "num_partitions",
        "replication_factor",
        "configs",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("topic_id", "uuid", versions=(7, OPEN), ignorable=True),
        Field("error_code", "int16"),
        Field("error_message", "string", versions=(1, OPEN), nullable=(0, OPEN), ignorable=True),
        Field("topic_config_error_code", "int16", versions=(5, OPEN), tag=0, tagged=(5, OPEN), ignorable=True),
        Field("num_partitions", "int32", versions=(5, OPEN), default=-1, ignorable=True),
        Field("replication_factor", "int16", versions=(5, OPEN), default=-1, ignorable=True),
        Field("configs", "[]struct", CreatableTopicConfigs, versions=(5, OPEN), nullable=(5, OPEN), ignorable=True),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreatableTopicConfigs] | None = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs = [] if configs is NEW else configs


class CreateTopicsResponse(Message):
    """CreateTopicsResponse (response of API 19): versions 0-7, flexible from 5.

    Attributes:
        throttle_time_ms (2+): How long a quota held this request back, in milliseconds; 0 for not at all.
        topics: One entry per topic.
    """

    API_KEY: ClassVar[int] = 19
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 7)
    FLEXIBLE_FROM: ClassVar[int] = 5

    __slots__ = ("throttle_time_ms", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(2, OPEN), ignorable=True),
        Field("topics", "[]struct", CreatableTopicResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[CreatableTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics
