"""ShareFetch (key 78): acquire records for a member of a share group (KIP-932).

Versions 1 to 2.

| version | change |
|---|---|
| 2 | the acquire mode (KIP-1206), and renewals of locks (KIP-1222) |

Version 0 was that of a preview. A request belongs to a share session and may acknowledge records of earlier ones. The
response has whole batches of the log, and names the offsets that the member has acquired.

The request waits as a Fetch does: until there are ``min_bytes``, or an error, or ``max_wait_ms`` are over. A request
that waits holds no records, so the first one that wakes takes what is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from uuid import UUID

import attrs
import trio

from kraft.api.alive_brokers import node_endpoints
from kraft.api.context import BrokerContext
from kraft.api.partitions import MAX_COPIED_BYTES, READ_FAILURES, ChangedPartitions, PartitionWatcher, refusal_of
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.api.share_requests import RENEWALS_VERSION, Acknowledgements, lock_timeout_ms, member_of, note_leader
from kraft.broker.share.partition import Acquisition, SharePartition
from kraft.broker.share.session import FINAL_EPOCH, INITIAL_EPOCH, SessionKey, SharedPartition, ShareSession
from kraft.config.group import group_value
from kraft.coordination.share_partitions import LedSharePartition
from kraft.coordinator.share.state import SharePartitionKey
from kraft.messages.registry import ApiKey
from kraft.messages.share_fetch_request import ShareFetchRequest
from kraft.messages.share_fetch_response import (
    AcquiredRecords,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from kraft.records.batch import HEADER_SIZE, BatchHeader, parse_header
from kraft.rpc.channel import Parked, Reply, Request
from kraft.storage.open_files import OPEN_FILES
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.splice import FileSlice
from kraft.world.slices import Slices, next_slice

ROW = Api(
    ApiKey.SHARE_FETCH,
    versions={ListenerType.BROKER: (1, 2)},
    permissions=((Operation.READ, Resource.GROUP), (Operation.READ, Resource.TOPIC)),
    quota=Quota.FETCH,
)

BATCHES_MODE, RECORD_LIMIT_MODE = 0, 1
_SLICE_BATCHES = 100
_NOTHING = b""
_LOAD_WAIT_S = 1.0
"""Not a Kafka setting. How long a ShareFetch waits at least for the states of its partitions, the first time."""


async def at_broker(broker: BrokerContext, request: Request, message: ShareFetchRequest) -> Reply:
    member = member_of(broker, request, message)
    renews = request.api_version >= RENEWALS_VERSION and message.is_renew_ack
    if renews and (message.max_bytes or message.min_bytes or message.max_records or message.max_wait_ms):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "A request that renews locks fetches nothing: its limits must be 0."
        )
    if message.share_acquire_mode not in (BATCHES_MODE, RECORD_LIMIT_MODE):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Unknown acquire mode.")
    acknowledges = any(partition.acknowledgement_batches for topic in message.topics for partition in topic.partitions)
    named = [(topic.topic_id, each.partition_index) for topic in message.topics for each in topic.partitions]
    forgotten = [(topic.topic_id, index) for topic in message.forgotten_topics_data for index in topic.partitions]
    try:
        wanted = broker.coordinators.shares.sessions.fetch(
            member, message.share_session_epoch, named, forgotten, acknowledges=acknowledges
        )
    except KafkaError as refused:
        if refused.code is not ErrorCode.SHARE_SESSION_LIMIT_REACHED:
            raise
        return Parked(partial(_refused_later, message))
    session = broker.coordinators.shares.sessions.sessions[member]
    if message.share_session_epoch == INITIAL_EPOCH:
        request.connection.on_end = partial(_end, broker, member, session)
    acknowledgements = Acknowledgements()
    if acknowledges:
        await acknowledgements.begin(broker, member, request.api_version, message, message.topics)
    fetched = [] if renews else _rotated(list(wanted), message.share_session_epoch)
    poll = _SharePoll(broker, message, member, session, fetched)
    return Parked(partial(_serve, broker, request, message, member, poll, acknowledgements))


def _rotated(wanted: list[SharedPartition], epoch: int) -> list[SharedPartition]:
    """Begin with another partition each time, so that no partition takes all room (``PartitionRotateStrategy``)."""
    start = epoch % len(wanted) if wanted else 0
    return wanted[start:] + wanted[:start]


def _end(broker: BrokerContext, member: SessionKey, session: ShareSession) -> None:
    """Close the session that began on a connection which ended, and free the records of its member."""
    if broker.coordinators.shares.sessions.sessions.get(member) is session:
        broker.coordinators.shares.release(member)


async def _refused_later(message: ShareFetchRequest) -> ShareFetchResponse:
    """Wait as if there were no records, so that the client does not repeat the request at once."""
    await trio.sleep(max(message.max_wait_ms, 0) / 1000)
    return error(message, 0, ErrorCode.SHARE_SESSION_LIMIT_REACHED)


async def _serve(
    broker: BrokerContext,
    request: Request,
    message: ShareFetchRequest,
    member: SessionKey,
    poll: _SharePoll,
    acknowledgements: Acknowledgements,
) -> ShareFetchResponse:
    data = await poll.run()
    for where, refused in (await acknowledgements.wait()).items():
        each = data.setdefault(where, PartitionData(where[1], records=_NOTHING))
        if refused is not None:
            each.acknowledge_error_code, each.acknowledge_error_message = refused.code, refused.message
    if message.share_session_epoch == FINAL_EPOCH:
        broker.coordinators.shares.release(member)
    topics: dict[UUID, ShareFetchableTopicResponse] = {}
    leaders: dict[int, None] = {}
    slices = Slices(_SLICE_BATCHES)
    for where, each in data.items():
        await slices.spend()
        note_leader(broker, each, where, leaders)
        topics.setdefault(where[0], ShareFetchableTopicResponse(where[0])).partitions.append(each)
    return ShareFetchResponse(
        acquisition_lock_timeout_ms=lock_timeout_ms(broker, member[0]),
        responses=list(topics.values()),
        node_endpoints=node_endpoints(broker.image, request.connection.listener, leaders, NodeEndpoint),
    )


@attrs.define(eq=False)
class _SharePoll:
    """The fetching part of one ShareFetch, until it has records, an error, or no time left.

    While it waits it keeps the sum of the bytes that its partitions have. After a wake it looks only at the partitions
    that changed.
    """

    broker: BrokerContext
    message: ShareFetchRequest
    member: SessionKey
    session: ShareSession
    wanted: Sequence[SharedPartition]
    data: dict[SharedPartition, PartitionData] = attrs.Factory(dict)
    _loaded: dict[SharedPartition, tuple[LedSharePartition, SharePartition]] = attrs.Factory(dict)
    _slices: Slices = attrs.Factory(lambda: Slices(_SLICE_BATCHES))
    _changes: ChangedPartitions[SharedPartition] = attrs.Factory(ChangedPartitions)
    _sizes: dict[SharedPartition, int] = attrs.Factory(dict)
    _size: int = 0

    async def run(self) -> dict[SharedPartition, PartitionData]:
        """Return the data of each partition that has any, or an error, or that no response has named yet."""
        if self.wanted and self.message.max_records and self.message.max_bytes:
            await self._poll()
            for where in self.wanted:
                await self._name(where)
        return self.data

    async def _name(self, where: SharedPartition) -> None:
        """Name a partition without records until the member has seen it without an error (``CachedSharePartition``)."""
        data, named = self.data.get(where), self.session.partitions
        if data is None and named.get(where):
            data = self.data[where] = PartitionData(where[1], records=_NOTHING)
        if data is not None and where in named:
            named[where] = data.error_code != ErrorCode.NONE
        await self._slices.spend()

    async def _poll(self) -> None:
        deadline = trio.current_time() + max(self.message.max_wait_ms, 0) / 1000
        await self._load(max(deadline, trio.current_time() + _LOAD_WAIT_S))
        stops: list[Callable[[], None]] = []
        try:
            for where, (led, _) in self._loaded.items():
                watcher = PartitionWatcher(self._changes, where)
                stops += led.watch(watcher), led.hosted.watch(watcher)
                self._changes.add(where)
                await self._slices.spend()
            while True:
                with trio.move_on_at(deadline):
                    await self._until_enough()
                is_last = trio.current_time() >= deadline
                await self._acquire()
                if self.data or is_last:
                    return
                await next_slice()
        finally:
            for stop in stops:
                stop()

    async def _until_enough(self) -> None:
        """Wait until the partitions have ``min_bytes``, or one is refused."""
        while self._size < max(self.message.min_bytes, 1) and not self.data:
            where = await self._changes.next()
            await self._slices.spend()
            self._count(where)

    async def _load(self, deadline: float) -> None:
        """Load all partitions at once. One that is not loaded by the deadline has no records for this response."""
        opened: dict[SharedPartition, LedSharePartition] = {}
        for where in self.wanted:
            try:
                name = self.broker.replicas.name_of(where[0])
                opened[where] = self.broker.coordinators.shares.open(SharePartitionKey(self.member[0], *where), name)
            except KafkaError as refused:
                self._refuse(where, refused)
            await self._slices.spend()
        with trio.move_on_at(deadline):
            for led in opened.values():
                if not led.loaded.is_set():
                    await led.loaded.wait()
        for where, led in opened.items():
            if led.failure is not None:
                self._refuse(where, led.failure)
            elif led.core is not None:
                self._loaded[where] = led, led.core

    def _refuse(self, where: SharedPartition, refused: KafkaError) -> None:
        self._loaded.pop(where, None)
        self.data[where] = PartitionData(where[1], refused.code, refused.message, records=_NOTHING)

    def _count(self, where: SharedPartition) -> None:
        """Count the bytes that a partition has, up to ``min_bytes``. Refuse it if it cannot be read."""
        led, core = self._loaded[where]
        try:
            piece = self._piece(led, core, self.message.min_bytes)
        except READ_FAILURES as failure:
            self._refuse(where, refusal_of(failure, led.hosted.name))
            return
        size = 0 if piece is None else len(piece)
        self._size += size - self._sizes.get(where, 0)
        self._sizes[where] = size

    def _piece(self, led: LedSharePartition, core: SharePartition, max_bytes: int) -> FileSlice | None:
        """Return what a member may acquire from the log, None for nothing. Raises KafkaError, OSError."""
        if not led.is_current:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        log = led.hosted.log
        core.move_start(log.log_start_offset)
        offset = core.next_fetch_offset()
        upper = led.hosted.last_stable_offset if self._is_committed else led.hosted.high_watermark
        if offset >= upper or not core.can_acquire:
            return None
        return log.read(offset, max_bytes, upper)

    @cached_property
    def _is_committed(self) -> bool:
        """Whether the group has read_committed. A change counts from the next request on."""
        config = self.broker.coordinators.shares.group_config(self.member[0])
        return bool(group_value(config, "share.isolation.level") == "read_committed")

    async def _acquire(self) -> None:
        """Acquire from the partitions in order. If none has anything, each counts again after its next change."""
        most = min(self.message.max_bytes, self.broker.config.network.fetch_max_bytes)
        size, records = 0, self.message.max_records
        self._sizes, self._size = {}, 0
        for where, (led, core) in list(self._loaded.items()):
            await self._slices.spend()
            may_hold_file = OPEN_FILES.has_room()
            left = (most if may_hold_file else min(most, MAX_COPIED_BYTES)) - size
            if left <= 0 or records <= 0:
                return
            try:
                data = await self._acquire_one(where, led, core, left, records)
                if data is not None and isinstance(data.records, FileSlice) and not may_hold_file:
                    data.records = data.records.copy()
            except READ_FAILURES as failure:
                self._refuse(where, refusal_of(failure, led.hosted.name))
                continue
            if data is not None:
                self.data[where] = data
                size += len(data.records or b"")
                records -= sum(each.last_offset - each.first_offset + 1 for each in data.acquired_records)

    async def _acquire_one(
        self, where: SharedPartition, led: LedSharePartition, core: SharePartition, max_bytes: int, max_records: int
    ) -> PartitionData | None:
        piece = self._piece(led, core, max_bytes)
        if piece is None or not piece.length:
            return None
        offset = core.next_fetch_offset()
        most = min(max_records, self.broker.coordinators.shares.settings(self.member[0]).max_in_flight)
        headers = await self._headers(piece, offset, most)
        wanted = Acquisition(
            self.member[1],
            offset,
            [(each.base_offset, each.last_offset) for each in headers],
            most,
            max(self.message.batch_size, 1),
            self.message.share_acquire_mode == RECORD_LIMIT_MODE,
            _aborted(led, piece, offset, headers) if self._is_committed else (),
        )
        if not led.is_current:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        acquired = core.acquire(trio.current_time(), wanted)
        self.broker.coordinators.shares.note_locks(led)
        if not acquired:
            if core.next_fetch_offset() != offset:
                self._changes.add(where)  # records of aborted transactions were archived, and others may follow
            return None
        return PartitionData(
            where[1],
            records=_part(piece, headers, acquired[0].first_offset, acquired[-1].last_offset),
            acquired_records=[AcquiredRecords(*each) for each in acquired],
        )

    async def _headers(self, piece: FileSlice, offset: int, most: int) -> list[BatchHeader]:
        """Return the headers of the batches in ``piece`` that may have the first ``most`` records from ``offset`` on.

        The first batch may lie behind a gap of any length, as after a compaction.
        """
        headers: list[BatchHeader] = []
        position, end_offset = 0, offset + most
        while position + HEADER_SIZE <= piece.length:
            header = parse_header(os.pread(piece.file.fileno(), HEADER_SIZE, piece.position + position))
            if not headers:
                end_offset = max(offset, header.base_offset) + most
            elif header.base_offset >= end_offset:
                break
            headers.append(header)
            position += header.size
            await self._slices.spend()
        return headers


def _aborted(
    led: LedSharePartition, piece: FileSlice, offset: int, headers: Iterable[BatchHeader]
) -> list[tuple[int, int]]:
    """Return the offsets of the batches of aborted transactions."""
    transactions = led.hosted.log.segments.aborted_in(piece, offset)
    return [
        (header.base_offset, header.last_offset)
        for header in headers
        if header.is_transactional
        and not header.is_control
        and any(
            each.producer_id == header.producer_id and each.first_offset <= header.base_offset <= each.last_offset
            for each in transactions
        )
    ]


def _part(piece: FileSlice, headers: Iterable[BatchHeader], first: int, last: int) -> FileSlice:
    """Return the batches of ``piece`` that have any of these offsets, and those between them."""
    begin = length = 0
    for header in headers:
        if header.last_offset < first:
            begin += header.size
        elif header.base_offset <= last:
            length += header.size
    return FileSlice(piece.file, piece.position + begin, length)


def error(message: ShareFetchRequest, version: int, code: ErrorCode, text: str | None = None) -> ShareFetchResponse:
    return ShareFetchResponse(error_code=code, error_message=text or code.message)
