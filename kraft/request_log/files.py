"""The request log as files of JSON lines, which a reader sees only when they are complete.

A file is written under a name that ends with ``.open``. When it is rolled it becomes
``requests-<start>-<number>.jsonl``, and is never changed again. So a reader of ``requests-*.jsonl``, such as Spark's
file source, sees each file once and whole. A node that was killed leaves an open file; the next start removes its
truncated last line and completes it.

The directory is bounded in bytes and in files. Lines go to the page cache without fsync.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterable

import trio

from kraft.request_log.lines import RequestLines
from kraft.storage.atomic import write_all
from kraft.storage.creation import create_file, create_private_directory, open_for_writing, open_or_create
from kraft.world.world import InThread

OPEN_SUFFIX = ".open"
LOCK = ".lock"
MAX_FILES = 1000
FILES_IN_RETENTION = 16
"""A file is full when it has this part of the retained bytes."""
MAX_FILE_BYTES = 64 * 2**20
FLUSH_INTERVAL_S = 0.5

_NAME = re.compile(r"requests-(\d{1,19})-(\d{8,19})\.jsonl")


class RequestFiles:
    """The files of one node. Its methods block, and raise OSError.

    Resource handling: holds the directory's lock and an open file until ``close``.
    """

    def __init__(
        self, directory: str, start_ms: int, roll_ms: int, retention_bytes: int, now_ms: Callable[[], int]
    ) -> None:
        self.directory = directory
        self._start_ms = start_ms
        self._roll_ms = roll_ms
        self._retention_bytes = retention_bytes
        self._file_bytes = min(retention_bytes // FILES_IN_RETENTION, MAX_FILE_BYTES)
        self._now_ms = now_ms
        self._lock_fd = self._fd = -1
        self._path = ""
        self._number = 0
        self._size = 0
        self._opened_ms = 0

    def open(self) -> None:
        """Lock the directory, and complete the files of an earlier start. Raises BlockingIOError if another process
        has the lock.
        """
        create_private_directory(self.directory)
        path = os.path.join(self.directory, LOCK)
        self._lock_fd = open_or_create(path, os.O_RDWR)
        fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for name in sorted(os.listdir(self.directory)):
            if name.endswith(OPEN_SUFFIX) and _NAME.fullmatch(name.removesuffix(OPEN_SUFFIX)):
                _complete(os.path.join(self.directory, name))
        # The wall clock may have been set back since: these files are the newest all the same.
        newest_ms = max((start_ms for start_ms, _, _ in self._complete_files()), default=-1)
        self._start_ms = max(self._start_ms, newest_ms + 1)
        self._delete_oldest()

    def write(self, lines: Iterable[bytes]) -> None:
        """Append lines. Roll the file whenever it is full or old enough."""
        chunk: list[bytes] = []
        for line in lines:
            chunk += (line, b"\n")
            self._size += len(line) + 1
            if self._size >= self._file_bytes:
                self._append(chunk)
                self._roll()
                chunk = []
        if chunk:
            self._append(chunk)
        if self._fd >= 0 and not 0 <= self._now_ms() - self._opened_ms < self._roll_ms:
            self._roll()

    def complete(self) -> None:
        """Complete the open file, if there is one."""
        if self._fd >= 0:
            self._roll()

    def close(self) -> None:
        """Close the open file as it is, and unlock the directory."""
        for fd in (self._fd, self._lock_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._lock_fd = -1

    def _append(self, chunk: list[bytes]) -> None:
        if self._fd < 0:
            name = f"requests-{self._start_ms}-{self._number:08d}.jsonl"
            self._path = os.path.join(self.directory, name + OPEN_SUFFIX)
            self._fd = create_file(self._path, os.O_WRONLY)
            self._number += 1
            self._opened_ms = self._now_ms()
        write_all(self._fd, b"".join(chunk))

    def _roll(self) -> None:
        fd, self._fd = self._fd, -1
        os.close(fd)
        self._size = 0
        os.rename(self._path, self._path.removesuffix(OPEN_SUFFIX))
        self._delete_oldest()

    def _delete_oldest(self) -> None:
        """Delete the oldest complete files until the others, and the next one, are within the bounds."""
        limit = self._retention_bytes - self._file_bytes
        kept_bytes = 0
        for kept, (_, _, path) in enumerate(sorted(self._complete_files(), reverse=True), 1):
            kept_bytes += os.stat(path).st_size
            if kept_bytes > limit or kept > MAX_FILES:
                os.unlink(path)

    def _complete_files(self) -> list[tuple[int, int, str]]:
        """Return the start, the number and the path of each complete file."""
        found = filter(None, map(_NAME.fullmatch, os.listdir(self.directory)))
        return [(int(name[1]), int(name[2]), os.path.join(self.directory, name[0])) for name in found]


def _complete(path: str) -> None:
    """Remove a truncated last line from a file that was left open, and give it its final name; delete an empty one."""
    with os.fdopen(open_for_writing(path), "r+b") as file:
        end = file.read().rfind(b"\n") + 1
        file.truncate(end)
    if end:
        os.rename(path, path.removesuffix(OPEN_SUFFIX))
    else:
        os.unlink(path)


class FileWriter:
    """Writes the queued lines to files, in a worker thread, so that a slow disk does not hold the event loop."""

    def __init__(self, files: RequestFiles, in_thread: InThread) -> None:
        self._files = files
        self._in_thread = in_thread

    async def run(self, lines: RequestLines) -> None:
        """Write what is queued, forever. Raises OSError."""
        await self._in_thread(self._files.open)
        while True:
            await trio.sleep(FLUSH_INTERVAL_S)
            await self._in_thread(self._files.write, lines.take().lines)

    async def finish(self, lines: RequestLines) -> None:
        """Write the rest and complete the file. Raises OSError."""
        self._files.write(lines.take().lines)
        self._files.complete()

    def close(self) -> None:
        self._files.close()
