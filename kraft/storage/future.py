"""Copies of logs that move to another directory of their broker (KIP-113).

A copy is in ``<topic>-<partition>.<id>-future``. When it is complete, the broker marks it, renames the old log for its
deletion, and then the copy to the partition's name. So after a crash a marked copy without a log takes its name. A copy
without a mark never does, although its log may be gone: a replica may move because its disk fails.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

import attrs

from kraft.storage.atomic import sync_directory, write_atomically
from kraft.storage.checkpoint import TopicPartition
from kraft.storage.directory import LogDirectory, partition_of

logger = logging.getLogger("kraft.replicas")

_FUTURE = re.compile(r"(.+)\.([0-9a-f]{32})-future")
_MARK: Final = "complete-copy"
"""Not Kafka's. An empty file in a complete copy; Apache Kafka ignores it."""


@attrs.frozen
class Interrupted:
    """The moves that a crash interrupted: where they went, and the partial copies, which are to be deleted."""

    moves: dict[TopicPartition, LogDirectory]
    copies: list[str]


def future_name(name: str, token: UUID) -> str:
    """Return the name of the directory with the copy of the log ``name``."""
    return f"{name}.{token.hex}-future"


def mark_complete(path: str) -> None:
    """Note durably that a copy has everything. Raises OSError."""
    write_atomically(os.path.join(path, _MARK), b"")


def take_name(path: str, name: str) -> None:
    """Give a marked copy the name of its log. Raises OSError."""
    log = os.path.join(os.path.dirname(path), name)
    os.rename(path, log)
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(log, _MARK))


def settle_futures(directories: Sequence[LogDirectory]) -> Interrupted:
    """Give each complete copy the name of its log, and return the moves that were not complete.

    An incomplete copy whose log is in no directory is set aside. Raises OSError.
    """
    interrupted = Interrupted({}, [])
    for directory in directories:
        for name in sorted(entry.name for entry in os.scandir(directory.path) if entry.is_dir()):
            match = _FUTURE.fullmatch(name)
            where = None if match is None else partition_of(match[1])
            if match is None or where is None:
                continue
            path = os.path.join(directory.path, name)
            if any(os.path.isdir(os.path.join(each.path, match[1])) for each in directories):
                interrupted.moves[where] = directory
                interrupted.copies.append(path)
            elif os.path.exists(os.path.join(path, _MARK)):
                take_name(path, match[1])
                sync_directory(directory.path)
            else:
                aside = directory.retire_partition(name, UUID(hex=match[2]), "stray")
                what = "%s: an incomplete copy, and its log is in no log directory; it is renamed to %s"
                logger.warning(what, path, aside)
    return interrupted
