"""Replace a small file as a whole: after a crash it holds either the old bytes or the new ones."""

from __future__ import annotations

import contextlib
import os

from kraft.storage.creation import create_file


def write_atomically(path: str | os.PathLike[str], data: bytes, *, durable: bool = True) -> None:
    """Write ``data`` to a temporary file beside ``path`` and rename it to ``path``.

    With ``durable`` the bytes and the rename survive a power cut once this returns. Without it they survive only the
    death of the process. After a power cut the file may be old, new, empty or missing, so its reader must be able to
    rebuild it.

    Raises OSError if the write failed; the old file is still in place.
    """
    path = os.fspath(path)
    temporary = path + ".tmp"
    try:
        fd = create_file(temporary, os.O_WRONLY)
        try:
            write_all(fd, data)
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if durable:
        sync_directory(os.path.dirname(path) or ".")


def write_all(fd: int, data: bytes | bytearray | memoryview) -> None:
    """Write every byte, in as many calls as the kernel needs. Raises OSError."""
    written = os.write(fd, data)
    if written == len(data):
        return
    view = memoryview(data)
    while written < len(view):
        written += os.write(fd, view[written:])


def sync_directory(path: str | os.PathLike[str]) -> None:
    """Make creations, renames and deletions in a directory durable. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
