"""The tables of a run that is killed again and again are those of a backfill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kraft.spark import register
from tests.spark import killed_runs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.timeout(580)
def test_killed_runs_lose_nothing_and_repeat_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """docs/pipeline.md: "After kill -9, of Spark's JVM too, the next run completes the interrupted batch and goes on."

    The process of the pipeline or its JVM is killed, then the active controller; SIGTERM ends the last run.
    """
    register(spark)
    print(killed_runs.run(0, spark, tmp_path, kills=1))
