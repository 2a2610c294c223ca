"""The open files of all logs in this process: opened when they are used, closed while others are used more.

The operating system limits the open files of a process, and a node may have more partitions than that. So a log holds
:class:`LazyFile` objects, and at most ``capacity`` of them are open. To open another, the pool closes one that was not
used lately (the "second chance" approximation of least recently used).

A closed descriptor's number may be reused at once for another file. So nobody keeps a number: a reader holds the
:class:`OpenFile`, which closes itself when the last reference to it goes. Responses that are being sent hold theirs.

A write error that the kernel has not reported yet survives the close: the next opener's fsync gets it (Linux 4.17).
"""

from __future__ import annotations

import os
import threading
from weakref import WeakValueDictionary

from kraft.storage.creation import create_file, open_for_writing

DEFAULT_CAPACITY = 512
_FLAGS = os.O_RDWR | os.O_APPEND


class OpenFile:
    """An open file that closes itself when the last reference to it goes."""

    __slots__ = ("__weakref__", "_fd", "_pool", "path")

    def __init__(self, path: str, fd: int, pool: set[int]) -> None:
        self.path = path
        self._fd = fd
        self._pool = pool
        pool.add(fd)

    def fileno(self) -> int:
        return self._fd

    def __del__(self) -> None:
        self._pool.discard(self._fd)  # before the number can belong to another file
        os.close(self._fd)


class OpenFiles:
    """The pool. Any thread may use it."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self.capacity = capacity
        self.opened = 0
        """How often a file was opened."""
        self._descriptors: set[int] = set()
        self._opened: WeakValueDictionary[int, LazyFile] = WeakValueDictionary()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """The number of files that are open, including those that only a reader still holds."""
        return len(self._descriptors)

    def has_room(self) -> bool:
        """Whether another file may be opened and held for a while, after closing files that nobody holds."""
        if len(self._descriptors) < self.capacity:
            return True
        with self._lock:
            self._make_room()
        return len(self._descriptors) < self.capacity

    def open(self, lazy: LazyFile, *, create: bool) -> OpenFile:
        """Open a file, beyond the capacity if all others are held. Raises OSError."""
        with self._lock:
            self._make_room()
            fd = create_file(lazy.path, _FLAGS) if create else open_for_writing(lazy.path, _FLAGS)
            self._opened.pop(id(lazy), None)
            self._opened[id(lazy)] = lazy  # the newest is the last
            self.opened += 1
            return OpenFile(lazy.path, fd, self._descriptors)

    def _make_room(self) -> None:
        for _ in range(2 * len(self._opened)):  # each file may get its second chance
            if len(self._descriptors) < self.capacity:
                return
            key = next(iter(self._opened.keys()), None)
            lazy = None if key is None else self._opened.pop(key, None)
            if lazy is not None and lazy.used_lately:
                lazy.used_lately = False
                self._opened[id(lazy)] = lazy
            elif lazy is not None:
                lazy.close()


OPEN_FILES = OpenFiles()
"""One for the process, as its limit is."""


class LazyFile:
    """A file of a log. Every method may raise OSError."""

    __slots__ = ("__weakref__", "_file", "path", "used_lately")

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: OpenFile | None = None
        self.used_lately = False

    def use(self) -> OpenFile:
        """Return the file, opened for reading and appending. It must exist: an empty new file would count as a segment
        at the next start.
        """
        file = self._file
        if file is None:
            self.used_lately = False  # the second use earns the second chance
            file = self._file = OPEN_FILES.open(self, create=False)
        else:
            self.used_lately = True
        return file

    def create(self) -> OpenFile:
        """Create the file, and remove a leftover of that name."""
        self.used_lately = False
        file = self._file = OPEN_FILES.open(self, create=True)
        return file

    def close(self) -> None:
        """Close the file, unless a reader holds it. It may be used again."""
        self._file = None
