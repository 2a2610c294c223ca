"""Print the files beside a segment for ``kraft dump-log``: indexes, producer snapshots, checkpoints.

The index of a live node may end with unused zeros, which are not printed. The tool compares the entries
with the log, and reports mismatches in the format of kafka-dump-log.
"""

from __future__ import annotations

import itertools
import os
import struct
from collections.abc import Iterator

import attrs

from kraft.broker.producer_snapshot import CorruptSnapshot, decode_snapshot
from kraft.cli.dump_batches import Damage, Echo, optional_long
from kraft.records.batch import SEQUENCE_MASK, BatchHeader, CorruptBatch
from kraft.storage.checkpoint import LEADER_EPOCH, read_lines
from kraft.storage.creation import open_for_reading
from kraft.storage.scan import walk

MAX_BYTES = 64 * 2**20

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_ABORTED = struct.Struct(">hqqqq")
_REBUILT = "delete the index, it is rebuilt"


@attrs.frozen
class IndexPrinting:
    """The options for indexes.

    ``verify_only`` (``--verify-index-only``) compares the entries with the log and does not print them. ``sanity_only``
    (``--index-sanity-check``) checks the index alone.
    """

    verify_only: bool = False
    sanity_only: bool = False


def dump_offset_index(path: str, printing: IndexPrinting, echo: Echo) -> None:
    """Print an ``.index`` and compare it with its log.

    Raises:
        Damage: the index is damaged or does not match the log.
        OSError: a file cannot be read.
    """
    entries = _entries(path, _OFFSET_ENTRY)
    if not _begin(path, entries, printing, echo):
        return
    base_offset = _base_offset(path)
    if not printing.verify_only:
        for relative, position in entries:
            echo(f"offset: {base_offset + relative} position: {position}")
    wanted = {position: base_offset + relative for relative, position in entries}
    found = {position: header.last_offset for position, header in _headers(path) if position in wanted}
    wrong = [(offset, found.get(position, -1)) for position, offset in wanted.items() if found.get(position) != offset]
    if wrong:
        echo(f"Mismatches in :{os.path.abspath(path)}")
        for offset, logged in wrong:
            echo(f"  Index offset: {offset}, log offset: {logged}")
        raise Damage(f"{len(wrong)} of {len(entries)} entries do not match the log; {_REBUILT}")


def dump_time_index(path: str, printing: IndexPrinting, echo: Echo) -> None:
    """Print a ``.timeindex`` and compare it with its log. Raises as ``dump_offset_index``."""
    entries = _entries(path, _TIME_ENTRY)
    if not _begin(path, entries, printing, echo):
        return
    base_offset = _base_offset(path)
    if not printing.verify_only:
        for timestamp, relative in entries:
            echo(f"timestamp: {timestamp} offset: {base_offset + relative}")
    logged = _timestamps_at(path, [base_offset + relative for _, relative in entries])
    wrong = [
        (timestamp, logged.get(base_offset + relative, -1))
        for timestamp, relative in entries
        if logged.get(base_offset + relative) != timestamp
    ]
    if wrong:
        echo(f"Found timestamp mismatch in :{os.path.abspath(path)}")
        for timestamp, found in wrong:
            echo(f"  Index timestamp: {timestamp}, log timestamp: {found}")
        raise Damage(f"{len(wrong)} of {len(entries)} entries do not match the log; {_REBUILT}")


def dump_aborted_transactions(path: str, echo: Echo) -> None:
    """Print a ``.txnindex``. Raises Damage if it is damaged, OSError if it cannot be read."""
    data = _content(path)
    for fields in _ABORTED.iter_unpack(data[: len(data) - len(data) % _ABORTED.size]):
        names = ("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset")
        echo(" ".join(f"{name}: {value}" for name, value in zip(names, fields, strict=True)))
    if len(data) % _ABORTED.size:
        raise Damage(f"{len(data)} bytes are not a whole number of entries; {_REBUILT}")


def dump_producer_snapshot(path: str, echo: Echo) -> None:
    """Print a producer ``.snapshot``. Raises Damage if it is damaged, OSError if it cannot be read."""
    try:
        producers = decode_snapshot(_content(path))
    except CorruptSnapshot as error:
        raise Damage(f"{error}; delete it, it is rebuilt from the log") from None
    for producer in producers:
        fields: dict[str, object] = {
            "producerId": producer.producer_id,
            "producerEpoch": producer.epoch,
            "coordinatorEpoch": producer.coordinator_epoch,
            "currentTxnFirstOffset": optional_long(producer.transaction_first_offset),
            "lastTimestamp": producer.last_timestamp_ms,
        }
        if producer.batches:
            last = producer.batches[-1]
            fields |= {
                "firstSequence": (last.last_sequence - last.offset_delta) & SEQUENCE_MASK,
                "lastSequence": last.last_sequence,
                "lastOffset": last.last_offset,
                "offsetDelta": last.offset_delta,
                "timestamp": last.timestamp_ms,
            }
        echo(" ".join(f"{name}: {value}" for name, value in fields.items()))


def dump_checkpoint(path: str, echo: Echo) -> None:
    """Print ``leader-epoch-checkpoint``, or a checkpoint with one offset per partition.

    Raises:
        Damage: an entry has the wrong number of fields.
        CheckpointError: the file is not a checkpoint.
        OSError: the file is absent or cannot be read.
    """
    os.stat(path)  # ``read_lines`` treats an absent file as an empty one
    names = ("epoch", "startOffset") if os.path.basename(path) == LEADER_EPOCH else ("topic", "partition", "offset")
    for words in read_lines(path):
        if len(words) != len(names):
            raise Damage(f"the entry {' '.join(words)[:100]!r} is not '{' '.join(names)}'")
        echo(" ".join(f"{name}: {word}" for name, word in zip(names, words, strict=True)))


def _begin(path: str, entries: list[tuple[int, int]], printing: IndexPrinting, echo: Echo) -> bool:
    """Check the index alone if asked to, and report an empty one. Return whether its entries are to be printed or
    compared.
    """
    if printing.sanity_only:
        for before, after in itertools.pairwise(entries):
            if after[0] <= before[0] or after[1] <= before[1]:
                raise Damage(f"its entries are not in ascending order; {_REBUILT}")
        echo(f"{path} passed sanity check.")
    elif not entries:
        echo(f"{path} is empty.")
    return bool(entries) and not printing.sanity_only


def _entries(path: str, entry: struct.Struct) -> list[tuple[int, int]]:
    """Return the entries of an index without its trailing zeros. Raises Damage if an entry is incomplete."""
    data = _content(path)
    if len(data) % entry.size:
        raise Damage(f"{len(data)} bytes are not a whole number of entries; {_REBUILT}")
    entries = [(first, second) for first, second in entry.iter_unpack(data)]
    while entries and entries[-1] == (0, 0):
        entries.pop()
    return entries


def _timestamps_at(path: str, offsets: list[int]) -> dict[int, int]:
    """Return the max timestamp of the batch that holds each offset."""
    wanted = sorted(set(offsets), reverse=True)
    found = {}
    for _, header in _headers(path):
        while wanted and wanted[-1] <= header.last_offset:
            offset = wanted.pop()
            if offset >= header.base_offset:
                found[offset] = header.max_timestamp
    return found


def _headers(path: str) -> Iterator[tuple[int, BatchHeader]]:
    """Yield the complete batches of an index's log. Raises Damage if the log is absent."""
    log = os.path.splitext(path)[0] + ".log"
    try:
        fd = open_for_reading(log)
    except FileNotFoundError:
        raise Damage(f"{os.path.basename(log)} is missing, so the entries were not compared with it") from None
    try:
        yield from walk(fd, 0, os.fstat(fd).st_size, verify=False)
    except CorruptBatch:
        return  # dumping the log itself reports its damage
    finally:
        os.close(fd)


def _base_offset(path: str) -> int:
    """Return the base offset in the name of a segment's file. Raises Damage if the name has none."""
    name = os.path.basename(path).partition(".")[0]
    if not name.isdecimal():
        raise Damage("its name is not an offset, such as 00000000000000000000")
    return int(name)


def _content(path: str) -> bytes:
    with open(path, "rb", opener=open_for_reading) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Damage(f"larger than {MAX_BYTES} bytes")
    return data
