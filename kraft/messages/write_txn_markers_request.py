"""Generated from spec/WriteTxnMarkersRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["WritableTxnMarker", "WritableTxnMarkerTopic", "WriteTxnMarkersRequest"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class WritableTxnMarkerTopic(Message):
    """Where the marker goes. (0+)

    Attributes:
        name: Topic name.
        partition_indexes: Partition numbers.
    """

    name: str = ""
    partition_indexes: list[int] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partition_indexes", "[]int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    producer_id: int = 0
    producer_epoch: int = 0
    transaction_result: bool = False
    topics: list[WritableTxnMarkerTopic] = attrs.Factory(list)
    coordinator_epoch: int = 0
    transaction_version: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("producer_id", "int64"),
        Field("producer_epoch", "int16"),
        Field("transaction_result", "bool"),
        Field("topics", "[]struct", WritableTxnMarkerTopic),
        Field("coordinator_epoch", "int32"),
        Field("transaction_version", "int8", versions=(2, OPEN), ignorable=True),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class WriteTxnMarkersRequest(Message):
    """WriteTxnMarkersRequest (request of API 27): versions 0-2, flexible from 1.

    v2 says whether the producer bumps its epoch at each end (KIP-1228).

    Attributes:
        markers: Markers to append.
    """

    API_KEY: ClassVar[int] = 27
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 1

    markers: list[WritableTxnMarker] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("markers", "[]struct", WritableTxnMarker),)
