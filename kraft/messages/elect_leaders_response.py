"""Generated from spec/ElectLeadersResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ElectLeadersResponse", "PartitionResult", "ReplicaElectionResult"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class PartitionResult(Message):
    """One outcome per partition. (0+)

    Attributes:
        partition_id: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
    """

    partition_id: int = 0
    error_code: int = 0
    error_message: str | None = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_id", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ReplicaElectionResult(Message):
    """One entry per topic. (0+)

    Attributes:
        topic: Name of the topic.
        partition_result: One outcome per partition.
    """

    topic: str = ""
    partition_result: list[PartitionResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string"),
        Field("partition_result", "[]struct", PartitionResult),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ElectLeadersResponse(Message):
    """ElectLeadersResponse (response of API 43): versions 0-2, flexible from 2.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code (1+): The outcome as a Kafka error code; 0 is success.
        replica_election_results: One entry per topic.
    """

    API_KEY: ClassVar[int] = 43
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    throttle_time_ms: int = 0
    error_code: int = 0
    replica_election_results: list[ReplicaElectionResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16", versions=(1, OPEN)),
        Field("replica_election_results", "[]struct", ReplicaElectionResult),
    )
