"""``python -m tests.support.faulty_node FILE``: a node on a disk that fails on demand.

While a file named ``fsync-fails`` is in the working directory of the node, each of its fsyncs ends with EIO.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

from kraft.node.__main__ import main

SWITCH = "fsync-fails"


def failing(sync: Callable[[int], None]) -> Callable[[int], None]:
    def call(fd: int) -> None:
        if Path(SWITCH).exists():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(fd)

    return call


if __name__ == "__main__":
    os.fsync, os.fdatasync = failing(os.fsync), failing(os.fdatasync)  # type: ignore[assignment]
    sys.exit(main())
