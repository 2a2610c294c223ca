"""Fetch (key 1): read record batches, and wait for them if needed; at a controller, of the metadata log (KIP-595).

Versions 4 to 17 at a broker, 12 to 18 at a controller.

| version | change |
|---|---|
| 4 | isolation level, aborted transactions |
| 5 | log start offset |
| 7 | fetch sessions (KIP-227) |
| 9 | the leader epoch that the client knows (KIP-320) |
| 11 | rack of the consumer (KIP-392) |
| 12 | flexible; diverging epochs |
| 13 | topics by id |
| 15 | replica id moved into a tagged field (KIP-903) |
| 16 | node endpoints |
| 17 | directory ids of replicas (KIP-853) |
| 18 | the high watermark that the replica knows (KIP-1166) |

The broker responds at once if there is an error, if there are ``min_bytes``, or if ``max_wait_ms`` is 0. Otherwise the
request is parked until a partition grows or the time is over. ``max_bytes`` limits the whole response, but the first
batch is always sent whole, so that a consumer makes progress. Record bytes stay in their file until the socket takes
them.

A consumer reads up to the high watermark, or the last stable offset with read_committed. A follower reads to the end of
the log. Its fetch offset is the end of its copy, which may advance the high watermark.

A controller's listener has only the metadata log, and the quorum's core makes the response: parked until the log grows
beyond the offset, or ``max_wait_ms`` is over.
"""

from __future__ import annotations

import trio

from kraft.api.context import BrokerContext
from kraft.api.quorum_requests import submit_to_quorum
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.broker.fetch_session import Answered, FetchContext, TopicKey, grouped_by_topic, named_partitions
from kraft.broker.leadership import ANY_BROKER_EPOCH, FollowerFetched
from kraft.messages.fetch_request import FetchPartition, FetchRequest
from kraft.messages.fetch_response import EpochEndOffset, FetchResponse, LeaderIdAndEpoch, PartitionData
from kraft.messages.registry import ApiKey
from kraft.replication.partition import HostedPartition
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.splice import FileSlice, Records

ROW = Api(
    ApiKey.FETCH,
    versions={ListenerType.BROKER: (4, 17), ListenerType.CONTROLLER: (12, 18)},
    permissions=((Operation.READ, Resource.TOPIC), (Operation.CLUSTER_ACTION, Resource.CLUSTER)),
    quota=Quota.FETCH,
)

READ_COMMITTED = 1
FLEXIBLE_VERSION = 12
TOPIC_IDS_VERSION = 13
REPLICA_STATE_VERSION = 15
_STALE = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
_UNKNOWN = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
_NOTHING = b""


async def at_broker(broker: BrokerContext, request: Request, message: FetchRequest) -> Reply:
    by_id = request.api_version >= TOPIC_IDS_VERSION
    context = broker.fetch_sessions.context(message, uses_topic_ids=by_id, now=broker.clock.now_s())
    poll = _Poll(broker, message, context, request.api_version)
    answers, size, failed = poll.read(first=True)
    if failed or size >= message.min_bytes or message.max_wait_ms <= 0 or not context.wanted:
        return _respond(context, answers)
    return Parked(poll.wait)


at_controller = submit_to_quorum


def _respond(context: FetchContext, answers: list[Answered]) -> FetchResponse:
    session_id, topics = context.respond(answers)
    return FetchResponse(session_id=session_id, responses=topics)


class _Poll:
    """One Fetch request until its response."""

    def __init__(self, broker: BrokerContext, message: FetchRequest, context: FetchContext, version: int) -> None:
        self._broker = broker
        self._message = message
        self._context = context
        self._version = version
        if version >= REPLICA_STATE_VERSION:
            self._replica_id, self._broker_epoch = message.replica_state.replica_id, message.replica_state.replica_epoch
        else:
            self._replica_id, self._broker_epoch = message.replica_id, ANY_BROKER_EPOCH
        self._is_follower = self._replica_id >= 0
        self._committed = message.isolation_level == READ_COMMITTED and not self._is_follower
        self._deadline = trio.current_time() + message.max_wait_ms / 1000

    async def wait(self) -> FetchResponse:
        """Read again each time a partition grows, until there are ``min_bytes`` or ``max_wait_ms`` is over."""
        while True:
            grown = trio.Event()
            stops = [partition.watch(grown, uncommitted=self._is_follower) for partition in self._partitions()]
            try:
                answers, size, failed = self.read()
                if failed or size >= self._message.min_bytes:
                    break
                with trio.move_on_at(self._deadline) as scope:
                    await grown.wait()
                if scope.cancelled_caught:
                    answers, _, _ = self.read()
                    break
            finally:
                for stop in stops:
                    stop()
        return _respond(self._context, answers)

    def _partitions(self) -> list[HostedPartition]:
        found = []
        for key, wanted in self._context.wanted:
            try:
                found.append(self._find(key, wanted))
            except KafkaError:
                continue
        return found

    def _name(self, key: TopicKey) -> str:
        return self._broker.replicas.name_of(key.topic_id) if self._version >= TOPIC_IDS_VERSION else key.name

    def _find(self, key: TopicKey, wanted: FetchPartition) -> HostedPartition:
        return self._broker.replicas.leader_of(self._name(key), wanted.partition)

    def read(self, *, first: bool = False) -> tuple[list[Answered], int, bool]:
        """Read all partitions once; return the responses, their total bytes, and whether any has an error.

        ``first`` says that this is the first read: only that one counts as a fetch of the follower.
        """
        answers: list[Answered] = []
        left = min(self._message.max_bytes, self._broker.config.network.fetch_max_bytes)
        size = 0
        failed = False
        for key, wanted in self._context.wanted:
            try:
                partition = self._find(key, wanted)
                partition.check_epoch(wanted.current_leader_epoch)
                if self._is_follower and partition.leadership is not None:
                    partition.leadership.check(self._replica_id, self._broker_epoch)
                diverging = _diverging(partition, wanted)
                if diverging is None:
                    data = self._read_one(partition, wanted, left, first=size == 0, counts=first)
                else:
                    failed = True
                    data = self._answer(partition, wanted, _NOTHING)
                    data.diverging_epoch = diverging
            except KafkaError as refused:
                failed = True
                data = self._refused(key, wanted, refused)
            read = data.records.length if isinstance(data.records, FileSlice) else 0
            size += read
            left -= read
            answers.append((key, data))
        return answers, size, failed

    def _read_one(
        self, partition: HostedPartition, wanted: FetchPartition, left: int, *, first: bool, counts: bool
    ) -> PartitionData:
        log = partition.log
        upper = partition.last_stable_offset if self._committed else partition.high_watermark
        if self._is_follower:
            upper = log.log_end_offset
        if wanted.fetch_offset == upper:
            records: Records = _NOTHING
        elif not log.log_start_offset <= wanted.fetch_offset <= log.log_end_offset:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        elif wanted.fetch_offset > upper or (left <= 0 and not first):
            records = _NOTHING
        else:
            size = max(0, min(left, wanted.partition_max_bytes))
            records = log.read(wanted.fetch_offset, size, upper, min_one_message=first)
        if self._is_follower and counts:
            event = FollowerFetched(self._replica_id, self._broker_epoch, wanted.fetch_offset, wanted.log_start_offset)
            partition.fetched(self._broker.clock.now_s(), event)
        return self._answer(partition, wanted, records)

    def _answer(self, partition: HostedPartition, wanted: FetchPartition, records: Records) -> PartitionData:
        return PartitionData(
            partition_index=wanted.partition,
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=partition.log.log_start_offset,
            aborted_transactions=[] if self._committed else None,
            records=records,
        )

    def _refused(self, key: TopicKey, wanted: FetchPartition, refused: KafkaError) -> PartitionData:
        answer = PartitionData(
            partition_index=wanted.partition,
            error_code=refused.code,
            high_watermark=-1,
            aborted_transactions=[] if refused.code in _UNKNOWN else None,
            records=_NOTHING,
        )
        if refused.code in _STALE and self._version >= FLEXIBLE_VERSION:
            leader, epoch = self._broker.replicas.known_leader(self._name(key), wanted.partition)
            answer.current_leader = LeaderIdAndEpoch(leader, epoch)
        return answer


def _diverging(partition: HostedPartition, wanted: FetchPartition) -> EpochEndOffset | None:
    """Return where the reader's log diverges, if its ``last_fetched_epoch`` ends elsewhere here; else None (KIP-320,
    KIP-595).

    Raises:
        KafkaError: OFFSET_OUT_OF_RANGE if the epoch is unknown here, or its records are deleted.
    """
    if wanted.last_fetched_epoch < 0:
        return None
    epoch, end_offset = partition.end_of_epoch(wanted.last_fetched_epoch)
    if epoch < 0 or wanted.fetch_offset < partition.log.log_start_offset:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch < wanted.last_fetched_epoch or end_offset < wanted.fetch_offset:
        return EpochEndOffset(epoch, end_offset)
    return None


def error(message: FetchRequest, version: int, code: ErrorCode, text: str | None = None) -> FetchResponse:
    """Version 7 and newer have the error once at the top; older ones have it in every partition."""
    if version >= 7:
        return FetchResponse(error_code=code)
    answers = [
        (key, PartitionData(partition_index=wanted.partition, error_code=code, high_watermark=-1, records=_NOTHING))
        for key, wanted in named_partitions(message)
    ]
    return FetchResponse(responses=grouped_by_topic(answers))
