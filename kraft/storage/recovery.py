"""Open the segments of a partition: finish interrupted work, rebuild indexes, cut a torn tail.

The last stop (``LastStop``) decides what recovery checks:

- After a controlled stop: the headers beyond the last index entry.
- After a kill: those headers and their checksums. Everything before was in the page cache, which outlives a process.
- After a power cut: every checksum from the recovery point on.

Recovery cuts a torn tail. If undamaged batches follow the damage, it raises CorruptLog, since a cut would lose
acknowledged records. A power cut is the exception, beyond the recovery point: nothing there was reported as durable,
and the kernel writes pages in any order. The log is then cut at the first damage, as in Kafka, and ``Recovery`` reports
the size of the loss.

The metadata log is ``strict``: it has no gaps, and the node syncs it before it answers. Recovery checks all of it after
any stop. A batch's checksum does not cover its offset and epoch. In a strict log offsets follow each other, and each
epoch begins with a control batch; anything else is damage. A strict log is cut only where the last write may have torn
it. A killed process leaves an incomplete batch, never a complete damaged one.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator

import attrs

from kraft.records.batch import BatchHeader, CorruptBatch, TruncatedBatch
from kraft.storage.directory import LastStop
from kraft.storage.errors import REJOIN_ADVICE, CorruptLog
from kraft.storage.scan import find_sound_batch, has_wrong_length
from kraft.storage.segment import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    NEW_SUFFIX,
    SWAP_SUFFIX,
    MisplacedBatch,
    Segment,
    remove_segment,
    rename_segment,
    segment_path,
)

_NAME = re.compile(r"([0-9]{20})(\.log|\.index|\.timeindex|\.txnindex)(\.cleaned|\.swap|\.deleted|\.new)?")
ADVICE = (
    "restore the file from a copy, or move this partition's directory away and let it be replicated anew; "
    "cutting the file there loses the records that follow"
)


@attrs.frozen
class Recovery:
    """The repairs of one opening. The node logs it if it is true."""

    torn_file: str | None = None
    torn_position: int = 0
    torn_offset: int = 0
    """The new end of the log."""
    torn_bytes: int = 0
    rebuilt_indexes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.torn_file or self.rebuilt_indexes)

    def __str__(self) -> str:
        said = []
        if self.torn_file:
            where = f"{self.torn_file} at position {self.torn_position}"
            said.append(f"cut {where} (offset {self.torn_offset}); {self.torn_bytes} bytes behind it were not whole")
        if self.rebuilt_indexes:
            said.append(f"rebuilt the indexes of {', '.join(self.rebuilt_indexes)}")
        return "; ".join(said)


def load_segments(
    directory: str,
    index_interval_bytes: int,
    last_stop: LastStop,
    recovery_point: int,
    learn: Callable[[BatchHeader], None],
    *,
    strict: bool = False,
) -> tuple[list[Segment], Recovery]:
    """Open every segment, oldest first. ``learn`` gets each batch that was checked; with ``strict`` that is every
    batch.

    Raises CorruptLog, OSError.
    """
    sizes = finish_interrupted_work(directory, index_interval_bytes)
    with contextlib.ExitStack() as undo:
        segments = [Segment.load(directory, base, size, index_interval_bytes) for base, size in sorted(sizes.items())]
        for segment in segments:
            undo.callback(segment.close)
        loaded = _recover(segments, last_stop, recovery_point, learn, strict=strict)
        undo.pop_all()
    return loaded


def _recover(
    segments: list[Segment],
    last_stop: LastStop,
    recovery_point: int,
    learn: Callable[[BatchHeader], None],
    *,
    strict: bool,
) -> tuple[list[Segment], Recovery]:
    recovery = Recovery()
    before: BatchHeader | None = None
    for number, segment in enumerate(segments):
        later = segments[number + 1 :]
        end = segment.size
        uncertain = last_stop is LastStop.POWER_LOST and (not later or later[0].base_offset > recovery_point)
        sane = segment.indexes_are_sane()
        had_index = segment.index.exists or segment.time_index.exists
        try:
            for header in _replay(segment, last_stop, everything=strict or uncertain or not sane, active=not later):
                if strict:
                    _require_follows(segment, before, header)
                    before = header
                learn(header)
        except CorruptBatch as damage:
            is_unflushed = last_stop is LastStop.POWER_LOST and segment.next_offset >= recovery_point
            if strict or not is_unflushed:
                _require_torn_end(segment, later, end, damage, last_stop, strict=strict)
            recovery = _cut(segment, end, recovery)
            for gone in later:
                recovery = attrs.evolve(recovery, torn_bytes=recovery.torn_bytes + gone.size)
                _remove(gone)
            return segments[: number + 1], recovery
        # A segment too short for an index entry may have no index.
        if not sane and not uncertain and (had_index or segment.index.count):
            recovery = attrs.evolve(recovery, rebuilt_indexes=(*recovery.rebuilt_indexes, segment.path))
        if later:
            if strict and segment.next_offset != later[0].base_offset:
                raise _corrupt(segment, f"it ends here, and {later[0].path} follows", strict=True)
            segment.next_offset = max(segment.next_offset, later[0].base_offset)
    return segments, recovery


def _require_torn_end(
    segment: Segment, later: list[Segment], end: int, damage: CorruptBatch, last_stop: LastStop, *, strict: bool
) -> None:
    """Raise CorruptLog unless the damage can be the end of a write that a stop interrupted."""
    # Only the newest data may be torn. A new segment without a batch holds no data.
    if last_stop is LastStop.CLEAN or any(each.size for each in later):
        raise _corrupt(segment, str(damage), strict=strict) from damage
    if strict:
        _require_torn(segment, end, damage, last_stop)
    _refuse_sound_batches(segment, end, damage, strict=strict)


def _replay(segment: Segment, last_stop: LastStop, *, everything: bool, active: bool) -> Iterator[BatchHeader]:
    if everything:
        yield from segment.replay_all(verify=True)
        if not active:
            segment.seal()
    elif active:
        yield from segment.replay_tail(verify=last_stop is not LastStop.CLEAN)
    else:
        index = segment.time_index
        segment.max_timestamp, segment.max_timestamp_offset = index.last_timestamp, index.last_offset


def _require_follows(segment: Segment, before: BatchHeader | None, header: BatchHeader) -> None:
    """Raise CorruptLog if an undamaged batch does not continue at the end of the previous one: this is no torn tail."""
    expected, epoch = (segment.base_offset, 0) if before is None else (before.next_offset, before.leader_epoch)
    if header.base_offset == expected and header.leader_epoch >= epoch:
        # A leader opens its epoch with a control batch (KIP-595), unless the log now starts behind that batch.
        if header.leader_epoch == epoch or header.is_control or before is None:
            return
        epoch_as_expected = f"{epoch}"
    else:
        epoch_as_expected = f"{epoch} or later"
    position = segment.size - header.size
    found = f"offset {header.base_offset} in epoch {header.leader_epoch}"
    reason = f"a batch begins at {found}, expected offset {expected} in epoch {epoch_as_expected}"
    raise CorruptLog(segment.path, position, expected, reason, REJOIN_ADVICE)


def _require_torn(segment: Segment, end: int, damage: CorruptBatch, last_stop: LastStop) -> None:
    """Raise CorruptLog if the last write cannot have caused the damage.

    A kill leaves part of the write, a power cut may leave garbage.
    """
    file = segment.file
    may_be_torn = last_stop is LastStop.POWER_LOST or isinstance(damage, TruncatedBatch)
    # No checksum covers the length.
    if not may_be_torn or isinstance(damage, MisplacedBatch) or has_wrong_length(file.fileno(), segment.size, end):
        raise _corrupt(segment, str(damage), strict=True) from damage


def _refuse_sound_batches(segment: Segment, end: int, damage: CorruptBatch, *, strict: bool) -> None:
    """Raise CorruptLog if an undamaged batch follows the damage."""
    file = segment.file
    sound = find_sound_batch(file.fileno(), segment.size + 1, end, segment.next_offset)
    if sound is not None:
        reason = f"{damage}, and sound batches follow from position {sound} on"
        raise _corrupt(segment, reason, strict=strict) from damage


def _cut(segment: Segment, end: int, recovery: Recovery) -> Recovery:
    """Drop everything after the last undamaged batch."""
    position = segment.size
    segment.cut(position, segment.next_offset)
    return attrs.evolve(
        recovery,
        torn_file=segment.path,
        torn_position=position,
        torn_offset=segment.next_offset,
        torn_bytes=end - position,
    )


def _corrupt(segment: Segment, reason: str, *, strict: bool) -> CorruptLog:
    advice = REJOIN_ADVICE if strict else ADVICE
    return CorruptLog(segment.path, segment.size, segment.next_offset, reason, advice)


def _remove(segment: Segment) -> None:
    for path in segment.retire():
        os.unlink(path)


def finish_interrupted_work(directory: str, index_interval_bytes: int) -> dict[int, int]:
    """Finish or undo deletions and compactions that a crash interrupted; return base offset → size of each log file.

    ``.deleted`` and ``.new`` files are removed. ``.cleaned`` files are removed, together with the ``.swap`` files that
    the same compaction had renamed. Any other ``.swap`` file is a finished compaction and replaces the segments that it
    covers. Raises OSError, CorruptLog.
    """
    names = [match for match in map(_NAME.fullmatch, os.listdir(directory)) if match]
    cleaned = [int(match[1]) for match in names if match[3] == CLEANED_SUFFIX]
    undone = min(cleaned, default=None)
    for match in names:
        stale_swap = match[3] == SWAP_SUFFIX and undone is not None and int(match[1]) >= undone
        if match[3] in (DELETED_SUFFIX, CLEANED_SUFFIX, NEW_SUFFIX) or stale_swap:
            os.unlink(os.path.join(directory, match[0]))
    bases = {int(match[1]) for match in names if match[2] == LOG_SUFFIX and match[3] is None}
    for base in sorted(int(match[1]) for match in names if match[2] == LOG_SUFFIX and match[3] == SWAP_SUFFIX):
        if undone is None or base < undone:
            bases = _complete_swap(directory, base, bases, index_interval_bytes)
    for match in names:
        if match[3] is None and match[2] != LOG_SUFFIX and int(match[1]) not in bases:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, match[0]))
    return {base: os.stat(segment_path(directory, base, LOG_SUFFIX)).st_size for base in bases}


def _complete_swap(directory: str, base: int, bases: set[int], index_interval_bytes: int) -> set[int]:
    path = segment_path(directory, base, LOG_SUFFIX) + SWAP_SUFFIX
    swap = Segment.load(directory, base, os.stat(path).st_size, index_interval_bytes, SWAP_SUFFIX)
    try:
        end = base
        for _, header in swap.headers():
            end = header.next_offset
    except CorruptBatch as damage:
        raise CorruptLog(path, swap.size, end, str(damage), ADVICE) from damage
    finally:
        swap.close()
    covered = {old for old in bases if base <= old < max(end, base + 1)}
    for old in covered:
        remove_segment(directory, old, "")
    rename_segment(directory, base, SWAP_SUFFIX, "")
    return bases - covered | {base}
