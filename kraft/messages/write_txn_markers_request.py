"""Generated from spec/WriteTxnMarkersRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["WritableTxnMarker", "WritableTxnMarkerTopic", "WriteTxnMarkersRequest"]


class WritableTxnMarkerTopic(Message):
    """Where the marker goes. (0+)

    Attributes:
        name: Topic name.
        partition_indexes: Partition numbers.
    """

    __slots__ = ("name", "partition_indexes")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partition_indexes", "[]int32"),
    )

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = NEW,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is NEW else partition_indexes


class WritableTxnMarker(Message):
    """Markers to append. (0+)

    Attributes:
        producer_id: Producer whose transaction ends.
        producer_epoch: Producer epoch.
        transaction_result: True for commit, false for abort.
        topics: Where the marker goes.
        coordinator_epoch: Leader epoch of the transaction log partition that sends this.
        transaction_version (2+): Level of transaction.version that the producer followed: from 2 on the marker has the
            epoch after that of its records.
    """

    __slots__ = (
        "producer_id",
        "producer_epoch",
        "transaction_result",
        "topics",
        "coordinator_epoch",
        "transaction_version",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("producer_id", "int64"),
        Field("producer_epoch", "int16"),
        Field("transaction_result", "bool"),
        Field("topics", "[]struct", WritableTxnMarkerTopic),
        Field("coordinator_epoch", "int32"),
        Field("transaction_version", "int8", versions=(2, OPEN), ignorable=True),
    )

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: list[WritableTxnMarkerTopic] = NEW,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics = [] if topics is NEW else topics
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version


class WriteTxnMarkersRequest(Message):
    """WriteTxnMarkersRequest (request of API 27): versions 0-2, flexible from 1.

    v2 says whether the producer bumps its epoch at each end (KIP-1228).

    Attributes:
        markers: Markers to append.
    """

    API_KEY: ClassVar[int] = 27
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("markers",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("markers", "[]struct", WritableTxnMarker),)

    def __init__(
        self,
        markers: list[WritableTxnMarker] = NEW,
    ) -> None:
        self.markers = [] if markers is NEW else markers
