"""The tables in Delta Lake, for a session that has Delta's jar.

Each table is a directory with the columns and partitions of the parquet one, and with Delta's transaction log. Every
operation is one commit to this log, which is atomic. So any reader of Delta sees whole batches at any time.

- ``append`` gives the query and the number of the batch as Delta's ``txnAppId`` and ``txnVersion``. The log has the
  greatest number of each query, and Delta passes over a number that is not greater.
- ``replace`` and ``compact`` remove old files and add new ones in one commit.

Delta keeps the removed files for ``KEEP_S``, for readers that began before. ``VACUUM`` then deletes them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F

from kraft.spark.pipeline.store import (
    StoreError,
    check_types,
    greatest_numbers,
    partitions_of,
    query_and_number,
    rewritten_name,
    small_batches,
    types_of,
)
from kraft.spark.pipeline.tables import BATCH, DAY, TableSchema

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"
"""The release of Delta that the tests run, for Spark 4.2."""
_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
#: Delta's defaults are for a cluster: it cuts its log into 50 tasks, and a list of files into 10,000.
_LOCAL: Mapping[str, str] = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
}
_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_LOG = "_delta_log"
_COMMIT = re.compile(r"([0-9]{20})\.json")

KEEP_S = 3600
"""The files that a commit removed are kept for this time."""
_LOG_RETENTION = "interval 1 day"
VACUUM_EVERY = 60
"""A table that is replaced is vacuumed every so many commits."""


class DeltaStore:
    """Tables of Delta in directories under ``path``.

    Raises StoreError: the session has no Delta.
    """

    def __init__(self, spark: SparkSession, path: str, *, keep_s: int = KEEP_S) -> None:
        self._spark = spark
        self._path = os.path.abspath(path)
        self._keep_s = keep_s
        spark.conf.set("spark.sql.catalog.spark_catalog", _CATALOG)
        _check(spark)

    def append(self, table: TableSchema, batch: str, rows: DataFrame) -> None:
        self._check_types(table)
        if not rows.isEmpty():  # a batch without rows is not in the table, so its number may come again
            query, number = query_and_number(batch)
            writer = self._writer(table, batch, rows).options(txnAppId=query, txnVersion=number)
            writer.mode("append").save(self._directory(table))

    def replace(self, table: TableSchema, rows: DataFrame) -> None:
        self._check_types(table)
        self._writer(table, rewritten_name(()), rows).mode("overwrite").save(self._directory(table))
        if (self._version(table) + 1) % VACUUM_EVERY == 0:
            self._vacuum(table)

    def read(self, table: TableSchema) -> DataFrame:
        types = types_of(table) | {each.name: each.type for each in partitions_of(table)}
        if self._version(table) < 0:
            return self._spark.createDataFrame([], ", ".join(f"`{name}` {kind}" for name, kind in types.items()))
        rows = self._load(table)
        missing = {name: F.lit(None).cast(types[name]) for name in types.keys() - rows.columns}
        return rows.withColumns(missing).select(*types)

    def batches(self, table: TableSchema) -> list[str]:
        return sorted(self._sizes(table))

    def last_number(self, table: TableSchema, query: str) -> int:
        return greatest_numbers(self.batches(table)).get(query, -1)

    def compact(self, table: TableSchema) -> int:
        sizes = self._sizes(table)
        small = small_batches(sizes)
        if small:
            merged = rewritten_name(sizes)
            rows = self._load(table).where(F.col(BATCH.name).isin(small)).drop(BATCH.name)
            rows = rows.repartition(F.col(DAY.name)).sortWithinPartitions("time")
            replaced = ", ".join(f"'{name}'" for name in (*small, merged))
            writer = self._writer(table, merged, rows).mode("overwrite")
            # A stream that reads the table passes over a commit without a change of data.
            writer = writer.option("replaceWhere", f"{BATCH.name} in ({replaced})").option("dataChange", "false")
            writer.save(self._directory(table))
            self._vacuum(table)
        return len(small)

    def _load(self, table: TableSchema) -> DataFrame:
        return self._spark.read.format("delta").load(self._directory(table))

    def _writer(self, table: TableSchema, batch: str, rows: DataFrame) -> DataFrameWriter:
        rows = rows.withColumn(BATCH.name, F.lit(batch))
        if table.dated:
            rows = rows.withColumn(DAY.name, F.to_date("time"))
        properties = {  # of a new table; an older one has them
            "delta.deletedFileRetentionDuration": f"interval {self._keep_s} seconds",
            "delta.logRetentionDuration": _LOG_RETENTION,
        }
        writer = rows.write.format("delta").partitionBy(*(each.name for each in partitions_of(table)))
        return writer.options(mergeSchema="true", **properties)

    def _check_types(self, table: TableSchema) -> None:
        if self._version(table) >= 0:
            check_types(self._directory(table), dict(self._load(table).dtypes), types_of(table))

    def _sizes(self, table: TableSchema) -> dict[str, int]:
        """Return the batches of a table with their sizes in bytes."""
        if self._version(table) < 0:
            return {}
        files = self._load(table).groupBy(BATCH.name, "_metadata.file_path").agg(F.first("_metadata.file_size"))
        sizes: dict[str, int] = {}
        for batch, _, size in files.collect():
            sizes[batch] = size + sizes.get(batch, 0)
        return sizes

    def _version(self, table: TableSchema) -> int:
        """Return the number of the table's newest commit; -1 if there is no table."""
        try:
            names = os.listdir(os.path.join(self._directory(table), _LOG))
        except FileNotFoundError:
            return -1
        return max((int(found[1]) for name in names if (found := _COMMIT.fullmatch(name))), default=-1)

    def _vacuum(self, table: TableSchema) -> None:
        path = self._directory(table).replace("`", "``")
        self._spark.sql(f"VACUUM delta.`{path}`")

    def _directory(self, table: TableSchema) -> str:
        return os.path.join(self._path, table.name)


def session_settings(settings: Mapping[str, str], *, is_local: bool) -> dict[str, str]:
    """Return the settings of a session, with those that Delta needs beside its jars."""
    extensions = [settings["spark.sql.extensions"]] if "spark.sql.extensions" in settings else []
    ours = {"spark.sql.extensions": ",".join([*extensions, _EXTENSION])}
    return {**(_LOCAL if is_local else {}), **settings, **ours}


def _check(spark: SparkSession) -> None:
    """Raise StoreError unless the session has Delta."""
    try:
        spark.read.format("delta").load(f"/{_EXTENSION}")
    except (AnalysisException, Py4JJavaError) as error:
        if "DATA_SOURCE_NOT_FOUND" in str(error):
            raise StoreError(
                "This Spark has no Delta; give its jars with --conf spark.jars.packages=io.delta:delta-spark_… in the "
                f"release for your Spark, such as {PACKAGE}"
            ) from None
        if "PATH_NOT_FOUND" not in str(error):
            raise
