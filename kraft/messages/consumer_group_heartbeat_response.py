"""Generated from spec/ConsumerGroupHeartbeatResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["AssignedTopicPartitions", "ConsumerGroupHeartbeatResponse", "HeartbeatAssignment"]


class AssignedTopicPartitions(Message):
    """Partitions that the member may use. (0+)

    Attributes:
        topic_id: Topic id.
        partitions: Partition numbers.
    """

    __slots__ = ("topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]int32"),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class HeartbeatAssignment(Message):
    """Partitions from now on, null if unchanged. (0+)

    Attributes:
        topic_partitions: Partitions that the member may use.
    """

    __slots__ = ("topic_partitions",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topic_partitions", "[]struct", AssignedTopicPartitions),)

    def __init__(
        self,
        topic_partitions: list[AssignedTopicPartitions] = NEW,
    ) -> None:
        self.topic_partitions = [] if topic_partitions is NEW else topic_partitions


class ConsumerGroupHeartbeatResponse(Message):
    """ConsumerGroupHeartbeatResponse (response of API 68): versions 0-1, flexible from 0.

    v1 equals v0.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        error_code: Error of the whole request.
        error_message: Text for the error, or null.
        member_id: Member id; the coordinator chooses one for version 0.
        member_epoch: Member epoch from now on.
        heartbeat_interval_ms: Time until the next heartbeat, in milliseconds.
        assignment: Partitions from now on, null if unchanged.
    """

    API_KEY: ClassVar[int] = 68
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "assignment",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("member_id", "string", nullable=(0, OPEN), default=None),
        Field("member_epoch", "int32"),
        Field("heartbeat_interval_ms", "int32"),
        Field("assignment", "struct", HeartbeatAssignment, nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: HeartbeatAssignment | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment
