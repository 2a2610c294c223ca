"""Generated from spec/ElectLeadersResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ElectLeadersResponse", "PartitionResult", "ReplicaElectionResult"]


class PartitionResult(Message):
    """One outcome per partition. (0+)

    Attributes:
        partition_id: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
    """

    __slots__ = ("partition_id", "error_code", "error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_id", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message


class ReplicaElectionResult(Message):
    """One entry per topic. (0+)

    Attributes:
        topic: Name of the topic.
        partition_result: One outcome per partition.
    """

    __slots__ = ("topic", "partition_result")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string"),
        Field("partition_result", "[]struct", PartitionResult),
    )

    def __init__(
        self,
        topic: str = "",
        partition_result: list[PartitionResult] = NEW,
    ) -> None:
        self.topic = topic
        self.partition_result = [] if partition_result is NEW else partition_result


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

    __slots__ = ("throttle_time_ms", "error_code", "replica_election_results")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16", versions=(1, OPEN)),
        Field("replica_election_results", "[]struct", ReplicaElectionResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ReplicaElectionResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results = [] if replica_election_results is NEW else replica_election_results
