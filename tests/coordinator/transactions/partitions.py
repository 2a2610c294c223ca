"""The partitions that transactions write to, with their producers and a consumer with ``read_committed``.

A batch has one record, so its index in the log is its offset. The leader responds to a write and to a marker once it is
replicated. The next leader has all batches below the high watermark. It may lack later ones, and its own high watermark
may be lower.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs

from kraft.broker.producer_state import ProducerStates
from kraft.client.fetching import IsolationLevel, Visibility
from kraft.coordinator.transactions.effects import TransactionMarkers
from kraft.coordinator.transactions.transaction import TransactionPartition
from kraft.messages import fetch_response
from kraft.messages.fetch_response import PartitionData
from kraft.records.batch import TRANSACTIONAL_BIT, BatchHeader, parse_header, stamp
from kraft.records.control import EndTransactionMarker
from kraft.storage.transaction_index import AbortedTransaction, overlapping
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordinator.transactions.desk import add_request
from tests.coordinator.world import Answered

if TYPE_CHECKING:
    from tests.coordinator.transactions.world import Client, TransactionalWorld

FETCHED = 5
"""The batches that a response may have."""
_by_marker = attrgetter("last_offset")


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


@attrs.frozen(eq=False)
class LoggedWrite:
    header: BatchHeader
    write: Write


@attrs.frozen(eq=False)
class LoggedMarker:
    """``ended`` has the writes of the transaction that the marker ends."""

    header: BatchHeader
    marker: EndTransactionMarker
    data: bytes
    ended: list[Write]


class DataPartition:
    """One partition with its present leader. It appends markers and verified writes."""

    def __init__(self, world: TransactionalWorld, name: TransactionPartition) -> None:
        self.world, self.name = world, name
        self.log: list[LoggedWrite | LoggedMarker] = []
        self.high_watermark = 0
        self.replicated = self.stable = 0
        """The highest high watermark that a leader had, and the last stable offset at it."""
        self.waiting: list[tuple[int, Answered]] = []
        """The end offsets that requests wait for."""
        self.reader = CommittedReader(self, 0)
        self.begin()

    def begin(self) -> None:
        """Begin as a leader that has the log."""
        self.producers = ProducerStates()
        self.aborted: list[AbortedTransaction] = []
        """As in the transaction indexes of the log."""
        self.open: dict[int, list[Write]] = {}
        self.guards: dict[int, object] = {}
        """By producer id: Apache's ``VerificationGuard``. A marker removes it, so the write that waits is refused."""
        self.waiting.clear()
        for batch in self.log:
            self.apply(batch)
        self.producers.high_watermark_advanced(self.high_watermark)

    @property
    def end_offset(self) -> int:
        return len(self.log)

    @property
    def last_stable_offset(self) -> int:
        return self.producers.last_stable_offset(self.high_watermark)

    @property
    def is_behind(self) -> bool:
        """Whether batches are not replicated, or the leader does not know it."""
        return self.high_watermark < self.end_offset

    # Writes.

    def produce(self, write: Write, answered: Answered) -> None:
        """Append the write, after the coordinator has it in the transaction."""
        writes = self.open.get(write.producer[0])
        if writes and writes[0].producer == write.producer:
            self.append(write, answered)
            return
        guard = self.guards[write.producer[0]] = object()

        def verified(result: Any) -> None:
            code = ErrorCode(result.topic_results[0].results_by_partition[0].partition_error_code)
            if code is not ErrorCode.NONE:
                answered(code)
            elif self.guards.get(write.producer[0]) is guard:
                self.append(write, answered)
            else:
                answered(ErrorCode.CONCURRENT_TRANSACTIONS)

        client = write.client
        request = add_request(
            write.producer, self.name, transactional_id=client.transactional_id, verify_only=not client.bumps
        )
        self.world.send(client.transactional_id, request, 5, verified)

    def append(self, write: Write, answered: Answered) -> None:
        header = BatchHeader(
            self.end_offset, 49, 0, 2, 0, TRANSACTIONAL_BIT, 0, 0, 0, *write.producer, write.sequence, 1
        )
        try:
            duplicate = self.producers.check(header)
        except KafkaError as refused:
            answered(refused.code)
            return
        if duplicate is None:
            write.appended_at = self.world.steps
            self.world.note(self.name, "has a write of", *write.producer)
            self.log.append(LoggedWrite(header, write))
            self.apply(self.log[-1])
            self.check_stable_offset()
        self.wait_for(header.next_offset if duplicate is None else duplicate.batch.last_offset + 1, answered)

    def append_marker(self, markers: TransactionMarkers, answered: Answered) -> None:
        """Raises KafkaError."""
        marker = EndTransactionMarker(markers.committed, markers.coordinator_epoch, markers.version)
        self.producers.check_marker(markers.producer_id, markers.epoch, marker)
        data = marker.batch(markers.producer_id, markers.epoch, 0)
        stamp(data, 0, self.end_offset, 0)
        self.guards.pop(markers.producer_id, None)
        self.world.note(self.name, "has the marker of", markers.producer_id, markers.epoch, markers.committed)
        ended = self.open.get(markers.producer_id, [])
        self.log.append(LoggedMarker(parse_header(data), marker, bytes(data), ended))
        self.apply(self.log[-1])
        self.check_stable_offset()
        self.wait_for(self.end_offset, answered)

    def apply(self, batch: LoggedWrite | LoggedMarker) -> None:
        """Bring the producers, and the model of the transactions, to the state after a batch of the log."""
        if isinstance(batch, LoggedWrite):
            self.producers.append(batch.header, 0)
            self.open.setdefault(batch.header.producer_id, []).append(batch.write)
            return
        completed = self.producers.append_marker(batch.header, batch.marker, 0)
        if completed is not None and completed.aborted:
            entry = attrs.astuple(completed, filter=lambda field, _: field.name != "aborted")
            self.aborted.append(AbortedTransaction(*entry))
        for write in self.open.pop(batch.header.producer_id, ()):
            write.committed = batch.marker.committed

    # Replicas.

    def wait_for(self, end_offset: int, answered: Answered) -> None:
        if end_offset <= self.high_watermark:
            answered(ErrorCode.NONE)
        else:
            self.waiting.append((end_offset, answered))

    def replicate(self, high_watermark: int) -> None:
        """Advance the high watermark, and respond to the requests that wait for it."""
        self.high_watermark = high_watermark
        self.producers.high_watermark_advanced(high_watermark)
        self.check_stable_offset()
        reached = [answered for end_offset, answered in self.waiting if end_offset <= high_watermark]
        self.waiting = [each for each in self.waiting if each[0] > high_watermark]
        for answered in reached:
            answered(ErrorCode.NONE)

    def serve(self) -> None:
        """Followers and the consumer fetch."""
        random = self.world.random
        if self.is_behind and random.random() < 0.5:
            self.replicate(random.randint(self.high_watermark + 1, self.end_offset))
        if random.random() < 0.05:
            self.reader = CommittedReader(self, random.randint(0, self.end_offset))
        self.reader.fetch(random.randint(1, FETCHED))

    def elect(self) -> None:
        """Replace the leader."""
        random = self.world.random
        end_offset = random.randint(self.replicated, self.end_offset)
        self.high_watermark = random.randint(max(self.replicated - FETCHED, 0), self.replicated)
        self.world.note(self.name, "has another leader from", end_offset, "high watermark", self.high_watermark)
        self.world.counts["partition elections"] += 1
        for batch in self.log[end_offset:]:
            if isinstance(batch, LoggedWrite):
                self.world.counts["truncated records"] += 1
                batch.write.appended_at = None
            else:
                self.world.counts["truncated markers"] += 1
                for write in batch.ended:
                    write.committed = None
        del self.log[end_offset:]
        self.begin()
        self.check_stable_offset()

    # Consumers.

    def check_stable_offset(self) -> None:
        stable, high_watermark = self.last_stable_offset, self.high_watermark
        detail = self.name, stable, high_watermark, (self.stable, self.replicated)
        self.world.require(stable <= high_watermark, "StableOffsetRises", detail)
        if high_watermark >= self.replicated:
            self.world.require(stable >= self.stable, "StableOffsetRises", detail)
            self.replicated, self.stable = high_watermark, stable

    def aborted_in(self, offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Return what a response with these offsets names, as ``Segments.aborted_in`` does."""
        first = bisect_left(self.aborted, offset, key=_by_marker)
        return list(overlapping(self.aborted[first:], end_offset))

    def check_reader(self) -> None:
        """Without faults and open transactions, the consumer reads to the end of the log."""
        self.replicate(self.end_offset)
        self.reader.fetch(self.end_offset)
        is_at_end = self.reader.offset == self.end_offset
        self.world.require(is_at_end, "NoHangingTransaction", "the last stable offset does not reach the end")
        decided = [each.write for each in self.log[self.reader.start :] if isinstance(each, LoggedWrite)]
        committed = [write for write in decided if write.committed]
        self.world.require(self.reader.read == committed, "AbortedIsNotRead", "the log has other committed records")


class CommittedReader:
    """A consumer with ``isolation.level=read_committed``. Each response names the aborted transactions to skip."""

    def __init__(self, partition: DataPartition, start: int) -> None:
        self.partition, self.start, self.offset = partition, start, start
        self.read: list[Write] = []

    def fetch(self, batches: int) -> None:
        partition, world = self.partition, self.partition.world
        stable = partition.last_stable_offset
        world.counts["reads up to an open transaction"] += self.offset < stable < partition.high_watermark
        end_offset = min(self.offset + batches, stable)
        if end_offset <= self.offset:
            return
        named = partition.aborted_in(self.offset, end_offset)
        aborted = [fetch_response.AbortedTransaction(each.producer_id, each.first_offset) for each in named]
        visible = Visibility(IsolationLevel.READ_COMMITTED, PartitionData(aborted_transactions=aborted))
        for batch in partition.log[self.offset : end_offset]:
            if isinstance(batch, LoggedMarker):
                visible(batch.data, 0, batch.header)
            elif visible(b"", 0, batch.header):
                world.require(batch.write.committed, "AbortedIsNotRead", (partition.name, batch))
                self.read.append(batch.write)
            else:
                world.require(batch.write.committed is False, "CommittedIsConsumed", (partition.name, batch))
                world.counts["skipped records"] += 1
        self.offset = end_offset
