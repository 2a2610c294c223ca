"""Copies of logs that move to another directory of their broker (KIP-113).

A copy is in ``<topic>-<partition>.<id>-future``. When it is complete, the broker renames the old log for its deletion,
and then the copy to the partition's name. So after a crash a copy without a log is complete.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from uuid import UUID

import attrs

from kraft.storage.atomic import sync_directory
from kraft.storage.checkpoint import TopicPartition
from kraft.storage.directory import LogDirectory, partition_of

_FUTURE = re.compile(r"(.+)\.[0-9a-f]{32}-future")


@attrs.frozen
class Interrupted:
    """The moves that a crash interrupted: where they went, and the partial copies, which are to be deleted."""

    moves: dict[TopicPartition, LogDirectory]
    copies: list[str]


def future_name(name: str, token: UUID) -> str:
    """Return the name of the directory with the copy of the log ``name``."""
    return f"{name}.{token.hex}-future"


def settle_futures(directories: Sequence[LogDirectory]) -> Interrupted:
    """Give each complete copy the name of its log, and return the moves that were not complete. Raises OSError."""
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
            else:
                os.rename(path, os.path.join(directory.path, match[1]))
                sync_directory(directory.path)
    return interrupted
