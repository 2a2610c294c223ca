"""The pool of open files, which all nodes of a test process share."""

from __future__ import annotations

import gc

from kraft.storage.open_files import OPEN_FILES


def held_files() -> int:
    """Close all files that nobody uses, and return the number of the others, those of other tests' nodes included."""
    gc.collect()
    before, OPEN_FILES.capacity = OPEN_FILES.capacity, 0
    try:
        OPEN_FILES.has_room()
    finally:
        OPEN_FILES.capacity = before
    return len(OPEN_FILES)
