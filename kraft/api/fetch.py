"""Fetch (key 1): read record batches, and wait for them if needed; at a controller, of the metadata log (KIP-595).

Versions 4 to 18 at a broker, 12 to 18 at a controller.

| version | change |
|---|---|
| 4 | isolation level, aborted transactions |
| 5 | log start offset |
| 6 | KAFKA_STORAGE_ERROR; before, NOT_LEADER_OR_FOLLOWER |
| 7 | fetch sessions (KIP-227) |
| 9 | the leader epoch that the client knows (KIP-320) |
| 11 | rack of the consumer (KIP-392) |
| 12 | flexible; diverging epochs |
| 13 | topics by id |
| 15 | replica id moved into a tagged field (KIP-903) |
| 16 | the leader of a partition that is led elsewhere, with its address (KIP-951) |
| 17 | directory ids of replicas (KIP-853) |
| 18 | the high watermark that the replica of the metadata log knows (KIP-1166); a broker ignores it |

The broker responds at once if there is an error, if there are ``min_bytes``, or if ``max_wait_ms`` is 0. Otherwise the
request is parked until a partition grows or the time is over. An unknown partition does not end the wait for others, as
in Kafka: a client that repeats the request would never pause. ``max_bytes`` limits the whole response, but the first
batch is always sent whole, so that a consumer makes progress. Record bytes stay in their file until the socket takes
them.

A consumer reads up to the high watermark, or the last stable offset with read_committed. A follower reads to the end of
the log. Its fetch offset is the end of its copy, which may advance the high watermark. A throttled follower that is not
in sync gets nothing while the rate is exceeded (KIP-73).

A controller's listener has only the metadata log, and the quorum's core makes the response: parked until the log grows
beyond the offset, or ``max_wait_ms`` is over.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import trio

from kraft.api.alive_brokers import node_endpoints
from kraft.api.context import BrokerContext, ControllerContext
from kraft.api.partitions import (
    MAX_COPIED_BYTES,
    READ_FAILURES,
    ChangedPartitions,
    PartitionWatcher,
    ReadFailure,
    refusal_of,
)
from kraft.api.quorum_requests import submit_to_quorum
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.broker.fetch_session import AT_ONCE, Answered, FetchContext, TopicKey
from kraft.broker.leadership import ANY_BROKER_EPOCH, FollowerFetched
from kraft.messages.fetch_request import FetchPartition, FetchRequest
from kraft.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from kraft.messages.registry import ApiKey
from kraft.replication.partition import HostedPartition
from kraft.rpc.channel import UNCOUNTED_ELEMENTS, Parked, Reply, Request
from kraft.storage.open_files import OPEN_FILES
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.mapped import mapped
from kraft.wire.splice import FileSlice, Records
from kraft.world.slices import Slices, in_slices, next_slice

ROW = Api(
    ApiKey.FETCH,
    versions={ListenerType.BROKER: (4, 18), ListenerType.ZK_BROKER: (4, 18), ListenerType.CONTROLLER: (12, 18)},
    permissions=((Operation.READ, Resource.TOPIC), (Operation.CLUSTER_ACTION, Resource.CLUSTER)),
    quota=Quota.FETCH,
)

READ_COMMITTED = 1
STORAGE_ERROR_VERSION = 6
RACK_VERSION = 11
TOPIC_IDS_VERSION = 13
REPLICA_STATE_VERSION = 15
CURRENT_LEADER_VERSION = 16
PARTITIONS_PER_SLICE = 128
"""Not a Kafka setting. How many partitions a request looks at before other tasks run: one to two milliseconds."""
_LAST_OF_SLICE = PARTITIONS_PER_SLICE - 1
_EACH_STEP = 1
"""The cost of a slice of the session's work, each step of which is as long as a slice may be."""
_STALE = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
_UNKNOWN = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
_NOTHING = b""


async def at_broker(broker: BrokerContext, request: Request, message: FetchRequest) -> Reply:
    _name_metrics(request, message)
    by_id = request.api_version >= TOPIC_IDS_VERSION
    found = broker.fetch_sessions.context(message, uses_topic_ids=by_id, now=broker.clock.now_s())
    context = await in_slices(found, _EACH_STEP)
    poll = _Poll(broker, request, message, context)
    if len(context.wanted) >= PARTITIONS_PER_SLICE:
        return Parked(partial(poll.run, request))
    await poll.read(first=True)
    return await poll.response() if poll.is_complete else Parked(poll.wait)


at_zk_broker = at_broker


async def at_controller(controller: ControllerContext, request: Request, message: FetchRequest) -> Reply:
    _name_metrics(request, message)
    return await submit_to_quorum(controller, request, message)


def _name_metrics(request: Request, message: FetchRequest) -> None:
    """Name them by the sender, beside Fetch (``RequestChannel.Request.updateRequestMetrics``)."""
    is_follower = _replica_id(message, request.api_version) >= 0
    request.metrics_name = "FetchFollower" if is_follower else "FetchConsumer"


def _replica_id(message: FetchRequest, version: int) -> int:
    return message.replica_state.replica_id if version >= REPLICA_STATE_VERSION else message.replica_id


class _Poll:
    """One Fetch request until its response.

    A parked request keeps the sum of the bytes that its partitions have. After a wake it looks only at the partitions
    that changed. Like Kafka's ``DelayedFetch``, it counts each partition alone. For the response it reads in the order
    of the request, within ``max_bytes``, and keeps the answers of the partitions that have nothing new.
    """

    def __init__(self, broker: BrokerContext, request: Request, message: FetchRequest, context: FetchContext) -> None:
        self._broker, self._message, self._context = broker, message, context
        self._version = version = request.api_version
        self._listener = request.connection.listener
        self._replica_id = _replica_id(message, version)
        has_epoch = version >= REPLICA_STATE_VERSION
        self._broker_epoch = message.replica_state.replica_epoch if has_epoch else ANY_BROKER_EPOCH
        self._is_follower = self._replica_id >= 0
        self._committed = message.isolation_level == READ_COMMITTED and not self._is_follower
        self._max_bytes = min(message.max_bytes, broker.config.network.fetch_max_bytes)
        self._answers: list[Answered] = []
        self._size = 0
        self._throttled = 0
        """The bytes of throttled partitions for a follower."""
        self._failed = False
        self._leaders: dict[int, None] = {}
        """The leaders that the answers name."""
        self._seen: dict[int, tuple[HostedPartition, int]] = {}
        """By position in the request, each known partition with its number of changes at the first read."""

    @property
    def is_complete(self) -> bool:
        """Whether the response can go out now."""
        size, message = self._size, self._message
        is_enough = size >= message.min_bytes or size >= self._max_bytes
        return is_enough or self._failed or message.max_wait_ms <= 0 or not self._seen

    async def response(self) -> FetchResponse:
        if self._throttled:
            self._broker.leader_throttle.record(self._throttled)
        session_id, topics = await in_slices(self._context.respond(self._answers, self._known_name), _EACH_STEP)
        endpoints = node_endpoints(self._broker.image, self._listener, self._leaders, NodeEndpoint)
        return FetchResponse(session_id=session_id, responses=topics, node_endpoints=endpoints)

    async def run(self, request: Request) -> FetchResponse:
        """Read the partitions, and wait if they have too little. A request may be small and its session large."""
        if len(self._context.wanted) > UNCOUNTED_ELEMENTS:
            await request.wait_for_room(len(self._context.wanted))
        await self.read(first=True)
        return await self.response() if self.is_complete else await self.wait()

    async def wait(self) -> FetchResponse:
        """Wait after the first read until there are ``min_bytes``, or an error, or ``max_wait_ms`` is over."""
        deadline = trio.current_time() + self._message.max_wait_ms / 1000
        counted, changes = await self._release(), ChangedPartitions[int]()
        stops: list[Callable[[], None]] = []
        try:
            for watched, (position, (partition, number)) in enumerate(self._seen.items()):
                if watched % PARTITIONS_PER_SLICE == _LAST_OF_SLICE:
                    await next_slice()
                stops.append(partition.watch(PartitionWatcher(changes, position), uncommitted=self._is_follower))
                if partition.changes != number:
                    changes.add(position)
            with trio.move_on_at(deadline):
                await self._until_complete(counted, changes)
        finally:
            for stop in stops:
                stop()
        await self.read()
        return await self.response()

    async def _release(self) -> dict[int, int]:
        """Drop the records of the first read: a parked request holds no open file, nor a copy. Return their sizes."""
        counted = {}
        for position, (_, data) in enumerate(self._answers):
            if data.records:
                counted[position] = len(data.records)
                data.records = _NOTHING
            if position % AT_ONCE == AT_ONCE - 1:
                await next_slice()
        return counted

    async def _until_complete(self, counted: dict[int, int], changes: ChangedPartitions[int]) -> None:
        slices = Slices(PARTITIONS_PER_SLICE)
        while not self.is_complete:
            position = await changes.next()
            await slices.spend()
            before = counted.get(position, 0)
            counted[position] = self._count(*self._context.wanted[position])
            self._size += counted[position] - before

    def _count(self, key: TopicKey, wanted: FetchPartition) -> int:
        """Return how many bytes a partition has for a response. Notes an error, which completes the request."""
        try:
            partition = self._find(key, wanted)
            if _diverging(partition, wanted) is None:
                return len(self._records(partition, wanted, self._max_bytes, first=True) or b"")
        except READ_FAILURES:
            pass
        self._failed = True
        return 0

    def _name(self, key: TopicKey) -> str:
        return self._broker.replicas.name_of(key.topic_id) if self._version >= TOPIC_IDS_VERSION else key.name

    def _known_name(self, key: TopicKey) -> str:
        topic = self._broker.replicas.image.topics.get(key.topic_id)
        return key.name if topic is None else topic.name

    def _find(self, key: TopicKey, wanted: FetchPartition) -> HostedPartition:
        """Return the partition if this reader may read it here. Raises KafkaError."""
        replicas = self._broker.replicas
        # A leader that knows the consumer's rack may have sent it here (KIP-392).
        serves_any = self._version >= RACK_VERSION and not self._is_follower
        find = replicas.replica_of if serves_any else replicas.leader_of
        partition = find(self._name(key), wanted.partition)
        partition.check_epoch(wanted.current_leader_epoch)
        if self._is_follower and partition.leadership is not None:
            partition.leadership.check(self._replica_id, self._broker_epoch)
        return partition

    async def read(self, *, first: bool = False) -> None:
        """Read all partitions in order, for the response.

        ``first`` says that this is the first read: only that one counts as a fetch of the follower.
        """
        former, self._answers = self._answers, []
        self._size, self._throttled, self._failed, self._leaders = 0, 0, False, {}
        for position, (key, wanted) in enumerate(self._context.wanted):
            if position % PARTITIONS_PER_SLICE == _LAST_OF_SLICE:
                await next_slice()
            if first or not self._has_nothing_new(position, wanted):
                data = self._answer_of(key, wanted, counts=first)
                self._answers.append((key, data))
                self._size += len(data.records or b"")
            else:
                self._answers.append(former[position])

    def _has_nothing_new(self, position: int, wanted: FetchPartition) -> bool:
        seen = self._seen.get(position)
        if seen is None:
            return True  # unknown at the first read
        partition, changes = seen
        return partition.changes == changes and wanted.fetch_offset == self._upper(partition)

    def _answer_of(self, key: TopicKey, wanted: FetchPartition, *, counts: bool) -> PartitionData:
        """Return the result of one partition. A file that cannot be read concerns this partition alone."""
        try:
            return self._served(key, wanted, counts=counts)
        except READ_FAILURES as failure:
            # A later read looks only at partitions that the first one has served.
            return self._refused(key, wanted, self._refusal(key, wanted, failure, was_served=not counts))

    def _refusal(self, key: TopicKey, wanted: FetchPartition, failure: ReadFailure, *, was_served: bool) -> KafkaError:
        """Return the error for the response. The caller's frame gives it no name: that would be a cycle with its
        traceback.
        """
        refusal = refusal_of(failure, f"{key.name or key.topic_id}-{wanted.partition}")
        if refusal.code is ErrorCode.UNKNOWN_TOPIC_ID:
            topic = self._context.known_topic(key, wanted.partition)
            if 0 <= wanted.partition < self._broker.replicas.partition_count(topic):
                return KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID)  # the topic was deleted and created again
            if topic or was_served:
                return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)  # the topic was deleted
        return refusal

    def _served(self, key: TopicKey, wanted: FetchPartition, *, counts: bool) -> PartitionData:
        partition = self._find(key, wanted)
        diverging = _diverging(partition, wanted)
        may_hold_file = OPEN_FILES.has_room()
        most = self._max_bytes if may_hold_file else min(self._max_bytes, MAX_COPIED_BYTES)
        if diverging is None:
            records = self._records(partition, wanted, most - self._size, first=self._size == 0)
        else:
            self._failed = True
            records = _NOTHING
        if self._is_follower and records and self._broker.leader_throttle.applies_to(partition):
            self._throttled += len(records)
        if counts:
            if self._is_follower and diverging is None:
                self._fetched(partition, wanted)
            self._seen[len(self._answers)] = partition, partition.changes
        data = self._answer(partition, wanted, records)
        if isinstance(records, FileSlice) and not may_hold_file:
            data.records = records.copy()
        if diverging is not None:
            data.diverging_epoch = diverging
        return data

    def _fetched(self, partition: HostedPartition, wanted: FetchPartition) -> None:
        event = FollowerFetched(self._replica_id, self._broker_epoch, wanted.fetch_offset, wanted.log_start_offset)
        partition.fetched(self._broker.clock.now_s(), event)

    def _upper(self, partition: HostedPartition) -> int:
        """Return the offset where the log ends for this reader."""
        if self._is_follower:
            return partition.log.log_end_offset
        return partition.last_stable_offset if self._committed else partition.high_watermark

    def _records(self, partition: HostedPartition, wanted: FetchPartition, left: int, *, first: bool) -> Records:
        log = partition.log
        upper = self._upper(partition)
        if wanted.fetch_offset == upper:
            return _NOTHING
        if not log.log_start_offset <= wanted.fetch_offset <= log.log_end_offset:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if wanted.fetch_offset > upper or (left <= 0 and not first):
            return _NOTHING
        if self._is_follower and self._is_held_back(partition):
            return _NOTHING
        size = max(0, min(left, wanted.partition_max_bytes))
        return log.read(wanted.fetch_offset, size, upper, min_one_message=first) or _NOTHING

    def _is_held_back(self, partition: HostedPartition) -> bool:
        """Whether the throttle lets the follower wait (ReplicaManager.shouldLeaderThrottle). Not if it is in sync."""
        leadership, throttle = partition.leadership, self._broker.leader_throttle
        is_behind = leadership is not None and self._replica_id not in leadership.isr
        return is_behind and throttle.applies_to(partition) and throttle.is_exceeded

    def _answer(self, partition: HostedPartition, wanted: FetchPartition, records: Records) -> PartitionData:
        return PartitionData(
            partition_index=wanted.partition,
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=partition.log.log_start_offset,
            aborted_transactions=_aborted(partition, wanted, records) if self._committed else None,
            records=records,
        )

    def _refused(self, key: TopicKey, wanted: FetchPartition, refused: KafkaError) -> PartitionData:
        self._failed = self._failed or refused.code not in _UNKNOWN
        is_unknown_code = self._version < STORAGE_ERROR_VERSION and refused.code is ErrorCode.KAFKA_STORAGE_ERROR
        answer = PartitionData(
            partition_index=wanted.partition,
            error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER if is_unknown_code else refused.code,
            high_watermark=-1,
            aborted_transactions=[] if refused.code in _UNKNOWN else None,
            records=_NOTHING,
        )
        if refused.code in _STALE and self._version >= CURRENT_LEADER_VERSION:
            leader, epoch = self._broker.replicas.known_leader(self._name(key), wanted.partition)
            answer.current_leader = LeaderIdAndEpoch(leader, epoch)
            self._leaders[leader] = None
        return answer


def _aborted(partition: HostedPartition, wanted: FetchPartition, records: Records) -> list[AbortedTransaction]:
    """Return the transactions in ``records`` that a read_committed consumer must skip (KIP-98)."""
    if not isinstance(records, FileSlice) or not records.length:
        return []
    found = partition.log.segments.aborted_in(records, wanted.fetch_offset)
    return [AbortedTransaction(each.producer_id, each.first_offset) for each in found]


def _diverging(partition: HostedPartition, wanted: FetchPartition) -> EpochEndOffset | None:
    """Return where the reader's log diverges, if its ``last_fetched_epoch`` ends elsewhere here; else None (KIP-320,
    KIP-595).

    Raises KafkaError OFFSET_OUT_OF_RANGE if the epoch is unknown here, or its records are deleted.
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

    def refused(wanted: FetchPartition) -> PartitionData:
        return PartitionData(partition_index=wanted.partition, error_code=code, high_watermark=-1, records=_NOTHING)

    return FetchResponse(
        responses=mapped(
            message.topics,
            lambda topic: FetchableTopicResponse(topic=topic.topic, partitions=mapped(topic.partitions, refused)),
        )
    )
