"""Small logs and batches for the tests of kraft.storage."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from kraft.config.topic import LogConfig, log_config
from kraft.records.batch import BatchHeader, check_batch, iter_headers
from kraft.records.record import Record, encode_batch, read_records
from kraft.storage.directory import LastStop
from kraft.storage.log import AppendInfo, Log
from kraft.wire.splice import FileSlice

NAME = "topic-0"
EVERYTHING = 2**31 - 1


def config(**settings: object) -> LogConfig:
    """A topic with these settings; dots are underscores."""
    return log_config({name.replace("_", "."): str(value) for name, value in settings.items()}, {})


def open_log(
    parent: Path,
    settings: LogConfig,
    *,
    last_stop: LastStop = LastStop.CLEAN,
    recovery_point: int = 0,
    start: int = 0,
    strict: bool = False,
) -> Log:
    return Log.open(
        parent,
        NAME,
        settings,
        now_ms=0,
        last_stop=last_stop,
        recovery_point=recovery_point,
        log_start_offset=start,
        strict=strict,
    )


def batch(values: Sequence[bytes], *, timestamp: int = 1000, **fields: object) -> bytearray:
    """A batch as a producer sends it."""
    records = [Record(number, timestamp, None, value) for number, value in enumerate(values)]
    return bytearray(encode_batch(records, **fields))  # type: ignore[arg-type]


def append(log: Log, buffer: bytearray, *, epoch: int = 0, now_ms: int = 1000) -> AppendInfo:
    return log.append_as_leader(buffer, list(iter_headers(buffer)), epoch, now_ms)


def content(piece: FileSlice) -> bytes:
    return os.pread(piece.file.fileno(), piece.length, piece.position)


def batches(log: Log, *, max_bytes: int = EVERYTHING) -> list[tuple[BatchHeader, list[Record]]]:
    """Every readable batch, with its checksum verified."""
    found = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = content(log.read(offset, max_bytes, log.log_end_offset))
        if not data:
            break
        for position, header in iter_headers(data):
            check_batch(data, position, header)
            found.append((header, list(read_records(data, position, header, max_bytes=EVERYTHING))))
            offset = header.next_offset
    return found


def values(log: Log) -> list[bytes | None]:
    return [record.value for _, records in batches(log) for record in records]


def files(log: Log) -> dict[str, bytes]:
    """Name → content of the segment files."""
    names = [name for name in os.listdir(log.directory) if name.endswith(("log", "index"))]
    return {name: Path(log.directory, name).read_bytes() for name in names}
