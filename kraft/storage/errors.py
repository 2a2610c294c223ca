"""Errors of files on disk. Every message is one line: the file, the fault, the advice."""

from __future__ import annotations

import os

#: For a directory of the metadata quorum. Losing a vote is safe only while the other voters hold its records.
REJOIN_ADVICE = (
    "restore the directory from a copy, or let this voter rejoin with an empty one while it can reach the leader"
)


class StorageError(Exception):
    """A file or directory that cannot be used in its present state. The message is one line for the operator."""


class CorruptLog(StorageError):
    """A damaged log that recovery may not repair, because the repair could silently lose acknowledged records."""

    def __init__(self, path: str | os.PathLike[str], position: int, offset: int, reason: str, advice: str) -> None:
        self.path = os.fspath(path)
        self.position = position
        self.offset = offset
        super().__init__(f"{self.path}: damaged at position {position} (offset {offset}): {reason}; {advice}")


class UnsupportedFormat(StorageError):
    """Undamaged files of a later Kafka, or of a feature that this node does not support. No repair is needed."""


class LogDirectoryError(StorageError):
    """A log directory that this node may not use: locked, unformatted, foreign, or unreadable."""


class CheckpointError(StorageError):
    """A checkpoint file that does not parse."""
