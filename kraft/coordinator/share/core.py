"""The pure coordinator of the share partitions of one partition of ``__share_group_state``.

``now`` is the system's clock in seconds. The leader of a topic's partition reads the state of each share group here and
writes the deliveries that it completes. Two epochs fence. The leader epoch of the partition stops the writes of an
earlier leader. The group coordinator raises the state epoch when it initialises the state again.

A decision counts at once, and the runtime replies from it once it is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from uuid import UUID

import attrs

from kraft.coordinator.core import (
    NO_DEADLINE,
    Committed,
    CoordinatorDeadlineReached,
    CoordinatorEffects,
    CoordinatorRequest,
    StoredRecord,
    Token,
)
from kraft.coordinator.share.records import ShareRecord, ShareUpdate, decode_share_record, share_record
from kraft.coordinator.share.state import (
    NO_EPOCH,
    NO_START_OFFSET,
    NOT_COUNTED,
    DeliveryState,
    SharePartitionKey,
    ShareState,
    StateBatch,
    combined,
)
from kraft.messages import (
    delete_share_group_state_request as delete_request,
)
from kraft.messages import (
    delete_share_group_state_response as delete_response,
)
from kraft.messages import (
    initialize_share_group_state_request as initialize_request,
)
from kraft.messages import (
    initialize_share_group_state_response as initialize_response,
)
from kraft.messages import (
    read_share_group_state_request as read_request,
)
from kraft.messages import (
    read_share_group_state_response as read_response,
)
from kraft.messages import (
    read_share_group_state_summary_request as summary_request,
)
from kraft.messages import (
    read_share_group_state_summary_response as summary_response,
)
from kraft.messages import (
    write_share_group_state_request as write_request,
)
from kraft.messages import (
    write_share_group_state_response as write_response,
)
from kraft.metadata.steps import Steps, finished
from kraft.wire.errors import ErrorCode, KafkaError

MAX_STATE_BATCHES = 10_000
"""Not a Kafka setting. The batches of one write: the highest ``group.share.partition.max.record.locks``."""
_BATCH_BYTES = 100
"""More than a batch with one record adds to its key and value."""
_STORED_STATES = (DeliveryState.AVAILABLE, DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED)
_UNINITIALISED = "The state of this share partition is not initialised."


@attrs.frozen
class ShareStateRequest:
    """One share partition of a request. ``data`` is its element in the request, of any of the five APIs."""

    share_partition: SharePartitionKey
    data: (
        initialize_request.PartitionData
        | read_request.PartitionData
        | write_request.PartitionData
        | delete_request.PartitionData
        | summary_request.PartitionData
    )


@attrs.frozen
class TidyShareStates:
    """Time to delete the states of deleted topics, and to write snapshots of states that nobody changes.

    One step appends as much as a batch can hold. The driver repeats the event until a step appends nothing.
    """


ShareEvent = CoordinatorRequest | CoordinatorDeadlineReached | Committed[ShareRecord] | TidyShareStates
ShareEffects = CoordinatorEffects[ShareRecord]


@attrs.frozen
class ShareWorld:
    """The settings and functions that its driver passes to the coordinator.

    ``partition_count`` returns how many partitions the topic with an id has, 0 if there is none. ``may_write`` returns
    whether the partition has enough replicas in sync for an append with ``acks=all``, and ``max_batch_bytes`` its
    ``max.message.bytes``. ``updates_per_snapshot`` is ``share.coordinator.snapshot.update.records.per.snapshot``.
    """

    partition_count: Callable[[UUID], int]
    may_write: Callable[[], bool]
    max_batch_bytes: Callable[[], int]
    updates_per_snapshot: int = 500
    cold_snapshot_interval_s: float = 300.0


@attrs.define
class ShareEntry:
    """The state of one share partition, the epochs below which requests are fenced, and the updates since the last
    snapshot.
    """

    state: ShareState
    state_epoch: int
    leader_epoch: int
    updates: int = 0
    snapshot_offset: int = 0
    """The offset of the last committed snapshot."""


@attrs.define
class ShareCoordinator:
    """All share partitions of one partition. Requests have a :class:`ShareStateRequest` as their message.

    The reply is the PartitionResult of the API, also for an error.
    """

    world: ShareWorld
    entries: dict[SharePartitionKey, ShareEntry] = attrs.Factory(dict)

    @property
    def deadline(self) -> float:
        """Nothing here times out."""
        return NO_DEADLINE

    def step(self, now: float, event: ShareEvent) -> ShareEffects:
        """Run all steps of :meth:`in_steps` at once."""
        effects = self.new_effects()
        finished(self.in_steps(now, event, effects))
        return effects

    def new_effects(self) -> ShareEffects:
        return CoordinatorEffects()

    def in_steps(self, now: float, event: ShareEvent, effects: ShareEffects) -> Steps[None]:
        match event:
            case CoordinatorRequest(token=token, message=ShareStateRequest() as request):
                reply = yield from self._request(now, request, effects)
                effects.replies_once_committed.append((token, reply))
            case TidyShareStates():
                yield from self._tidy(now, effects)
            case Committed():
                for offset, record in enumerate(event.records, event.base_offset):
                    self._note_snapshot(record, offset)
                    yield 1
            case CoordinatorDeadlineReached():
                yield 1
            case _:
                raise TypeError(f"not an event of the share coordinator: {event!r}")

    # The five requests. Each returns the PartitionResult.

    def _request(self, now: float, request: ShareStateRequest, effects: ShareEffects) -> Steps[object]:
        key, data = request.share_partition, request.data
        result: object
        try:
            match data:
                case summary_request.PartitionData():
                    result = self._summary(key)
                case read_request.PartitionData():
                    result = yield from self._read(now, key, data, effects)
                case write_request.PartitionData():
                    result = yield from self._write(now, key, data, effects)
                case initialize_request.PartitionData():
                    result = yield from self._initialize(now, key, data, effects)
                case delete_request.PartitionData():
                    result = yield from self._delete(key, effects)
        except KafkaError as refused:
            return refusal(data, refused.code, refused.message)
        return result

    def _initialize(
        self, now: float, key: SharePartitionKey, data: initialize_request.PartitionData, effects: ShareEffects
    ) -> Steps[object]:
        entry = self.entries.get(key)
        self._check_partition(key)
        if entry is not None and NO_EPOCH != data.state_epoch < entry.state_epoch:
            raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)
        self._check_topic(key)
        state = ShareState(
            snapshot_epoch=0 if entry is None else entry.state.snapshot_epoch + 1,
            state_epoch=data.state_epoch,
            # Apache writes 0, and no longer fences earlier leaders once the log before this snapshot is deleted.
            leader_epoch=0 if entry is None else entry.leader_epoch,
            start_offset=data.start_offset,
            delivery_complete_count=NOT_COUNTED if data.start_offset == NO_START_OFFSET else 0,
            created_ms=round(now * 1000),
            written_ms=round(now * 1000),
        )
        yield from self._append(key, state, effects)
        return initialize_response.PartitionResult(data.partition)

    def _read(
        self, now: float, key: SharePartitionKey, data: read_request.PartitionData, effects: ShareEffects
    ) -> Steps[object]:
        entry = self._known(key)
        if NO_EPOCH != data.leader_epoch < entry.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        self._check_topic(key)
        state = entry.state
        result = read_response.PartitionResult(
            data.partition,
            state_epoch=state.state_epoch,
            start_offset=state.start_offset,
            state_batches=[read_response.StateBatch(*each) for each in state.batches],
        )
        if data.leader_epoch not in (NO_EPOCH, entry.leader_epoch):
            seen = ShareUpdate(
                state.snapshot_epoch, data.leader_epoch, state.start_offset, state.delivery_complete_count, ()
            )
            yield from self._update(now, key, entry, seen, effects)
        return result

    def _write(
        self, now: float, key: SharePartitionKey, data: write_request.PartitionData, effects: ShareEffects
    ) -> Steps[object]:
        entry = self._known(key)
        if NO_EPOCH != data.leader_epoch < entry.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        if NO_EPOCH != data.state_epoch < entry.state_epoch:
            raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)
        self._check_topic(key)
        batches = yield from _checked(data.state_batches)
        update = ShareUpdate(
            entry.state.snapshot_epoch,
            entry.state.leader_epoch,
            data.start_offset,
            data.delivery_complete_count,
            (yield from combined(batches, data.start_offset)),
        )
        yield from self._update(now, key, entry, update, effects)
        return write_response.PartitionResult(data.partition)

    def _delete(self, key: SharePartitionKey, effects: ShareEffects) -> Steps[object]:
        self._check_partition(key)
        self._check_topic(key)
        if key in self.entries:
            yield from self._append(key, None, effects)
        return delete_response.PartitionResult(key.partition)

    def _summary(self, key: SharePartitionKey) -> object:
        self._check_partition(key)
        self._check_topic(key)
        entry = self.entries.get(key)
        if entry is None:
            return summary_response.PartitionResult(key.partition, start_offset=NO_START_OFFSET)
        return summary_response.PartitionResult(
            key.partition,
            state_epoch=entry.state.state_epoch,
            leader_epoch=entry.state.leader_epoch,
            start_offset=entry.state.start_offset,
            delivery_complete_count=entry.state.delivery_complete_count,
        )

    def _check_partition(self, key: SharePartitionKey) -> None:
        if key.partition < 0:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The partition is negative.")

    def _check_topic(self, key: SharePartitionKey) -> None:
        if key.partition >= self.world.partition_count(key.topic_id):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _known(self, key: SharePartitionKey) -> ShareEntry:
        self._check_partition(key)
        entry = self.entries.get(key)
        if entry is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, _UNINITIALISED)
        return entry

    # Records.

    def _update(
        self, now: float, key: SharePartitionKey, entry: ShareEntry, update: ShareUpdate, effects: ShareEffects
    ) -> Steps[None]:
        """Append an update, or a snapshot after enough updates."""
        if entry.updates < self.world.updates_per_snapshot:
            yield from self._append(key, update, effects)
            return
        state = yield from update.applied_to(entry.state)
        now_ms = round(now * 1000)
        snapshot = attrs.evolve(state, snapshot_epoch=state.snapshot_epoch + 1, created_ms=now_ms, written_ms=now_ms)
        yield from self._append(key, snapshot, effects)

    def _append(
        self, key: SharePartitionKey, change: ShareState | ShareUpdate | None, effects: ShareEffects
    ) -> Steps[None]:
        if not self.world.may_write():
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        record = yield from share_record(key, change)
        if _BATCH_BYTES + len(record.key) + len(record.value or b"") > self.world.max_batch_bytes():
            # Apache: CoordinatorOperationExceptionHelper returns this error for RECORD_TOO_LARGE.
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        yield from self._replay(record)
        effects.append.append(record)

    def _replay(self, record: ShareRecord) -> Steps[None]:
        """Apply a record, as Apache's ``ShareCoordinatorShard.replay``."""
        key, change = record.share_partition, record.change
        entry = self.entries.get(key)
        if isinstance(change, ShareState):
            if entry is None:
                self.entries[key] = ShareEntry(change, change.state_epoch, change.leader_epoch)
                return
            entry.state = change
            entry.state_epoch = max(entry.state_epoch, change.state_epoch)
            entry.leader_epoch = max(entry.leader_epoch, change.leader_epoch)
            entry.updates = 0
        elif change is None:
            self.entries.pop(key, None)
        else:
            state = yield from change.applied_to(None if entry is None else entry.state)
            if entry is None:
                entry = self.entries[key] = ShareEntry(state, state.state_epoch, change.leader_epoch)
            entry.state = state
            entry.leader_epoch = max(entry.leader_epoch, change.leader_epoch)
            entry.updates += 1

    def _tidy(self, now: float, effects: ShareEffects) -> Steps[None]:
        """Write tombstones for the states of deleted topics, and snapshots of cold states, so that the log before them
        can be deleted (Apache: ``snapshotColdPartitions`` and ``maybeCleanupShareState``).

        While any state changes, the others get a snapshot at each interval, too. Otherwise one that never changes would
        keep the log of all.
        """
        size = _BATCH_BYTES
        now_ms = round(now * 1000)
        cold_since_ms = now_ms - self.world.cold_snapshot_interval_s * 1000
        if not self.world.may_write():
            return
        are_cold = yield from self._are_cold()
        for key, entry in list(self.entries.items()):
            yield 1
            if not self.world.partition_count(key.topic_id):
                record = yield from share_record(key, None)
            elif not are_cold and entry.state.written_ms <= cold_since_ms:
                state = attrs.evolve(entry.state, snapshot_epoch=entry.state.snapshot_epoch + 1, written_ms=now_ms)
                record = yield from share_record(key, state)
            else:
                continue
            size += _BATCH_BYTES + len(record.key) + len(record.value or b"")
            if size > self.world.max_batch_bytes():
                return
            yield from self._replay(record)
            effects.append.append(record)

    def _are_cold(self) -> Steps[bool]:
        """Return whether no state changed since its last snapshot, which was one of a cold state."""
        for entry in list(self.entries.values()):
            yield 1
            if entry.updates or entry.state.created_ms == entry.state.written_ms:
                return False
        return True

    # Loading.

    def load(self, records: Iterable[StoredRecord]) -> Steps[None]:
        """Replay the log. After each record it yields the record's size in bytes.

        Raises DecodeError if a record is damaged.
        """
        for stored in records:
            record = yield from decode_share_record(stored.key, stored.value)
            if record is not None:
                yield from self._replay(record)
                self._note_snapshot(record, stored.offset)
            yield len(stored.key or b"") + len(stored.value or b"")

    def _note_snapshot(self, record: ShareRecord, offset: int) -> None:
        entry = self.entries.get(record.share_partition)
        if entry is not None and isinstance(record.change, ShareState):
            entry.snapshot_offset = max(entry.snapshot_offset, offset)

    @property
    def redundant_offset(self) -> int:
        """No load needs the committed records below this offset: each state has a later snapshot."""
        return min((entry.snapshot_offset for entry in self.entries.values()), default=0)

    def begin(self, now: float, effects: ShareEffects) -> Steps[None]:
        """The states have no timeouts, and leave nothing unfinished."""
        yield 1

    def unload(self) -> Steps[None]:
        """Free the states, which takes long for many of them."""
        while self.entries:
            self.entries.popitem()
            yield 1

    def waiting(self) -> list[Token]:
        """Return no tokens: every request is answered, at the latest once its records are committed."""
        return []


def _checked(batches: Iterable[write_request.StateBatch]) -> Steps[list[StateBatch]]:
    """Return the batches of a write.

    Raises KafkaError INVALID_REQUEST. A state with such a batch could not be loaded by any leader.
    """
    checked = []
    for each in batches:
        batch = StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        checked.append(batch)
        is_valid = 0 <= batch.first_offset <= batch.last_offset and batch.delivery_state in _STORED_STATES
        if not is_valid or len(checked) > MAX_STATE_BATCHES:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A state batch is not valid, or there are too many.")
        if not len(checked) % 10:
            yield 1
    return checked


def refusal(data: object, code: ErrorCode, text: str | None = None) -> object:
    """Return the PartitionResult that refuses one element of a request."""
    match data:
        case initialize_request.PartitionData():
            return initialize_response.PartitionResult(data.partition, code, text or code.message)
        case write_request.PartitionData():
            return write_response.PartitionResult(data.partition, code, text or code.message)
        case delete_request.PartitionData():
            return delete_response.PartitionResult(data.partition, code, text or code.message)
        case read_request.PartitionData():
            return read_response.PartitionResult(data.partition, code, text or code.message)
        case summary_request.PartitionData():
            return summary_response.PartitionResult(data.partition, code, text or code.message)
    raise TypeError(f"not an element of a request: {data!r}")
