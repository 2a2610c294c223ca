"""The idempotent producers of a log (KIP-98) and the ``.snapshot`` files that restore them after a restart.

A snapshot named after an offset holds the producer state of every batch below that offset. Recovery replays the headers
of later batches. The log writes a snapshot at the base offset of each segment, and at close. Within a segment it writes
one more every few thousand batches, to keep the replay after a kill or a truncation short. A snapshot has a checksum: a
lost or damaged one means a longer replay. But where compaction has removed markers, a replay cannot learn from them
that transactions have ended. So the flush of a sealed segment includes the snapshot at its end.
"""

from __future__ import annotations

import contextlib
import os
import re

from kraft.broker.producer_snapshot import CorruptSnapshot, decode_snapshot, encode_snapshot
from kraft.broker.producer_state import ProducerStates
from kraft.records.batch import NO_PRODUCER_ID, BatchHeader
from kraft.records.control import EndTransactionMarker
from kraft.records.record import read_records
from kraft.storage.atomic import write_atomically
from kraft.storage.creation import open_for_reading
from kraft.storage.errors import CorruptLog
from kraft.storage.lookup import MAX_DECOMPRESSED_BYTES
from kraft.storage.recovery import ADVICE
from kraft.storage.scan import read_batch
from kraft.storage.segment import SNAPSHOT_SUFFIX, Segment, segment_path
from kraft.storage.segments import Segments
from kraft.storage.transaction_index import AbortedTransaction
from kraft.wire.decode_error import DecodeError
from kraft.wire.varint import Buffer

_BATCHES_BETWEEN_SNAPSHOTS = 4096
_BATCHES_PER_PRODUCER = 4
_INTERIM_SNAPSHOTS = 2
_NAME = re.compile(r"([0-9]{20})\.snapshot")


class ProducerSnapshots:
    """The snapshot files of one log. Every method may raise OSError."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._interims: list[int] = []
        """The offsets of the newest interim snapshots. With the older one a truncation below the newer one is short."""
        self._newest = 0
        """The offset of the newest snapshot. None is needed at offset 0."""
        self._batches = 0

    def recover(self, segments: Segments, end_offset: int, now_ms: int) -> ProducerStates:
        """Return the producers of the batches of ``segments``, which end at ``end_offset``. Raises CorruptLog.

        The start of the log does not matter: a marker below it has ended its transaction.
        """
        first = segments[0].base_offset
        states, offset = self._load(first, end_offset)
        states.recovered(now_ms)
        self._newest = offset
        for segment, position, header in segments.batches_from(max(offset, first)):
            if header.producer_id == NO_PRODUCER_ID:
                continue
            if not header.is_control:
                states.replay(header, now_ms)
                continue
            file = segment.file
            try:
                replay_marker(states, segment, read_batch(file.fileno(), position, header), 0, header, now_ms)
            except DecodeError as damage:
                raise CorruptLog(segment.path, position, header.base_offset, str(damage), ADVICE) from damage
        return states

    def forget_beyond(self, offset: int) -> None:
        """Delete the snapshots above ``offset``."""
        if self._newest > offset:
            self._newest = 0
        for each in self.offsets():
            if each > offset:
                self._remove(each)

    def _load(self, first_offset: int, end_offset: int) -> tuple[ProducerStates, int]:
        """Return the newest undamaged state from ``first_offset`` to ``end_offset``, and the offset to replay from.

        Deletes damaged snapshots, those beyond ``end_offset``, whose batches were truncated, and those below
        ``first_offset``, after which batches are missing.
        """
        self._interims.clear()
        for offset in sorted(self.offsets(), reverse=True):
            if first_offset <= offset <= end_offset:
                with (
                    contextlib.suppress(CorruptSnapshot),
                    open(self._path(offset), "rb", opener=open_for_reading) as file,
                ):
                    return ProducerStates(decode_snapshot(file.read())), offset
            os.unlink(self._path(offset))
        return ProducerStates(), 0

    def appended(self, batches: int, states: ProducerStates, end_offset: int) -> None:
        """Count appended batches, and write an interim snapshot if one is due."""
        self._batches += batches
        if self._batches >= _BATCHES_BETWEEN_SNAPSHOTS and self._batches >= _BATCHES_PER_PRODUCER * len(states):
            self._batches = 0
            # The append has succeeded and must not fail now. Without the snapshot only the replay gets longer.
            with contextlib.suppress(OSError):
                self.write(states, end_offset)
                self._interims.append(end_offset)
                if len(self._interims) > _INTERIM_SNAPSHOTS:
                    self._remove(self._interims.pop(0))

    def write(self, states: ProducerStates, offset: int) -> None:
        """Write the state as of ``offset``."""
        write_atomically(self._path(offset), encode_snapshot(states.entries()), durable=False)
        self._newest, self._batches = offset, 0

    def write_for_segment(self, states: ProducerStates, base_offset: int) -> None:
        """Write the state at the start of a new segment or at a stop, unless there is a snapshot of this offset
        (``ProducerStateManager.takeSnapshot``).
        """
        if base_offset != self._newest:
            self.write(states, base_offset)
        if base_offset in self._interims:
            self._interims.remove(base_offset)

    def keep_only(self, base_offsets: set[int]) -> None:
        """Delete the snapshots that belong to no segment, except the newest ones."""
        for offset in sorted(self.offsets())[:-_INTERIM_SNAPSHOTS]:
            if offset not in base_offsets:
                self._remove(offset)

    def clear(self) -> None:
        self._newest = 0
        self._interims.clear()
        for offset in self.offsets():
            self._remove(offset)

    def offsets(self) -> list[int]:
        """Return the offsets of the files, unordered."""
        names = map(_NAME.fullmatch, os.listdir(self._directory))
        return [int(match[1]) for match in names if match]

    def _remove(self, offset: int) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(offset))

    def _path(self, offset: int) -> str:
        return segment_path(self._directory, offset, SNAPSHOT_SUFFIX)


def replay_marker(
    states: ProducerStates, segment: Segment, buffer: Buffer, position: int, header: BatchHeader, now_ms: int
) -> None:
    """Replay the end of a transaction, a control batch at ``position``, and index an aborted one.

    Raises DecodeError, OSError.
    """
    for record in read_records(buffer, position, header, max_bytes=MAX_DECOMPRESSED_BYTES):
        ended = states.replay(header, now_ms, EndTransactionMarker.from_record(record))
        if ended is not None and ended.aborted:
            segment.aborted.record(
                AbortedTransaction(ended.producer_id, ended.first_offset, ended.last_offset, ended.last_stable_offset)
            )
