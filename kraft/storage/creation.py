"""The one way to make files and directories: exclusive, through no symbolic link, and readable to no stranger.

It is also the one way to open a file: only a regular one. A pipe in its place would block its reader forever.

The owner may read and write. The group of a directory may read a new file in it if the group may read the directory
itself: ``chmod g+rx`` on a log directory shares the files that follow with its group, as in PostgreSQL's data
directory. Others get nothing. The umask of the process may take more away.
"""

from __future__ import annotations

import errno
import os
import stat

_GROUP_READS = 0o050
"""A group that may list a directory and enter it."""


def create_file(path: str | os.PathLike[str], flags: int = os.O_RDWR) -> int:
    """Create an empty file and return its descriptor. A file or a link of that name, left by a crash, is removed and
    never opened. Raises OSError.
    """
    flags |= os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    mode = 0o600 | _shared(path, 0o040)
    try:
        return os.open(path, flags, mode)
    except FileExistsError:
        os.unlink(path)
    return os.open(path, flags, mode)


def open_or_create(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file that lasts, such as a lock, or create it; return its descriptor. Raises OSError, also for a link."""
    return _open_regular(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600 | _shared(path, 0o040))


def open_for_writing(path: str | os.PathLike[str], flags: int = os.O_RDWR) -> int:
    """Open a file that exists, and return its descriptor. Raises OSError, also for a link."""
    return _open_regular(path, flags | os.O_NOFOLLOW)


def open_for_reading(path: str | os.PathLike[str], flags: int = os.O_RDONLY) -> int:
    """Open a file, and return its descriptor; also the ``opener`` of the built-in ``open``. Raises OSError."""
    return _open_regular(path, flags)


def _open_regular(path: str | os.PathLike[str], flags: int, mode: int = 0) -> int:
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, mode)  # O_NONBLOCK changes nothing for a regular file
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    return fd


def create_directory(path: str | os.PathLike[str]) -> None:
    """Create a directory inside a log directory. Raises FileExistsError, OSError."""
    os.mkdir(path, 0o700 | _shared(path, _GROUP_READS))


def create_private_directory(path: str | os.PathLike[str]) -> None:
    """Create a directory and its missing parents, for its owner alone. An existing one stays as it is. Raises OSError.

    The parents are those of the system, so their modes decide nothing here.
    """
    os.makedirs(path, 0o700, exist_ok=True)


def _shared(path: str | os.PathLike[str], bits: int) -> int:
    """Return ``bits`` if the group may read the directory of ``path``, else 0."""
    parent = os.stat(os.path.dirname(path) or ".").st_mode
    return bits if parent & _GROUP_READS == _GROUP_READS else 0
