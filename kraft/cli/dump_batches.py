"""Print the batches and records of a segment or a snapshot for ``kraft dump-log``, in the format of kafka-dump-log.

The tool reads a file batch by batch, up to the size that the file had when it was opened. So it can dump a live log. It
prints damaged batches as far as it can, counts them, and reports the first damage at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import attrs

from kraft.cli.dump_decoders import Decoder, control_text
from kraft.records.batch import HEADER_SIZE, BatchHeader, CorruptBatch, check_batch, parse_header
from kraft.records.record import Record, read_records
from kraft.storage.creation import open_for_reading
from kraft.storage.scan import read_batch
from kraft.wire.decode_error import DecodeError

Echo = Callable[[str], object]

MAX_BATCH_BYTES = 100 * 2**20
_SHOWN_GAPS = 20
_SEQUENCE_MASK = 0x7FFFFFFF


class Damage(Exception):
    """A file is damaged. The message is one line that does not name the file."""


@attrs.frozen
class Printing:
    """The printed parts of a file. ``decode`` is None if keys and values are not printed."""

    deep: bool
    decode: Decoder | None
    skip_metadata: bool
    max_bytes: int


def dump_batches(path: str, printing: Printing, echo: Echo) -> None:
    """Print the batches of a file.

    Raises:
        Damage: the file is damaged; everything sound has been printed.
        OSError: the file cannot be read.
    """
    fd = open_for_reading(path)
    try:
        dump = _Dump(printing, echo)
        for position, header in dump.headers(fd, os.fstat(fd).st_size):
            dump.batch(read_batch(fd, position, header), position, header)
    finally:
        os.close(fd)
    if printing.deep:
        dump.gaps.report(os.path.abspath(path), echo)
    if dump.invalid_bytes:
        echo(f"Found {dump.invalid_bytes} invalid bytes at the end of {os.path.basename(path)}")
    if dump.damage is not None:
        raise Damage(dump.damage + (f" (and {dump.damaged - 1} more)" if dump.damaged > 1 else ""))


@attrs.define
class _Gaps:
    """Gaps between consecutive offsets. Compaction leaves such gaps, so they are not damage."""

    last: int | None = None
    found: int = 0
    shown: list[tuple[int, int]] = attrs.Factory(list)

    def see(self, first: int, last: int) -> None:
        if self.last is not None and first != self.last + 1:
            self.found += 1
            if len(self.shown) < _SHOWN_GAPS:
                self.shown.append((self.last, first))
        self.last = last

    def report(self, path: str, echo: Echo) -> None:
        if self.shown:
            echo(f"Non-consecutive offsets in {path}")
            for before, after in self.shown:
                echo(f"  {before} is followed by {after}")
            if self.found > len(self.shown):
                echo(f"  and {self.found - len(self.shown)} more")


@attrs.define
class _Dump:
    """The dump of one file: what to print, and the gaps and damage found so far."""

    printing: Printing
    echo: Echo
    gaps: _Gaps = attrs.Factory(_Gaps)
    damage: str | None = None
    damaged: int = 0
    invalid_bytes: int = 0

    def headers(self, fd: int, size: int) -> Iterator[tuple[int, BatchHeader]]:
        """Yield position and header of each batch that ends within the limit. Stop at the first invalid header."""
        position = 0
        # A batch that crosses a limit below the size of the file is skipped; one that crosses the end of the file is
        # damage.
        limit = self.printing.max_bytes if self.printing.max_bytes < size else None
        while position < size and (limit is None or position + HEADER_SIZE <= limit):
            try:
                header = parse_header(os.pread(fd, min(HEADER_SIZE, size - position), position))
                if limit is not None and position + header.size > limit:
                    return
                if header.size > size - position:
                    raise CorruptBatch(f"{size - position} bytes left of a batch of {header.size}")
                if header.size > MAX_BATCH_BYTES:
                    raise CorruptBatch(f"a batch of {header.size} bytes; no more than {MAX_BATCH_BYTES} are read")
            except CorruptBatch as error:
                self.invalid_bytes = size - position
                self._count(f"invalid batch header at position {position}: {error}")
                return
            yield position, header
            position += header.size

    def batch(self, data: bytes, position: int, header: BatchHeader) -> None:
        """Print one batch, and its records if they are wanted and the batch is sound."""
        try:
            check_batch(data, 0, header)
        except CorruptBatch as error:
            self.echo(batch_line(position, header, valid=False))
            self._damaged(position, header, error)
            return
        self.echo(batch_line(position, header, valid=True))
        if not self.printing.deep:
            self._follow(position, header, header.base_offset, header.last_offset)
            return
        try:
            for record in read_records(data, 0, header, max_bytes=MAX_BATCH_BYTES):
                self._follow(position, header, record.offset, record.offset)
                self.echo(_record_line(record, header, self.printing))
        except DecodeError as error:
            self._damaged(position, header, error)

    def _follow(self, position: int, header: BatchHeader, first: int, last: int) -> None:
        if self.gaps.last is not None and first <= self.gaps.last:
            self._damaged(position, header, f"offset {self.gaps.last} is followed by {first}")
        self.gaps.see(first, last)

    def _damaged(self, position: int, header: BatchHeader, why: object) -> None:
        self._count(f"damaged batch at position {position}, offset {header.base_offset}: {why}")

    def _count(self, damage: str) -> None:
        self.damage = self.damage or damage
        self.damaged += 1


def batch_line(position: int, header: BatchHeader, *, valid: bool) -> str:
    """Return the line of a batch."""
    try:
        codec = header.compression.name.lower()
    except CorruptBatch:
        codec = "unknown"
    horizon = header.delete_horizon_ms
    fields = {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.leader_epoch,
        "isTransactional": _java(header.is_transactional),
        "isControl": _java(header.is_control),
        "deleteHorizonMs": optional_long(horizon),
        "position": position,
        _timestamp_name(header): header.max_timestamp,
        "size": header.size,
        "magic": header.magic,
        "compresscodec": codec,
        "crc": header.crc,
        "isvalid": _java(valid),
    }
    return " ".join(f"{name}: {value}" for name, value in fields.items())


def _record_line(record: Record, header: BatchHeader, printing: Printing) -> str:
    """Return the line of a record. If only keys and values are printed, a record without them gives an empty line."""
    parts = []
    if not printing.skip_metadata:
        sequence = -1
        if header.base_sequence >= 0:
            sequence = (header.base_sequence + record.offset - header.base_offset) & _SEQUENCE_MASK
        parts.append(
            f"offset: {record.offset} {_timestamp_name(header)}: {record.timestamp} "
            f"keySize: {_size(record.key)} valueSize: {_size(record.value)} sequence: {sequence} "
            f"headerKeys: [{','.join(_shown(name) for name, _ in record.headers)}]"
        )
    if header.is_control:
        if not printing.skip_metadata:
            parts.append(control_text(record))
    elif printing.decode is not None:
        key, value = printing.decode(record)
        parts += [] if key is None else [f"key: {key}"]
        parts += [] if value is None else [f"payload: {value}"]
    return f"| {' '.join(parts)}" if parts else ""


def optional_long(value: int | None) -> str:
    """Return an optional number as Java prints it."""
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"


def _java(value: bool) -> str:
    return "true" if value else "false"


def _timestamp_name(header: BatchHeader) -> str:
    return "".join(word.capitalize() for word in header.timestamp_type.name.split("_"))


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _shown(name: str) -> str:
    """Return the name of a header. Bytes that are not UTF-8 become the replacement character."""
    return name.encode(errors="surrogateescape").decode(errors="replace")
