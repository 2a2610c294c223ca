"""The driver of the metadata quorum: one raft core, the log in ``__cluster_metadata-0``, and the file ``quorum-state``.

Commits are made in groups: an append is written at once, and one flush at a time covers all that was appended before it
began. Nothing is committed, published or answered before the flush that covers it has returned.

Readers pull: each follows the committed log at its own pace (``next_batch``, ``follow``), the newest batches from
memory and older ones from the file. So no reader can hold up a commit, and nothing queues up for a slow one.
"""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import trio

from kraft.messages.leader_change_message import LeaderChangeMessage, Voter
from kraft.metadata.delta import Changes, MetadataError
from kraft.metadata.frame import decode_record, encode_record
from kraft.metadata.image import Image
from kraft.metadata.levels import record_version
from kraft.metadata.loader import Loader
from kraft.node.clock import Clock
from kraft.raft.core import RaftCore
from kraft.raft.events import Effects, ElectionStateWritten, LeaderChange, LogAppended, LogFlushed, Timeout
from kraft.raft.log_view import LogView
from kraft.raft.state import ElectionState
from kraft.records.batch import CorruptBatch, check_batch, iter_headers
from kraft.records.control import ControlType, control_record
from kraft.records.record import Record, encode_batch, read_records
from kraft.storage.errors import StorageError
from kraft.storage.flush import Flush
from kraft.storage.log import Log
from kraft.storage.quorum_state import FILE_NAME, NOBODY, QuorumState, read_quorum_state, write_quorum_state
from kraft.wire.codec import encode
from kraft.wire.uuids import METADATA_TOPIC_ID

#: The partition directory of the metadata log.
METADATA_PARTITION = "__cluster_metadata-0"

#: The most records of one batch: those of the largest operation of a user.
MAX_BATCH_RECORDS = 10_000

_LEADER_CHANGE_VERSION = 0
_READ_BYTES = 2**20
_BATCHES_IN_MEMORY = 1_000


@attrs.frozen
class MetadataBatch:
    """One batch of the metadata log. ``records`` is empty for a control batch, which only the quorum reads."""

    base_offset: int
    last_offset: int
    epoch: int
    timestamp_ms: int
    records: tuple[Any, ...]

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1


class Quorum:
    """A voter of the metadata quorum, and the log that it keeps.

    ``run`` owns the log; every other method may be called by any task while it runs. ``run_flush`` does the fsyncs,
    on a thread of its own; tests make it slow or let it fail.
    """

    def __init__(
        self,
        node_id: int,
        voters: tuple[int, ...],
        log: Log,
        clock: Clock,
        *,
        run_flush: Callable[[Flush], None] = Flush.run,
    ) -> None:
        self._log = log
        self._clock = clock
        self._run_flush = run_flush
        self._state_path = os.path.join(log.directory, FILE_NAME)
        self._voters = voters
        stored = read_quorum_state(self._state_path) or QuorumState()
        election = ElectionState(stored.leader_epoch, _known(stored.leader_id), _known(stored.voted_id))
        view = LogView(log.epochs.entries, log.log_end_offset, log.log_start_offset)
        now = trio.current_time()
        self._core = RaftCore(node_id, voters, election, view, now, jitter=random.random)
        self._recent: deque[MetadataBatch] = deque(maxlen=_BATCHES_IN_MEMORY)
        self._flush_wanted = trio.Event()
        self._advanced = trio.Event()

    @property
    def leader_id(self) -> int | None:
        return self._core.leader_id

    @property
    def epoch(self) -> int:
        """The epoch of the quorum, which counts leaders."""
        return self._core.epoch

    @property
    def high_watermark(self) -> int:
        """Everything below is committed."""
        return self._core.high_watermark

    @property
    def end_offset(self) -> int:
        """Where the next record will be."""
        return self._log.log_end_offset

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take part in the quorum; started once this node leads and the log that it found is committed.

        Resource handling: the log is closed when this ends, whatever the reason.

        Error handling: OSError ends it. After a failed fsync nobody knows what is on disk, so nothing
        more is written or answered: whoever runs this must let the node stop.
        """
        let_go = self._log.close
        try:
            if self._log.topic_id is None:
                self._log.assign_topic_id(METADATA_TOPIC_ID)
            await self._perform(self._core.step(trio.current_time(), Timeout()))
            await self._flush_group()
            task_status.started()
            while True:
                await self._flush_group()
        except OSError:
            let_go = self._log.abandon
            raise
        finally:
            let_go()

    async def _flush_group(self) -> None:
        """Wait until something was appended, make all of it durable in one flush, and let the core count it."""
        await self._flush_wanted.wait()
        self._flush_wanted = trio.Event()
        truncations = self._core.log.truncations
        flush = self._log.begin_flush()
        await trio.to_thread.run_sync(self._run_flush, flush)
        self._log.flushed(flush)
        await self._perform(self._core.step(trio.current_time(), LogFlushed(flush.end_offset, truncations)))

    async def _perform(self, effects: Effects) -> None:
        if effects.election is not None:
            await trio.to_thread.run_sync(self._write_election_state, effects.election)
            await self._perform(self._core.step(trio.current_time(), ElectionStateWritten(effects.election)))
        if isinstance(effects.append, LeaderChange):
            self._append_leader_change(effects.append)
        if effects.high_watermark is not None:
            self._wake_readers()

    def _write_election_state(self, election: ElectionState) -> None:
        leader = NOBODY if election.leader_id is None else election.leader_id
        voted = NOBODY if election.voted_for is None else election.voted_for
        state = QuorumState(leader_id=leader, leader_epoch=election.epoch, voted_id=voted, current_voters=self._voters)
        write_quorum_state(self._state_path, state)

    def _wake_readers(self) -> None:
        self._advanced.set()
        self._advanced = trio.Event()

    # Appending.

    def append(self, records: Sequence[Any]) -> int:
        """Append metadata records, up to MAX_BATCH_RECORDS of them as one unit; return the offset of the last one.

        They are in the log, not yet durable, when this returns; wait for ``committed`` before anyone hears of them.
        Nothing else may be appended between looking at ``end_offset`` and this call, so there is no checkpoint in it.
        """
        timestamp_ms = self._clock.now_ms()
        for part in _parts(records):
            base_offset = self._log.log_end_offset
            values = [encode_record(record, record_version(record)) for record in part]
            batch = [Record(base_offset + n, timestamp_ms, None, value) for n, value in enumerate(values)]
            self._write(encode_batch(batch, base_offset=base_offset, leader_epoch=self.epoch), timestamp_ms)
            self._recent.append(
                MetadataBatch(base_offset, base_offset + len(part) - 1, self.epoch, timestamp_ms, tuple(part))
            )
        return self._log.log_end_offset - 1

    def _append_leader_change(self, change: LeaderChange) -> None:
        timestamp_ms = self._clock.now_ms()
        offset = self._log.log_end_offset
        message = LeaderChangeMessage(
            version=_LEADER_CHANGE_VERSION,
            leader_id=change.leader_id,
            voters=[Voter(voter_id=voter) for voter in change.voters],
            granting_voters=[Voter(voter_id=voter) for voter in change.granting_voters],
        )
        value = encode(message, _LEADER_CHANGE_VERSION)
        record = control_record(ControlType.LEADER_CHANGE, value, offset=offset, timestamp=timestamp_ms)
        self._write(encode_batch([record], base_offset=offset, leader_epoch=change.epoch, control=True), timestamp_ms)
        self._recent.append(MetadataBatch(offset, offset, change.epoch, timestamp_ms, ()))

    def _write(self, batch: bytes, now_ms: int) -> None:
        self._log.append_as_follower(batch, now_ms)
        effects = self._core.step(trio.current_time(), LogAppended(self._log.log_end_offset, self.epoch))
        if effects.flush:
            self._flush_wanted.set()

    # Reading what is committed.

    async def committed(self, offset: int) -> None:
        """Return once the record at ``offset`` is committed. The caller puts the bound on the wait."""
        while self.high_watermark <= offset:
            await self._advanced.wait()

    async def read(self, offset: int) -> tuple[MetadataBatch, ...]:
        """Wait until something is committed at ``offset``; return the batches from there on, as far as at hand.

        ``offset`` is that of a batch's first record. Raises StorageError if the log is damaged there.
        """
        await self.committed(offset)
        if self._recent and self._recent[0].base_offset <= offset:
            return tuple(
                batch
                for batch in self._recent
                if batch.base_offset >= offset and batch.last_offset < self.high_watermark
            )
        piece = self._log.read(offset, _READ_BYTES, self.high_watermark)
        data = await trio.to_thread.run_sync(os.pread, piece.file.fileno(), piece.length, piece.position)
        try:
            return tuple(_decoded(data))
        except (CorruptBatch, MetadataError) as error:
            path = self._log.directory
            raise StorageError(
                f"{path}: damaged behind offset {offset}: {error}; restore the directory from a copy"
            ) from error


class MetadataFollower:
    """The committed log as images, one after the other, for one reader that goes at its own pace."""

    def __init__(self, quorum: Quorum) -> None:
        self.loader = Loader()
        self._quorum = quorum
        self._offset = 0

    @property
    def image(self) -> Image:
        """The metadata as far as it was followed."""
        return self.loader.image

    async def catch_up(self, offset: int) -> Image:
        """Follow the log up to ``offset`` (exclusive), once that is committed; return the image there.

        Raises StorageError, MetadataError.
        """
        while self._offset < offset:
            await self._load()
        return self.image

    async def next(self) -> tuple[Image, Changes]:
        """Wait for the next change; what was committed meanwhile comes as one. Raises StorageError, MetadataError."""
        while True:
            published = await self._load()
            if published is not None:
                return published

    async def _load(self) -> tuple[Image, Changes] | None:
        """Load what is at hand; None inside a metadata transaction."""
        batches = await self._quorum.read(self._offset)
        await trio.lowlevel.checkpoint()
        last = batches[-1]
        self._offset = last.next_offset
        records = [record for batch in batches for record in batch.records]
        return self.loader.load(records, last.last_offset, last.epoch, last.timestamp_ms)


def _known(node_id: int) -> int | None:
    return None if node_id == NOBODY else node_id


def _parts(records: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(records), MAX_BATCH_RECORDS):
        yield records[start : start + MAX_BATCH_RECORDS]


def _decoded(data: bytes) -> Iterator[MetadataBatch]:
    """The batches in ``data``. Raises CorruptBatch or MetadataError."""
    for position, header in iter_headers(data):
        check_batch(data, position, header)
        records: tuple[Any, ...] = ()
        if not header.is_control:
            values = read_records(data, position, header, max_bytes=header.size)
            records = tuple(decode_record(record.value or b"") for record in values)
        yield MetadataBatch(header.base_offset, header.last_offset, header.leader_epoch, header.max_timestamp, records)
