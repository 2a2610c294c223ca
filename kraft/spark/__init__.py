"""The data pipeline on Spark, through PySpark: data sources, tables and simulation campaigns.

Needs the extra ``kraft[spark]`` and Java 17. No other room needs Spark. :func:`register` makes the data sources known
to a session.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if find_spec("pyspark") is None:
    raise ImportError("kraft.spark needs PySpark: pip install '.[spark]'")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Register the data sources with a session, for ``spark.read.format(…)`` and ``spark.readStream.format(…)``."""
    from kraft.spark.log_source import LogSource
    from kraft.spark.metadata_source import MetadataSource
    from kraft.spark.topic_source import TopicSource

    for source in (TopicSource, LogSource, MetadataSource):
        spark.dataSource.register(source)
