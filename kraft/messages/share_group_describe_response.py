"""Generated from spec/ShareGroupDescribeResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "DescribedShareAssignment",
    "DescribedShareGroup",
    "DescribedSharedPartitions",
    "ShareGroupDescribeMember",
    "ShareGroupDescribeResponse",
]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribedSharedPartitions(Message):
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
class DescribedShareAssignment(Message):
    """Partitions that it shares. (0+)

    Attributes:
        topic_partitions: Topics and partitions.
    """

    topic_partitions: list[DescribedSharedPartitions] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topic_partitions", "[]struct", DescribedSharedPartitions),)


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareGroupDescribeMember(Message):
    """Members. (0+)

    Attributes:
        member_id: Member id.
        rack_id: Rack of the client, or null.
        member_epoch: Member epoch.
        client_id: Client id.
        client_host: Address of the client.
        subscribed_topic_names: Topics to which it subscribes.
        assignment: Partitions that it shares.
    """

    member_id: str = ""
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = attrs.Factory(list)
    assignment: DescribedShareAssignment = attrs.Factory(DescribedShareAssignment)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("member_id", "string"),
        Field("rack_id", "string", nullable=(0, OPEN), default=None),
        Field("member_epoch", "int32"),
        Field("client_id", "string"),
        Field("client_host", "string"),
        Field("subscribed_topic_names", "[]string"),
        Field("assignment", "struct", DescribedShareAssignment),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribedShareGroup(Message):
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
    members: list[ShareGroupDescribeMember] = attrs.Factory(list)
    authorized_operations: int = -2147483648

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("group_id", "string"),
        Field("group_state", "string"),
        Field("group_epoch", "int32"),
        Field("assignment_epoch", "int32"),
        Field("assignor_name", "string"),
        Field("members", "[]struct", ShareGroupDescribeMember),
        Field("authorized_operations", "int32", default=-2147483648),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareGroupDescribeResponse(Message):
    """ShareGroupDescribeResponse (response of API 77): versions 1, flexible from 0.

    Kafka 4.0 had version 0 as a preview. 1 is the first stable version (KIP-932).

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        groups: Outcome per group.
    """

    API_KEY: ClassVar[int] = 77
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (1, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    throttle_time_ms: int = 0
    groups: list[DescribedShareGroup] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("groups", "[]struct", DescribedShareGroup),
    )
