"""The changes of the file system that the parquet store makes. Each is atomic, or may be repeated after a crash.

The directory must be on a file system with atomic renames that the driver and all executors share.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

from kraft.storage.atomic import write_atomically


def publish(staged: str, path: str) -> None:
    """Move a directory to a path at which there is none, so that it appears as a whole."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.rename(staged, path)


def remove(path: str) -> None:
    """Delete a directory with its content, if it exists. A crash may leave a part of it."""
    if os.path.isdir(path):
        shutil.rmtree(path)


def write_text(path: str, text: str) -> None:
    """Replace the content of a file as a whole."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_atomically(path, text.encode())


def read_text(path: str) -> str:
    """Return the content of a file; an empty text if there is none."""
    with suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
        return file.read()
    return ""


def directories(path: str) -> list[str]:
    """Return the names of the directories in ``path``, sorted; none if it does not exist."""
    with suppress(FileNotFoundError), os.scandir(path) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir())
    return []


def size_of(path: str) -> int:
    """Return the size in bytes of all files below ``path``."""
    return sum(os.path.getsize(os.path.join(parent, name)) for parent, _, names in os.walk(path) for name in names)
