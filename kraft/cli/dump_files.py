"""``kraft dump-log`` of what lies beside a segment: indexes, producer snapshots, checkpoints.

An index of a live node may be larger than its entries, the rest being zeros: what follows is not printed. Entries are
compared with the log that they index, and what does not fit is told as Apache Kafka's tool tells it.
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
from kraft.storage.scan import walk

MAX_BYTES = 64 * 2**20

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_ABORTED = struct.Struct(">hqqqq")
_REBUILT = "delete the index, it is rebuilt"


@attrs.frozen
class IndexPrinting:
    """``--verify-index-only`` compares and prints no entries; ``--index-sanity-check`` looks at the index alone."""

    verify_only: bool = False
    sanity_only: bool = False


def dump_offset_index(path: str, printing: IndexPrinting, echo: Echo) -> None:
    """Print an ``.index`` and compare it with its log. Raises Damage, OSError."""
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
        raise Damage(f"{len(wrong)} of {len(entries)} entries do not fit the log; {_REBUILT}")


def dump_time_index(path: str, printing: IndexPrinting, echo: Echo) -> None:
    """Print a ``.timeindex`` and compare it with its log. Raises Damage, OSError."""
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
        raise Damage(f"{len(wrong)} of {len(entries)} entries do not fit the log; {_REBUILT}")


def dump_aborted_transactions(path: str, echo: Echo) -> None:
    """Print a ``.txnindex``. Raises Damage, OSError."""
    data = _content(path)
    for fields in _ABORTED.iter_unpack(data[: len(data) - len(data) % _ABORTED.size]):
        names = ("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset")
        echo(" ".join(f"{name}: {value}" for name, value in zip(names, fields, strict=True)))
    if len(data) % _ABORTED.size:
        raise Damage(f"{len(data)} bytes are no whole number of entries; {_REBUILT}")


def dump_producer_snapshot(path: str, echo: Echo) -> None:
    """Print a ``.snapshot`` of producers. Raises Damage, OSError."""
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
    """Print ``leader-epoch-checkpoint``, or one of those that hold an offset per partition. Raises CheckpointError."""
    os.stat(path)  # an absent one is otherwise as good as an empty one
    names = ("epoch", "startOffset") if os.path.basename(path) == LEADER_EPOCH else ("topic", "partition", "offset")
    for words in read_lines(path):
        if len(words) != len(names):
            raise Damage(f"the entry {' '.join(words)[:100]!r} is not '{' '.join(names)}'")
        echo(" ".join(f"{name}: {word}" for name, word in zip(names, words, strict=True)))


def _begin(path: str, entries: list[tuple[int, int]], printing: IndexPrinting, echo: Echo) -> bool:
    """Say what is to say before the entries; return whether they are to be looked at."""
    if printing.sanity_only:
        for before, after in itertools.pairwise(entries):
            if after[0] <= before[0] or after[1] <= before[1]:
                raise Damage(f"its entries do not rise; {_REBUILT}")
        echo(f"{path} passed sanity check.")
    elif not entries:
        echo(f"{path} is empty.")
    return bool(entries) and not printing.sanity_only


def _entries(path: str, entry: struct.Struct) -> list[tuple[int, int]]:
    """The entries of an index, without the zeros that a live one ends with. Raises Damage, OSError."""
    data = _content(path)
    if len(data) % entry.size:
        raise Damage(f"{len(data)} bytes are no whole number of entries; {_REBUILT}")
    entries = [(first, second) for first, second in entry.iter_unpack(data)]
    while entries and entries[-1] == (0, 0):
        entries.pop()
    return entries


def _timestamps_at(path: str, offsets: list[int]) -> dict[int, int]:
    """The largest timestamp of the batch that holds each offset."""
    wanted = sorted(set(offsets), reverse=True)
    found = {}
    for _, header in _headers(path):
        while wanted and wanted[-1] <= header.last_offset:
            offset = wanted.pop()
            if offset >= header.base_offset:
                found[offset] = header.max_timestamp
    return found


def _headers(path: str) -> Iterator[tuple[int, BatchHeader]]:
    """The batches of the log that an index belongs to, as far as they are whole. Raises Damage, OSError."""
    log = os.path.splitext(path)[0] + ".log"
    try:
        fd = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Damage(f"{os.path.basename(log)} is not beside it, so its entries were not compared") from None
    try:
        yield from walk(fd, 0, os.fstat(fd).st_size, verify=False)
    except CorruptBatch:
        return  # what is wrong with the log is told when the log is dumped
    finally:
        os.close(fd)


def _base_offset(path: str) -> int:
    """The offset that a file of a segment is named by. Raises Damage."""
    name = os.path.basename(path).partition(".")[0]
    if not name.isdecimal():
        raise Damage("its name is no offset, such as 00000000000000000000")
    return int(name)


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Damage(f"larger than {MAX_BYTES} bytes")
    return data
