"""A Python worker of Spark has ten seconds to connect back (``PythonWorkerFactory``), which a busy machine exceeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyspark.errors import PySparkException

T = TypeVar("T")

BUSY, MAX_BUSY = "Python worker failed to connect back", 5


def unless_busy(attempt: Callable[[], T]) -> T:
    """Call ``attempt``, which may be repeated, and again if it fails only because a worker came too late."""
    for _ in range(MAX_BUSY):
        try:
            return attempt()
        except PySparkException as failure:
            if BUSY not in str(failure):
                raise
    return attempt()
