"""Generated from spec/CreatePartitionsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["CreatePartitionsAssignment", "CreatePartitionsRequest", "CreatePartitionsTopic"]


class CreatePartitionsAssignment(Message):
    """Placement of each added partition, or null to let the server choose. (0+)

    Attributes:
        broker_ids: Brokers that hold the added partition, preferred leader first.
    """

    __slots__ = ("broker_ids",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("broker_ids", "[]int32"),)

    def __init__(
        self,
        broker_ids: list[int] = NEW,
    ) -> None:
        self.broker_ids = [] if broker_ids is NEW else broker_ids


class CreatePartitionsTopic(Message):
    """The topics to grow. (0+)

    Attributes:
        name: Name of the topic.
        count: Number of partitions the topic shall have.
        assignments: Placement of each added partition, or null to let the server choose.
    """

    __slots__ = ("name", "count", "assignments")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("count", "int32"),
        Field("assignments", "[]struct", CreatePartitionsAssignment, nullable=(0, OPEN)),
    )

    def __init__(
        self,
        name: str = "",
        count: int = 0,
        assignments: list[CreatePartitionsAssignment] | None = NEW,
    ) -> None:
        self.name = name
        self.count = count
        self.assignments = [] if assignments is NEW else assignments


class CreatePartitionsRequest(Message):
    """CreatePartitionsRequest (request of API 37): versions 0-3, flexible from 2.

    Attributes:
        topics: The topics to grow.
        timeout_ms: How long the server may wait for completion, in milliseconds.
        validate_only: Check the request but change nothing.
    """

    API_KEY: ClassVar[int] = 37
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("topics", "timeout_ms", "validate_only")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topics", "[]struct", CreatePartitionsTopic),
        Field("timeout_ms", "int32"),
        Field("validate_only", "bool"),
    )

    def __init__(
        self,
        topics: list[CreatePartitionsTopic] = NEW,
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
