"""Generated from spec/ConsumerGroupDescribeResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "ConsumerGroupDescribeMember",
    "ConsumerGroupDescribeResponse",
    "DescribedAssignment",
    "DescribedConsumerGroup",
    "DescribedTopicPartitions",
]


class DescribedTopicPartitions(Message):
    """Topics and partitions. (0+)

    Attributes:
        topic_id: Topic id.
        topic_name: Topic name.
        partitions: Partition numbers.
    """

    __slots__ = ("topic_id", "topic_name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("topic_name", "string"),
        Field("partitions", "[]int32"),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions


class DescribedAssignment(Message):
    """Partitions that it owns. (0+)

    Attributes:
        topic_partitions: Topics and partitions.
    """

    __slots__ = ("topic_partitions",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topic_partitions", "[]struct", DescribedTopicPartitions),)

    def __init__(
        self,
        topic_partitions: list[DescribedTopicPartitions] = NEW,
    ) -> None:
        self.topic_partitions = [] if topic_partitions is NEW else topic_partitions


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

    __slots__ = (
        "member_id",
        "instance_id",
        "rack_id",
        "member_epoch",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "assignment",
        "target_assignment",
        "member_type",
    )

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

    def __init__(
        self,
        member_id: str = "",
        instance_id: str | None = None,
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = NEW,
        subscribed_topic_regex: str | None = None,
        assignment: DescribedAssignment = NEW,
        target_assignment: DescribedAssignment = NEW,
        member_type: int = -1,
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is NEW else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.assignment = DescribedAssignment() if assignment is NEW else assignment
        self.target_assignment = DescribedAssignment() if target_assignment is NEW else target_assignment
        self.member_type = member_type


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

    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "assignor_name",
        "members",
        "authorized_operations",
    )

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

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: list[ConsumerGroupDescribeMember] = NEW,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members = [] if members is NEW else members
        self.authorized_operations = authorized_operations


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

    __slots__ = ("throttle_time_ms", "groups")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("groups", "[]struct", DescribedConsumerGroup),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedConsumerGroup] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is NEW else groups
