"""The fsyncs of one flush, as a value. They may run on another thread while the log is used."""

from __future__ import annotations

import contextlib
import os

import attrs

from kraft.storage.atomic import sync_directory
from kraft.storage.creation import open_for_reading
from kraft.storage.open_files import OpenFile


@attrs.frozen
class Flush:
    """The files to sync before ``end_offset`` can be the recovery point.

    ``paths`` are files that recovery trusts below the recovery point: indexes of sealed segments, the producers at
    their ends, leader epochs.
    """

    end_offset: int
    files: tuple[OpenFile, ...]
    paths: tuple[str, ...]
    directories: tuple[str, ...]
    cuts: int
    """How often the log had been truncated when the flush began."""

    @property
    def is_empty(self) -> bool:
        """Whether everything is durable already."""
        return not (self.files or self.paths or self.directories)

    def including(self, unfinished: Flush) -> Flush:
        """Return the same flush with the files of an earlier one that may still be running."""
        return attrs.evolve(
            self,
            files=tuple(dict.fromkeys((*unfinished.files, *self.files))),
            paths=tuple(dict.fromkeys((*unfinished.paths, *self.paths))),
            directories=self.directories or unfinished.directories,
        )

    def run(self) -> None:
        """Sync all files. After an OSError none of the data written to them is certain."""
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
    fd = open_for_reading(path)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
