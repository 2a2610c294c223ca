"""Records that stay on disk until they are sent.

A Fetch response names a slice of a segment file instead of holding its bytes. The connection sends the slice with
``sendfile``. The slice keeps its file object alive, so a segment may be deleted before the response is sent.
"""

from __future__ import annotations

import os
from typing import Protocol

import attrs

__all__ = ["FileSlice", "HasFileno", "Records"]


class HasFileno(Protocol):
    """A file that ``os.sendfile`` can read."""

    def fileno(self) -> int:
        """The file descriptor."""
        ...


@attrs.frozen
class FileSlice:
    """``length`` bytes of ``file`` from ``position`` on."""

    file: HasFileno
    position: int
    length: int

    def __len__(self) -> int:
        return self.length

    def copy(self) -> bytes:
        """Read the bytes. There are fewer than ``length`` if the file ends before. Raises OSError."""
        return os.pread(self.file.fileno(), self.length, self.position)


Records = bytes | bytearray | memoryview | FileSlice | None
"""The value of a ``records`` field: record batches in memory or on disk, or null."""
