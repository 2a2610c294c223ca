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
from collections.abc import Iterable, Mapping

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
_MAX_BYTES = 256 * 2**20


def read_lines(path: str | os.PathLike[str]) -> list[list[str]]:
    """Return the entries as lists of words; an absent file has none.

    Raises CheckpointError if the version or the count is wrong, or the file is too large.
    """
    try:
        with open(path, "rb", opener=open_for_reading) as file:
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return []
    if len(data) > _MAX_BYTES:
        raise _malformed(path, f"larger than {_MAX_BYTES} bytes")
    lines = data.decode("utf-8", errors="replace").split("\n")
    if lines[0].strip() != str(_VERSION):
        raise _malformed(path, f"version {lines[0][:20]!r} in line 1, expected {_VERSION}")
    count = lines[1].strip() if len(lines) > 1 else ""
    if not count.isdecimal():
        raise _malformed(path, "no entry count in line 2")
    entries = [line.split() for line in lines[2:] if line.strip()]
    if len(entries) != int(count):
        raise _malformed(path, f"{len(entries)} entries where line 2 says {count[:20]}")
    return entries


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
