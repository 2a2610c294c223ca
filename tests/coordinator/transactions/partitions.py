"""The partitions that transactions write to, with their producers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from kraft.broker.producer_state import ProducerStates
from kraft.coordinator.transactions.effects import TransactionMarkers
from kraft.coordinator.transactions.transaction import TransactionPartition
from kraft.records.batch import CONTROL_BIT, TRANSACTIONAL_BIT, BatchHeader
from kraft.records.control import EndTransactionMarker
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordinator.transactions.desk import add_request
from tests.coordinator.world import Answered

if TYPE_CHECKING:
    from tests.coordinator.transactions.world import Client, TransactionalWorld


@attrs.define(eq=False)
class Write:
    """A record of a client's transaction. ``committed`` is None until the partition has the marker."""

    client: Client
    transaction: int
    partition: TransactionPartition
    producer: tuple[int, int]
    sequence: int
    appended_at: int | None = None
    committed: bool | None = None


class DataPartition:
    """The leader of one partition. It appends markers and verified writes."""

    def __init__(self, world: TransactionalWorld, name: TransactionPartition) -> None:
        self.world, self.name = world, name
        self.producers = ProducerStates()
        self.end_offset = 0
        self.open: dict[int, list[Write]] = {}
        self.guards: dict[int, object] = {}
        """By producer id: Apache's ``VerificationGuard``. A marker removes it, so the write that waits is refused."""

    def header(self, producer: tuple[int, int], sequence: int, attributes: int) -> BatchHeader:
        return BatchHeader(self.end_offset, 49, 0, 2, 0, attributes, 0, 0, 0, *producer, sequence, 1)

    def produce(self, write: Write, answered: Answered) -> None:
        """Append the write, after the coordinator has it in the transaction."""
        writes = self.open.get(write.producer[0])
        if writes and writes[0].producer == write.producer:
            answered(self.append(write))
            return
        guard = self.guards[write.producer[0]] = object()

        def verified(result: Any) -> None:
            code = ErrorCode(result.topic_results[0].results_by_partition[0].partition_error_code)
            if code is ErrorCode.NONE and self.guards.get(write.producer[0]) is guard:
                code = self.append(write)
            elif code is ErrorCode.NONE:
                code = ErrorCode.CONCURRENT_TRANSACTIONS
            answered(code)

        client = write.client
        request = add_request(
            write.producer, self.name, transactional_id=client.transactional_id, verify_only=not client.bumps
        )
        self.world.send(client.transactional_id, request, 5, verified)

    def append(self, write: Write) -> ErrorCode:
        header = self.header(write.producer, write.sequence, TRANSACTIONAL_BIT)
        try:
            duplicate = self.producers.check(header)
        except KafkaError as refused:
            return refused.code
        if duplicate is None:
            self.producers.append(header, 0)
            self.end_offset += 1
            write.appended_at = self.world.steps
            self.world.note(self.name, "has a write of", *write.producer)
            self.open.setdefault(write.producer[0], []).append(write)
        return ErrorCode.NONE

    def append_marker(self, markers: TransactionMarkers) -> None:
        header = self.header((markers.producer_id, markers.epoch), -1, TRANSACTIONAL_BIT | CONTROL_BIT)
        marker = EndTransactionMarker(markers.committed, markers.coordinator_epoch, markers.version)
        self.producers.check_marker(markers.producer_id, markers.epoch, marker)
        self.guards.pop(markers.producer_id, None)
        self.producers.append_marker(header, marker, 0)
        self.end_offset += 1
        self.world.note(self.name, "has the marker of", markers.producer_id, markers.epoch, markers.committed)
        for write in self.open.pop(markers.producer_id, ()):
            write.committed = markers.committed
