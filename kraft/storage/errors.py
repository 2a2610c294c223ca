"""What can be wrong with files on disk. Every message is one line: the file, what is wrong, what to do."""

from __future__ import annotations

import os

#: For a directory of the metadata quorum. To lose its vote is safe only while the others hold what it held.
REJOIN_ADVICE = (
    "restore the directory from a copy, or let this voter rejoin with an empty one while it can reach the leader"
)


class StorageError(Exception):
    """A file or directory that cannot be used as it is. The message is one line for the operator."""


class CorruptLog(StorageError):
    """A log with damage that recovery may not repair, because acknowledged records could be lost silently."""

    def __init__(self, path: str | os.PathLike[str], position: int, offset: int, reason: str, advice: str) -> None:
        self.path = os.fspath(path)
        self.position = position
        self.offset = offset
        super().__init__(f"{self.path}: damaged at position {position} (offset {offset}): {reason}; {advice}")


class UnsupportedFormat(StorageError):
    """Sound files of a later Kafka, or of a feature that this node has not. There is nothing to be repaired."""


class LogDirectoryError(StorageError):
    """A log directory that this node may not use: locked, unformatted, foreign, or unreadable."""


class CheckpointError(StorageError):
    """A checkpoint file that does not parse."""
