"""A stream of files has each record of a topic once, though brokers die in the middle of its batches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kraft.spark import register
from tests.spark import exactly_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("source", ["kafka", "kraft"])
def test_files_have_each_record_once(spark: SparkSession, tmp_path: Path, source: str) -> None:
    """Spark's guide: a replayable source, a checkpoint and an idempotent sink give end-to-end exactly-once."""
    register(spark)
    before = {name: spark.conf.get(name) for name in exactly_once.SPARK_SETTINGS}
    try:
        for name, value in exactly_once.SPARK_SETTINGS.items():
            spark.conf.set(name, value)
        print(exactly_once.run(0, spark, tmp_path, source))
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
