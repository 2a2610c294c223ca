"""Generated from spec/ConsumerGroupHeartbeatRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ConsumerGroupHeartbeatRequest", "OwnedTopicPartitions"]


class OwnedTopicPartitions(Message):
    """Partitions that the member owns, null if unchanged. (0+)

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


class ConsumerGroupHeartbeatRequest(Message):
    """ConsumerGroupHeartbeatRequest (request of API 68): versions 0-1, flexible from 0.

    v1 adds the regular expression, and the member chooses its id (KIP-1082).

    Attributes:
        group_id: Group id.
        member_id: Member id, chosen by the client since version 1.
        member_epoch: Member epoch; 0 joins, -1 leaves, -2 is a static member that will return.
        instance_id: Static member's own name, null if there is none or if it is unchanged.
        rack_id: Rack of the client, null if unknown or unchanged.
        rebalance_timeout_ms: Time in milliseconds to revoke partitions, -1 if unchanged.
        subscribed_topic_names: Topics to which the member subscribes, null if unchanged.
        subscribed_topic_regex (1+): Regular expression to which the member subscribes, null if unchanged.
        server_assignor: Assignor that the member prefers, null if it has no preference or if it is unchanged.
        topic_partitions: Partitions that the member owns, null if unchanged.
    """

    API_KEY: ClassVar[int] = 68
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "server_assignor",
        "topic_partitions",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("member_id", "string"),
        Field("member_epoch", "int32"),
        Field("instance_id", "string", nullable=(0, OPEN), default=None),
        Field("rack_id", "string", nullable=(0, OPEN), default=None),
        Field("rebalance_timeout_ms", "int32", default=-1),
        Field("subscribed_topic_names", "[]string", nullable=(0, OPEN), default=None),
        Field("subscribed_topic_regex", "string", versions=(1, OPEN), nullable=(1, OPEN), default=None),
        Field("server_assignor", "string", nullable=(0, OPEN), default=None),
        Field("topic_partitions", "[]struct", OwnedTopicPartitions, nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: list[OwnedTopicPartitions] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.server_assignor = server_assignor
        self.topic_partitions = topic_partitions
