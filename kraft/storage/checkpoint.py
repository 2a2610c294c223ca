"""Kafka's checkpoint files: a version line, a count line, then one line per entry.

Four files in each log directory have entries ``topic partition offset``:

- ``recovery-point-offset-checkpoint``: everything below the offset is fsynced.
- ``log-start-offset-checkpoint``: the log begins at the offset.
- ``replication-offset-checkpoint``: the offset is the high watermark.
- ``cleaner-offset-checkpoint``: everything below the offset is compacted.

One file in each partition directory, ``leader-epoch-checkpoint``, has entries ``epoch start-offset``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO

from kraft.storage.atomic import write_atomically
from kraft.storage.creation import open_for_reading
from kraft.storage.errors import CheckpointError

logger = logging.getLogger("kraft.storage")

RECOVERY_POINT = "recovery-point-offset-checkpoint"
LOG_START_OFFSET = "log-start-offset-checkpoint"
HIGH_WATERMARK = "replication-offset-checkpoint"
CLEANER_OFFSET = "cleaner-offset-checkpoint"
LEADER_EPOCH = "leader-epoch-checkpoint"

TopicPartition = tuple[str, int]

_VERSION = 0
MAX_ENTRIES = 500_000
"""Not a Kafka setting, and Kafka's own reader has no limit. A file of one directory has an entry for each partition."""
_MAX_LINE_BYTES = 1024
"""A topic has up to 249 bytes, and a number up to 19."""


def read_lines(path: str | os.PathLike[str]) -> Iterator[list[str]]:
    """Yield the entries as lists of words; an absent file has none.

    Raises CheckpointError, perhaps after some entries, if the version or the count is wrong, or a line or the count is
    too large.
    """
    try:
        with open(path, "rb", opener=open_for_reading) as file:
            yield from _entries(file, path)
    except FileNotFoundError:
        return


def _entries(file: BinaryIO, path: str | os.PathLike[str]) -> Iterator[list[str]]:
    lines = _lines(file, path)
    version = next(lines, "")
    if version != str(_VERSION):
        raise _malformed(path, f"version {version[:20]!r} in line 1, expected {_VERSION}")
    count = next(lines, "")
    if not count.isdecimal():
        raise _malformed(path, "no entry count in line 2")
    if len(count) > len(str(MAX_ENTRIES)) or int(count) > MAX_ENTRIES:
        raise _malformed(path, f"{count[:20]} entries in line 2, and no more than {MAX_ENTRIES} are read")
    found = 0
    for line in lines:
        found += 1
        if found > int(count):
            break
        yield line.split()
    if found != int(count):
        more = "or more " if found > int(count) else ""
        raise _malformed(path, f"{found} {more}entries where line 2 says {count}")


def _lines(file: BinaryIO, path: str | os.PathLike[str]) -> Iterator[str]:
    for number, data in enumerate(iter(lambda: file.readline(_MAX_LINE_BYTES), b""), 1):
        if len(data) == _MAX_LINE_BYTES:
            raise _malformed(path, f"line {number} has {_MAX_LINE_BYTES} bytes or more")
        yield data.decode("utf-8", errors="replace").strip()


def write_lines(path: str | os.PathLike[str], entries: Iterable[str], *, durable: bool = True) -> None:
    """Replace the file with these entries, one per line. Raises OSError."""
    lines = list(entries)
    text = "\n".join([str(_VERSION), str(len(lines)), *lines, ""])
    write_atomically(path, text.encode(), durable=durable)


def read_offsets(path: str | os.PathLike[str]) -> dict[TopicPartition, int]:
    """Return the offset of each partition; an absent file has none. Raises CheckpointError."""
    offsets: dict[TopicPartition, int] = {}
    for line, words in enumerate(read_lines(path), 3):
        try:
            topic, partition, offset = words
            offsets[topic, int(partition)] = int(offset)
        except ValueError:
            raise _malformed(path, f"line {line} is not 'topic partition offset'") from None
    return offsets


def known_offsets(path: str | os.PathLike[str]) -> dict[TopicPartition, int]:
    """As ``read_offsets``, but a damaged file counts as an absent one, as in Kafka. Recovery finds the offsets again,
    only more slowly.
    """
    try:
        return read_offsets(path)
    except CheckpointError as error:
        logger.warning("%s; the node continues without it", error)
        return {}


def write_offsets(path: str | os.PathLike[str], offsets: Mapping[TopicPartition, int]) -> None:
    """Replace the file with these offsets, durably. Raises OSError."""
    write_lines(path, (f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())))


def _malformed(path: str | os.PathLike[str], reason: str) -> CheckpointError:
    advice = "restore the file or delete it (it is rebuilt, at the price of a longer recovery)"
    return CheckpointError(f"{os.fspath(path)}: not a checkpoint file: {reason}; {advice}")
