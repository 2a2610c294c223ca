"""Coordinators that write down every request, record and response: the transcripts of docs/groups.md and
docs/transactions.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import Any

from kraft.coordinator.core import CoordinatorRequest, StoredRecord
from kraft.coordinator.framing import VERSION, unframed, version_of
from kraft.coordinator.groups.consumer.records import decode_consumer_record
from kraft.coordinator.groups.core import Event
from kraft.coordinator.groups.offsets import fetched
from kraft.coordinator.groups.records import OffsetRecord, decode_record
from kraft.coordinator.groups.transactions import EndTransaction, TransactionalCommit
from kraft.coordinator.transactions.admin import described, listed, transaction_filter
from kraft.coordinator.transactions.core import TransactionEvent
from kraft.coordinator.transactions.effects import TransactionMarkers
from kraft.coordinator.transactions.records import decode_transaction
from kraft.messages.add_partitions_to_txn_request import AddPartitionsToTxnTransaction
from kraft.messages.add_partitions_to_txn_response import AddPartitionsToTxnResult
from kraft.messages.consumer_group_current_member_assignment_value import ConsumerGroupCurrentMemberAssignmentValue
from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kraft.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kraft.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from kraft.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from kraft.messages.consumer_group_target_assignment_member_value import ConsumerGroupTargetAssignmentMemberValue
from kraft.messages.consumer_group_target_assignment_metadata_value import ConsumerGroupTargetAssignmentMetadataValue
from kraft.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kraft.messages.end_txn_request import EndTxnRequest
from kraft.messages.end_txn_response import EndTxnResponse
from kraft.messages.group_metadata_value import GroupMetadataValue
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.messages.init_producer_id_request import InitProducerIdRequest
from kraft.messages.init_producer_id_response import InitProducerIdResponse
from kraft.messages.join_group_request import JoinGroupRequest
from kraft.messages.join_group_response import JoinGroupResponse
from kraft.messages.leave_group_request import LeaveGroupRequest
from kraft.messages.leave_group_response import LeaveGroupResponse
from kraft.messages.list_transactions_request import ListTransactionsRequest
from kraft.messages.offset_fetch_request import OffsetFetchRequestTopics
from kraft.messages.sync_group_request import SyncGroupRequest
from kraft.messages.sync_group_response import SyncGroupResponse
from kraft.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kraft.messages.txn_offset_commit_response import TxnOffsetCommitResponse
from kraft.metadata.steps import finished
from kraft.records.control import EndTransactionMarker
from kraft.wire.codec import decode
from kraft.wire.errors import ErrorCode
from kraft.wire.internal_topics import OFFSETS_TOPIC
from tests.coordinator.groups.consumer.desk import GROUP, ConsumerDesk
from tests.coordinator.partition_scribe import PartitionScribe
from tests.coordinator.transactions.desk import ID, TIMEOUT, TransactionDesk


class GroupScribe(ConsumerDesk):
    """``who`` sends the next requests. Topic ``t`` has four partitions."""

    def __init__(self, **settings: float) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.who = ""
        self._senders: dict[int, str] = {}
        self._state = ""

    def send(self, message: Any, version: int, client_id: str = "c") -> int:
        token = next(self._tokens)
        self._senders[token] = self.who
        self.lines.append(f"{self.who}: {words(message)}")
        self.step(CoordinatorRequest(token, message, version, client_id, "/127.0.0.1"))
        return token

    def step(self, event: Event) -> None:
        written, position = len(self.written), len(self.lines)
        super().step(event)
        self.lines[position:position] = [f"    writes {_group_record(each)}" for each in self.written[written:]]
        if (state := self._state_now()) != self._state:
            self._state = state
            self.lines.append(f"    the group is {state}")

    def _state_now(self) -> str:
        if GROUP in self.core.consumers.groups:
            return self.consumer_group.state.value
        return self.group().state.value if GROUP in self.core.groups else ""

    def _answer(self, replies: list[tuple[Any, Any]]) -> None:
        super()._answer(replies)
        self.lines += [f"    to {self._senders[token]}: {words(answer)}" for token, answer in replies]

    def pass_time(self, seconds: float) -> None:
        self.lines.append(f"{seconds:g} s pass")
        super().pass_time(seconds)

    def commit_in_transaction(self, producer: tuple[int, int], offset: int, member_id: str, generation: int) -> None:
        """Send TxnOffsetCommit for t-0."""
        topics = [TxnOffsetCommitRequestTopic("t", [TxnOffsetCommitRequestPartition(0, offset)])]
        fields = {"transactional_id": ID, "group_id": GROUP, "producer_id": producer[0], "producer_epoch": producer[1]}
        member = {"member_id": member_id, "generation_id": generation}
        self.send(TransactionalCommit(TxnOffsetCommitRequest(topics=topics, **fields, **member)), 4)

    def write_marker(self, markers: TransactionMarkers) -> None:
        marker = EndTransactionMarker(markers.committed, markers.coordinator_epoch)
        self.send(EndTransaction(markers.producer_id, markers.epoch, marker), 1)

    def fetch_offset(self, *, require_stable: bool) -> None:
        """Send OffsetFetch for t-0."""
        self.lines.append(f"{self.who}: OffsetFetch t-0{', require_stable' if require_stable else ''}")
        wanted = [OffsetFetchRequestTopics("t", partition_indexes=[0])]
        answer = finished(fetched(self.core.offsets, GROUP, wanted, require_stable=require_stable))
        partition = answer.topics[0].partitions[0]
        self.lines.append(f"    to {self.who}: {_code(partition.error_code) or f'offset {partition.committed_offset}'}")


class TransactionScribe(TransactionDesk):
    """``who`` sends the next requests. ``orders`` appends its own records and markers, if it is there."""

    def __init__(self, lines: list[str] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.lines = [] if lines is None else lines
        self.orders: PartitionScribe | None = None
        self.who = ""
        self._senders: dict[int, str] = {}

    def send(self, message: Any, version: int) -> int:
        token = next(self._tokens)
        self._senders[token] = self.who
        self.lines.append(f"{self.who}: {words(message)}")
        self.step(CoordinatorRequest(token, message, version))
        return token

    def step(self, event: TransactionEvent) -> None:
        written, position, markers = len(self.written), len(self.lines), len(self.markers)
        super().step(event)
        self.lines[position:position] = [f"    writes {_transaction_record(each)}" for each in self.written[written:]]
        self.lines += [f"    sends {words(each)}" for each in self.markers[markers:]]

    def _answer(self, replies: list[tuple[Any, Any]]) -> None:
        super()._answer(replies)
        self.lines += [f"    to {self._senders[token]}: {words(answer)}" for token, answer in replies]

    def write_markers(self, *partitions: tuple[str, int]) -> None:
        chosen = partitions or self.markers[0].partitions
        self.lines.append(f"leader: wrote the marker in {_named(chosen)}")
        if self.orders is not None:
            self.orders.append_marker(self.markers[0])
        super().write_markers(*partitions)

    def pass_time(self, seconds: float) -> None:
        self.lines.append(f"{seconds:g} s pass")
        super().pass_time(seconds)

    def list_transactions(self, producer_id: int) -> None:
        self.lines.append(f"{self.who}: ListTransactions, producer {producer_id}")
        wanted = finished(transaction_filter(ListTransactionsRequest(producer_id_filters=[producer_id])))
        for each in finished(listed(self.core.entries, wanted, self.now)):
            self.lines.append(f'    to {self.who}: "{each.transactional_id}", {each.transaction_state}')

    def describe(self) -> None:
        self.lines.append(f'{self.who}: DescribeTransactions "{ID}"')
        answer = finished(described(self.core.entries, ID))
        partitions = [(topic.topic, index) for topic in answer.topics for index in topic.partitions]
        self.lines.append(f"    to {self.who}: {answer.transaction_state}, {_named(partitions) or 'no partitions'}")

    def reload(self) -> None:
        self.lines.append("the coordinator is killed; another broker loads the partition")
        super().reload()
        self.lines += [f"    sends {words(each)}" for each in self.markers]


@singledispatch
def words(message: Any) -> str:
    """The fields of a message that matter here."""
    raise TypeError(f"no words for {type(message).__name__}")


@words.register
def _(message: JoinGroupRequest) -> str:
    return f"JoinGroup, member id {message.member_id or 'none yet'}"


@words.register
def _(message: JoinGroupResponse) -> str:
    if message.error_code:
        return f"{ErrorCode(message.error_code).name}, member id {message.member_id}"
    members = f", members {', '.join(each.member_id for each in message.members)}" if message.members else ""
    leader = f"leader {message.leader}" if message.leader else "no leader"
    return f"generation {message.generation_id}, {message.protocol_name}, {leader}{members}"


@words.register
def _(message: SyncGroupRequest) -> str:
    plan = [f"{each.member_id} gets {_assigned(each.assignment)}" for each in message.assignments]
    return f"SyncGroup, generation {message.generation_id}{': ' if plan else ''}{', '.join(plan)}"


@words.register
def _(message: SyncGroupResponse) -> str:
    return _code(message.error_code) or f"use {_assigned(message.assignment)}"


@words.register
def _(message: HeartbeatRequest) -> str:
    return f"Heartbeat, generation {message.generation_id}"


@words.register
def _(message: HeartbeatResponse) -> str:
    return _code(message.error_code) or "ok"


@words.register
def _(message: EndTxnResponse) -> str:
    following = "" if message.producer_epoch < 0 else f", the next epoch is {message.producer_epoch}"
    return _code(message.error_code) or f"ok{following}"


@words.register
def _(message: ConsumerGroupHeartbeatRequest) -> str:
    epoch = {0: "epoch 0: joins", -1: "epoch -1: leaves"}.get(message.member_epoch, f"epoch {message.member_epoch}")
    topics = f", subscribes to {', '.join(message.subscribed_topic_names)}" if message.subscribed_topic_names else ""
    owned = "" if message.topic_partitions is None else f", owns {_owned(message.topic_partitions)}"
    return f"ConsumerGroupHeartbeat, {epoch}{topics}{owned}"


@words.register
def _(message: ConsumerGroupHeartbeatResponse) -> str:
    if message.error_code:
        return ErrorCode(message.error_code).name
    given = "" if message.assignment is None else f", use {_owned(message.assignment.topic_partitions)}"
    return f"epoch {message.member_epoch}{given}"


@words.register
def _(message: InitProducerIdRequest) -> str:
    limit_ms = message.transaction_timeout_ms
    return f'InitProducerId "{message.transactional_id}"{"" if limit_ms == TIMEOUT else f", timeout {limit_ms} ms"}'


@words.register
def _(message: InitProducerIdResponse) -> str:
    return _code(message.error_code) or f"producer {message.producer_id}, epoch {message.producer_epoch}"


@words.register
def _(message: AddPartitionsToTxnTransaction) -> str:
    partitions = [(topic.name, index) for topic in message.topics for index in topic.partitions]
    # The driver makes this message from a client's AddOffsetsToTxn, too, which names the group.
    name = "AddOffsetsToTxn" if {topic for topic, _ in partitions} == {OFFSETS_TOPIC} else "AddPartitionsToTxn"
    return f"{name} {_named(partitions)}, epoch {message.producer_epoch}"


@words.register
def _(message: AddPartitionsToTxnResult) -> str:
    codes = {each.partition_error_code for topic in message.topic_results for each in topic.results_by_partition}
    return ", ".join(ErrorCode(code).name for code in sorted(codes) if code) or "ok"


@words.register
def _(message: EndTxnRequest) -> str:
    return f"EndTxn, {_end(message.committed)}, epoch {message.producer_epoch}"


@words.register
def _(markers: TransactionMarkers) -> str:
    return f"WriteTxnMarkers, {_end(markers.committed)}, epoch {markers.epoch}: {_named(markers.partitions)}"


@words.register
def _(sent: TransactionalCommit) -> str:
    message = sent.message
    offsets = [
        f"{topic.name}-{each.partition_index} at {each.committed_offset}"
        for topic in message.topics
        for each in topic.partitions
    ]
    return f"TxnOffsetCommit, {', '.join(offsets)}, generation {message.generation_id}"


@words.register
def _(message: TxnOffsetCommitResponse) -> str:
    return _code(message.topics[0].partitions[0].error_code) or "ok"


@words.register
def _(message: EndTransaction) -> str:
    return f"WriteTxnMarkers, {_end(message.marker.committed)}, epoch {message.producer_epoch}: {OFFSETS_TOPIC}-0"


@words.register
def _(code: ErrorCode) -> str:
    return _code(code) or "ok"


@words.register
def _(message: LeaveGroupRequest) -> str:
    return "LeaveGroup"


@words.register
def _(message: LeaveGroupResponse) -> str:
    return ", ".join(_code(each.error_code) or "ok" for each in message.members)


def _assigned(data: bytes) -> str:
    """The partitions of an assignment in the embedded protocol of classic consumers."""
    message = decode(ConsumerProtocolAssignment, version_of(data), data, VERSION.size)[0]
    return " ".join(f"{each.topic}-{index}" for each in message.assigned_partitions for index in each.partitions)


def _end(committed: bool) -> str:
    return "commit" if committed else "abort"


def _code(code: int) -> str:
    return ErrorCode(code).name if code else ""


def _named(partitions: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{topic}-{index}" for topic, index in sorted(partitions))


def _owned(topics: Iterable[Any]) -> str:
    """Partitions of the one topic ``t``, which requests and records name by its id."""
    return " ".join(f"t-{index}" for topic in topics for index in sorted(topic.partitions)) or "nothing"


def _group_record(stored: StoredRecord) -> str:
    if stored.is_committed is not None:
        return f"the {_end(stored.is_committed)} marker of producer {stored.producer_id}"
    record = decode_record(stored.key, stored.value, stored.producer_id)
    if isinstance(record, OffsetRecord) and record.committed is not None:
        offset = f"offset {record.committed.offset} of {record.topic}-{record.partition}"
        return f"{offset} in the transaction of producer {record.producer_id}"
    assert stored.key is not None
    found = decode_consumer_record(stored.key, stored.value)
    if found is None:
        return _classic_record(stored)
    member = getattr(found.key_message, "member_id", "")
    match found.message:
        case None:
            return f"a tombstone of {type(found.key_message).__name__.removesuffix('Key')}, member {member}"
        case ConsumerGroupMetadataValue() as value:
            return f"group epoch {value.epoch}"
        case ConsumerGroupMemberMetadataValue() as value:
            return f"the subscription of {member}: {', '.join(value.subscribed_topic_names)}"
        case ConsumerGroupTargetAssignmentMetadataValue() as value:
            return f"assignment epoch {value.assignment_epoch}"
        case ConsumerGroupTargetAssignmentMemberValue() as value:
            return f"the target of {member}: {_owned(value.topic_partitions)}"
        case ConsumerGroupCurrentMemberAssignmentValue() as value:
            revoking = _owned(value.partitions_pending_revocation)
            rest = "" if revoking == "nothing" else f", which has to give up {revoking}"
            return f"{member} in epoch {value.member_epoch}: {_owned(value.assigned_partitions)}{rest}"
        case _:
            return type(found.message).__name__


def _classic_record(stored: StoredRecord) -> str:
    if stored.value is None:
        return "the group: deleted"
    value = unframed(GroupMetadataValue, stored.value)
    members = ", ".join(f"{each.member_id}: {_assigned(each.assignment)}" for each in value.members)
    return f"the group in generation {value.generation}, {members or 'no members'}"


def _transaction_record(stored: StoredRecord) -> str:
    record = finished(decode_transaction(stored.key, stored.value))
    if record is None or record.transaction is None:
        return f"{ID}: deleted"
    state = record.transaction
    partitions = f": {_named(state.partitions)}" if state.partitions else ""
    return (
        f"{state.status.name.title().replace('_', '')}, producer {state.producer_id}, epoch {state.epoch}{partitions}"
    )
