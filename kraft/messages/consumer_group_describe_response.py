"""Generated from spec/ConsumerGroupDescribeResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "ConsumerGroupDescribeMember",
    "ConsumerGroupDescribeResponse",
    "DescribedAssignment",
    "DescribedConsumerGroup",
    "DescribedTopicPartitions",
]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribedTopicPartitions(Message):
    """Topics and partitions. (0+)

    Attributes:
        topic_id: Topic id.
        topic_name: Topic name.
        partitions: Partition numbers.
    """

    topic_id: UUID = ZERO_UUID
    topic_name: str = ""
    partitions: list[int] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("topic_name", "string"),
        Field("partitions", "[]int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribedAssignment(Message):
    """Partitions that it owns. (0+)

    Attributes:
        topic_partitions: Topics and partitions.
    """

    topic_partitions: list[DescribedTopicPartitions] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topic_partitions", "[]struct", DescribedTopicPartitions),)


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ConsumerGroupDescribeMember(Message):
    """Members. (0+)

    Attributes:
        member_id: Member id.
        instance_id: Static member's own name, or null.
        rack_id: Rack of the client, or null.
        member_epoch: Member epoch.
        client_id: Client id.
        client_host: Address of the client.
        subscribed_topic_names: Topics to which it subscribes by name.
        subscribed_topic_regex: Regular expression to which it subscribes, or null.
        assignment: Partitions that it owns.
        target_assignment: Partitions that it shall own.
        member_type (1+): 0 uses the classic protocol, 1 the consumer protocol, -1 is unknown.
    """

    member_id: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = attrs.Factory(list)
    subscribed_topic_regex: str | None = None
    assignment: DescribedAssignment = attrs.Factory(DescribedAssignment)
    target_assignment: DescribedAssignment = attrs.Factory(DescribedAssignment)
    member_type: int = -1

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("member_id", "string"),
        Field("instance_id", "string", nullable=(0, OPEN), default=None),
        Field("rack_id", "string", nullable=(0, OPEN), default=None),
        Field("member_epoch", "int32"),
        Field("client_id", "string"),
        Field("client_host", "string"),
        Field("subscribed_topic_names", "[]string"),
        Field("subscribed_topic_regex", "string", nullable=(0, OPEN), default=None),
        Field("assignment", "struct", DescribedAssignment),
        Field("target_assignment", "struct", DescribedAssignment),
        Field("member_type", "int8", versions=(1, OPEN), default=-1, ignorable=True),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribedConsumerGroup(Message):
    """Outcome per group. (0+)

    Attributes:
        error_code: Error of this group.
        error_message: Text for the error, or null.
        group_id: Group id.
        group_state: State of the group, or empty.
        group_epoch: Group epoch.
        assignment_epoch: Group epoch of the target assignment.
        assignor_name: Assignor in use.
        members: Members.
        authorized_operations: Bit field of what the client may do with the group.
    """

    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: list[ConsumerGroupDescribeMember] = attrs.Factory(list)
    authorized_operations: int = -2147483648

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("group_id", "string"),
        Field("group_state", "string"),
        Field("group_epoch", "int32"),
        Field("assignment_epoch", "int32"),
        Field("assignor_name", "string"),
        Field("members", "[]struct", ConsumerGroupDescribeMember),
        Field("authorized_operations", "int32", default=-2147483648),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ConsumerGroupDescribeResponse(Message):
    """ConsumerGroupDescribeResponse (response of API 69): versions 0-1, flexible from 0.

    v1 has the types of members (KIP-1099).

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        groups: Outcome per group.
    """

    API_KEY: ClassVar[int] = 69
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    throttle_time_ms: int = 0
    groups: list[DescribedConsumerGroup] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("groups", "[]struct", DescribedConsumerGroup),
    )
