"""The offsets of a group that transactions commit: their partition of ``__consumer_offsets``, and its coordinators.

``OffsetsLedger`` has a model of the committed offsets, which it reads from the log as a consumer with read_committed
does: the last record of each key counts that no open or aborted transaction has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs

from kraft.broker.producer_state import EPOCH_BUMP_VERSION, ProducerStates
from kraft.coordinator.core import CoordinatorRequest, StoredRecord
from kraft.coordinator.groups.core import ExpireOffsets, GroupCoordinator
from kraft.coordinator.groups.effects import GroupEffects
from kraft.coordinator.groups.offsets import NO_OFFSET, fetched
from kraft.coordinator.groups.rebalance import CoordinatorSettings
from kraft.coordinator.groups.records import GroupRecord, OffsetRecord, TransactionEnd
from kraft.coordinator.groups.transactional_offsets import TopicPartition
from kraft.coordinator.groups.transactions import TransactionalCommit
from kraft.coordinator.transactions.transaction import TransactionPartition
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_fetch_request import OffsetFetchRequestTopics
from kraft.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kraft.metadata.steps import finished
from kraft.records.batch import CONTROL_BIT, NO_PRODUCER_ID, TRANSACTIONAL_BIT, BatchHeader
from kraft.records.control import EndTransactionMarker
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC
from tests.coordinator.groups.desk import stored
from tests.coordinator.transactions.desk import add_request
from tests.coordinator.transactions.partitions import Write
from tests.coordinator.world import Coordinator, InFlight, Ledger

if TYPE_CHECKING:
    from tests.coordinator.transactions.world import Client, TransactionalWorld

GROUP = "g"
OFFSETS: TransactionPartition = (OFFSETS_TOPIC, 0)
TOPIC = "source"
KEYS: list[TopicPartition] = [(TOPIC, 0), (TOPIC, 1)]
RETENTION_S = 30.0
SETTINGS = CoordinatorSettings(offsets_retention_ms=round(RETENTION_S * 1000))
_NO_SEQUENCE = -1


@attrs.define(eq=False)
class OffsetWrite(Write):
    """An offset in a client's transaction. No two have the same. ``position`` is that of its first record."""

    key: TopicPartition = attrs.field(kw_only=True)
    offset: int = attrs.field(kw_only=True)
    position: int = -1


@attrs.define(eq=False)
class LoggedOffset:
    """A record of the log. ``producer_id`` is that of its transaction while it is open. A tombstone has no offset."""

    position: int
    producer_id: int
    offset: int | None


class OffsetsDriver(Coordinator["TransactionalWorld"]):
    """A group coordinator, with the producers of the partition as its own log has them."""

    ledger: OffsetsLedger
    core: GroupCoordinator

    def __init__(self, world: TransactionalWorld, ledger: OffsetsLedger) -> None:
        self.producers = ProducerStates()
        for header, marker in ledger.batches:
            self.producers.replay(header, 0, marker)
        self.end_offset = ledger.end_offset
        self.batches: dict[int, tuple[BatchHeader, EndTransactionMarker | None]] = {}
        """By the id of their effects: the batches of transactions that are not committed."""
        super().__init__(world, ledger)

    def new_core(self) -> GroupCoordinator:
        return GroupCoordinator(SETTINGS, str, lambda: self.may_write, check_producer=self.check_producer)

    def check_producer(
        self,
        producer_id: int,
        producer_epoch: int,
        *,
        verified_at: int | None = None,
        marker: EndTransactionMarker | None = None,
    ) -> None:
        """As ``kraft.coordination.groups`` does."""
        if marker is not None:
            self.producers.check_marker(producer_id, producer_epoch, marker)
            return
        self.producers.check_epoch(producer_id, producer_epoch)
        if verified_at is not None:
            self.producers.check_transaction(producer_id, producer_epoch, verified_at)

    def stored(self, record: Any, offset: int) -> StoredRecord:
        return stored(record)._replace(offset=offset)

    def decided(self, event: Any, effects: GroupEffects) -> None:
        if isinstance(event, ExpireOffsets):
            self.ledger.check_expiry(self, effects)
        if effects.append and effects.transactional is not None:
            producer, count = effects.transactional, len(effects.append)
            marker = producer.marker
            bits = TRANSACTIONAL_BIT | (0 if marker is None else CONTROL_BIT)
            written = producer.producer_id, producer.producer_epoch, _NO_SEQUENCE, count
            header = BatchHeader(self.end_offset, 49, 0, 2, 0, bits, count - 1, 0, 0, *written)
            self.producers.replay(header, 0, marker)
            if marker is not None and marker.transaction_version >= EPOCH_BUMP_VERSION:
                self.producers.next_epoch_began(producer.producer_id)
            self.batches[id(effects)] = header, marker
        self.end_offset += len(effects.append)

    def commit_in_transaction(self, client: Client, writes: list[OffsetWrite], answered: Callable[[Any], None]) -> None:
        """TxnOffsetCommit: first verify that the transaction is open, as ``kraft.api.txn_offset_commit`` does."""
        producer = writes[0].producer
        topics = [
            TxnOffsetCommitRequestTopic(
                TOPIC, [TxnOffsetCommitRequestPartition(write.key[1], write.offset) for write in writes]
            )
        ]
        message = TxnOffsetCommitRequest(client.transactional_id, GROUP, *producer, topics=topics)

        def commit(verified_at: int | None) -> None:
            request = TransactionalCommit(message, verified_at)
            self.step(CoordinatorRequest(lambda response: answered(_code(response)), request, 5 if client.bumps else 3))

        def refuse(code: ErrorCode) -> None:
            if self.is_leader:
                self.world.deliver(answered, code)

        if self.producers.is_in_transaction(*producer):
            commit(None)
            return
        try:
            self.producers.check_epoch(*producer)
        except KafkaError as refused:
            refuse(refused.code)
            return
        end_offset = self.end_offset

        def verified(result: Any) -> None:
            code = ErrorCode(result.topic_results[0].results_by_partition[0].partition_error_code)
            if code is not ErrorCode.NONE:
                refuse(code)
            elif client.bumps or client.transaction == writes[0].transaction:
                # Below transaction.version 2 nothing distinguishes a late commit from one of the next transaction.
                delay = self.world.random.choice([0, 0, self.world.random.randint(0, 100)])
                late = InFlight(lambda: commit(end_offset), earliest=self.world.steps + delay)
                self.world.messages.append(late)

        add = add_request(producer, OFFSETS, transactional_id=client.transactional_id, verify_only=not client.bumps)
        self.world.send(client.transactional_id, add, 5, verified)


class OffsetsLedger(Ledger[OffsetsDriver]):
    """The partition of the group, and the model of its offsets."""

    world: TransactionalWorld

    def __init__(self, world: TransactionalWorld) -> None:
        self.batches: list[tuple[BatchHeader, EndTransactionMarker | None]] = []
        self.logged: dict[TopicPartition, list[LoggedOffset]] = {key: [] for key in KEYS}
        self.open: dict[int, list[OffsetWrite]] = {}
        self.ended: set[tuple[int, int]] = set()
        """The producers that have a marker."""
        self.promised = dict.fromkeys(KEYS, -1)
        """The position of the last offset whose client knows that it is committed."""
        self.replayed = GroupCoordinator(SETTINGS, str)
        super().__init__(world, OffsetsDriver)

    def loaded(self) -> list[StoredRecord]:
        """The log may be compacted up to its first open transaction: it has the last record of each key, and none of
        an aborted transaction.
        """
        if self.world.random.random() < 0.5:
            return self.committed
        pending = [each.position for some in self.logged.values() for each in some if each.producer_id >= 0]
        end = min(pending, default=self.end_offset)
        outcomes: dict[int, bool] = {}
        aborted = set()
        for record in reversed(self.committed):
            if record.is_committed is not None:
                outcomes[record.producer_id] = record.is_committed
            elif record.producer_id >= 0 and not outcomes.get(record.producer_id, True):
                aborted.add(record.offset)
        kept = [each for each in self.committed[:end] if each.offset not in aborted]
        last = {record.key: record for record in kept if record.key is not None}
        return [each for each in kept if each.key is None or last[each.key] is each] + self.committed[end:]

    def append(self, coordinator: OffsetsDriver, effects: GroupEffects) -> None:
        batch = coordinator.batches.pop(id(effects), None)
        if batch is not None:
            self.batches.append(batch)
            self.ended.update([(batch[0].producer_id, batch[0].producer_epoch)] if batch[1] is not None else [])
        position = self.end_offset
        super().append(coordinator, effects)
        finished(self.replayed.load(self.committed[position:]))
        for record in effects.append:
            if isinstance(record, OffsetRecord):
                self.add(position, record)
            elif isinstance(record, TransactionEnd):
                self.end(record.producer_id, record.marker.committed)
            position += 1

    # The model.

    def add(self, position: int, record: OffsetRecord) -> None:
        logged = self.logged[record.topic, record.partition]
        if record.committed is None:
            logged[:] = [LoggedOffset(position, NO_PRODUCER_ID, None)]
            return
        offset = record.committed.offset
        logged.append(LoggedOffset(position, record.producer_id, offset))
        if record.producer_id >= 0:
            write = self.world.offset_writes[offset]
            self.world.check_is_not_fenced(write, self.world.steps)
            self.open.setdefault(record.producer_id, []).append(write)
            self.world.note(OFFSETS, "has an offset", write.key, offset, *write.producer)
            if write.appended_at is None:
                write.appended_at, write.position = self.world.steps, position

    def end(self, producer_id: int, committed: bool) -> None:
        self.world.note(OFFSETS, "has the marker of", producer_id, committed)
        for write in self.open.pop(producer_id, ()):
            is_same = write.committed in (None, committed)
            self.world.require(is_same, "Atomicity", f"the offset {write.offset} is both committed and aborted")
            write.committed = committed
            self.world.counts["committed offsets" if committed else "aborted offsets"] += 1
        for logged in self.logged.values():
            if not committed:
                logged[:] = [each for each in logged if each.producer_id != producer_id]
            for each in logged:
                if each.producer_id == producer_id:
                    each.producer_id = NO_PRODUCER_ID

    def shown(self, key: TopicPartition) -> LoggedOffset:
        decided = [each for each in self.logged[key] if each.producer_id == NO_PRODUCER_ID]
        return decided[-1] if decided else LoggedOffset(-1, NO_PRODUCER_ID, None)

    def is_open(self, key: TopicPartition) -> bool:
        return any(each.producer_id != NO_PRODUCER_ID for each in self.logged[key])

    # Checks.

    def check_fetch(self) -> None:
        """OffsetFetch of the leader, with ``require_stable`` and without it."""
        require, core = self.world.require, self.leader.core
        wanted = [OffsetFetchRequestTopics(TOPIC, partition_indexes=[index for _, index in KEYS])]
        for require_stable in (True, False):
            group = finished(fetched(core.offsets, GROUP, wanted, require_stable=require_stable))
            for found in group.topics[0].partitions:
                key = TOPIC, found.partition_index
                shown, detail = self.shown(key), (key, found, self.logged[key])
                if found.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
                    self.world.counts["unstable offsets"] += 1
                    require(self.is_open(key) or self.leader.uncommitted, "OnlyPendingIsUnstable", detail)
                    continue
                if require_stable:
                    require(shown.position >= self.promised[key], "CommittedIsRead", detail)
                    require(not self.is_open(key), "PendingIsUnstable", detail)
                expected = NO_OFFSET if shown.offset is None else shown.offset
                require(found.committed_offset == expected, "OffsetsAreTheLogs", detail)

    def check_replay(self) -> None:
        """The leader shows what a coordinator would load."""
        live, replayed = self.leader.core.offsets, self.replayed.offsets
        self.world.require(live.by_group == replayed.by_group, "ReplayIsLive", (live.by_group, replayed.by_group))
        pending = live.transactional.by_group, replayed.transactional.by_group
        self.world.require(pending[0] == pending[1], "ReplayIsLive", pending)
        if not self.leader.uncommitted:
            left = live.pending, live.transactional.appended
            self.world.require(left == ({}, {}), "ReplayIsLive", left)

    def check_expiry(self, driver: OffsetsDriver, effects: GroupEffects) -> None:
        for record in effects.append:
            if isinstance(record, OffsetRecord):
                key = record.topic, record.partition
                age_s = self.world.now - driver.core.offsets.of(GROUP)[key].commit_timestamp_ms / 1000
                self.world.require(age_s >= RETENTION_S and not self.is_open(key), "ExpiryIsAllowed", (key, age_s))
                self.world.counts["expired offsets"] += 1
            elif isinstance(record, GroupRecord):
                self.world.require(not any(map(self.is_open, KEYS)), "ExpiryIsAllowed", "a pending offset has no group")

    # Requests of others than transactional producers.

    def commit_outside(self, offset: int) -> None:
        """A consumer without a transaction commits an offset."""
        key = self.world.random.choice(KEYS)
        topics = [OffsetCommitRequestTopic(key[0], partitions=[OffsetCommitRequestPartition(key[1], offset)])]
        self.world.send(GROUP, OffsetCommitRequest(GROUP, topics=topics), 8, lambda _: None)

    def delete_group(self) -> None:
        self.world.counts["deleted groups"] += GROUP in self.leader.core.groups
        self.world.send(GROUP, DeleteGroupsRequest(groups_names=[GROUP]), 2, lambda _: None)


def _code(response: Any) -> ErrorCode:
    codes: Iterable[int] = (each.error_code for topic in response.topics for each in topic.partitions)
    return ErrorCode(next(iter(codes)))
