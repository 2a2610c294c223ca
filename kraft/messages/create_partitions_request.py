"""Generated from spec/CreatePartitionsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["CreatePartitionsAssignment", "CreatePartitionsRequest", "CreatePartitionsTopic"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class CreatePartitionsAssignment(Message):
    """Placement of each added partition, or null to let the server choose. (0+)

    Attributes:
        broker_ids: Brokers that hold the added partition, preferred leader first.
    """

    broker_ids: list[int] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("broker_ids", "[]int32"),)


@attrs.define(eq=False, repr=False, weakref_slot=False)
class CreatePartitionsTopic(Message):
    """The topics to grow. (0+)

    Attributes:
        name: Name of the topic.
        count: Number of partitions the topic shall have.
        assignments: Placement of each added partition, or null to let the server choose.
    """

    name: str = ""
    count: int = 0
    assignments: list[CreatePartitionsAssignment] | None = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("count", "int32"),
        Field("assignments", "[]struct", CreatePartitionsAssignment, nullable=(0, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    topics: list[CreatePartitionsTopic] = attrs.Factory(list)
    timeout_ms: int = 0
    validate_only: bool = False

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topics", "[]struct", CreatePartitionsTopic),
        Field("timeout_ms", "int32"),
        Field("validate_only", "bool"),
    )
