"""The fsyncs of one flush, as a value that may run on another thread while the log goes on."""

from __future__ import annotations

import contextlib
import os

import attrs

from kraft.storage.atomic import sync_directory
from kraft.storage.segment import SegmentFile


@attrs.frozen
class Flush:
    """What must be synced before ``end_offset`` can be the recovery point.

    ``paths`` are files that recovery will trust below the recovery point: indexes of sealed segments, leader epochs.
    """

    end_offset: int
    files: tuple[SegmentFile, ...]
    paths: tuple[str, ...]
    directories: tuple[str, ...]
    cuts: int
    """How often the log was cut before the flush began."""

    def including(self, unfinished: Flush) -> Flush:
        """The same, with the files of one that began before and may end later."""
        return attrs.evolve(
            self,
            files=tuple(dict.fromkeys((*unfinished.files, *self.files))),
            paths=tuple(dict.fromkeys((*unfinished.paths, *self.paths))),
            directories=self.directories or unfinished.directories,
        )

    def run(self) -> None:
        """Sync it all. Raises OSError, after which nothing that was written to these files is certain."""
        for file in self.files:
            try:
                os.fdatasync(file.fileno())
            except OSError as error:
                raise OSError(error.errno, error.strerror, file.path) from error
        for path in self.paths:
            # A segment that was deleted meanwhile needs no index.
            with contextlib.suppress(FileNotFoundError):
                sync_file(path)
        for directory in self.directories:
            sync_directory(directory)


def sync_file(path: str) -> None:
    """Make a closed file durable. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
