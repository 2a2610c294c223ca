"""The session behind the pytest fixture ``kraft_spark``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kraft.spark import register
from kraft.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORES = 2
SETTINGS: Mapping[str, str] = {"spark.sql.shuffle.partitions": str(CORES)}
"""The settings in which the session of a test differs from a local session. Each shuffle partition is a task."""


def session_for_tests(lines: Iterable[str]) -> SparkSession:
    """Start a session that knows the data sources. ``lines`` are settings as in ``spark-submit --conf``: ``key=value``.

    Raises:
        ValueError: a line is no setting.
        JavaMissing: no Java runs here, or it is too old.
    """
    session = local_session("pytest", cores=CORES, settings={**SETTINGS, **dict(map(_setting, lines))})
    register(session)
    return session


def _setting(line: str) -> tuple[str, str]:
    key, equals, value = (part.strip() for part in line.partition("="))
    if not equals or not key.startswith("spark."):
        raise ValueError(f"kraft_spark_settings: {line!r} is not of the form spark.name=value")
    return key, value
