"""The operations that the pipeline needs of a table format, and the tables in parquet files, which need no jar.

A table of :class:`ParquetStore` is a directory of parquet files, and ``spark.read.parquet`` reads it:

    TABLE/batch=metadata-1f0c-000012/day=2026-11-22/part-….parquet
    TABLE/_manifest.json

- ``append`` writes a batch below ``_staging`` and publishes it by one rename. So a batch is there as a whole or not at
  all. A batch that is there already is not written again: its rows follow from the raw batch of the same name.
- ``replace`` publishes a batch instead of all others. The manifest first names the batches that the new one hides; then
  comes the rename; then the hidden batches are deleted. A reader through the store sees the old rows before the rename
  and the new ones after it, whatever happens. A plain ``spark.read.parquet`` would see both until the deletion.
- ``compact`` is a ``replace`` of some batches by one with the same rows. It leaves the newest batch of each query
  alone, because that one may run again.

One writer at a time, whatever the format: ``locked`` holds a lock on the directory of the tables.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kraft.spark.pipeline import files
from kraft.spark.pipeline.tables import BATCH, DAY, Column, TableSchema
from kraft.storage.creation import create_private_directory, open_or_create
from kraft.world.uuids import random_uuid

_STAGING = "_staging"
_MANIFEST = "_manifest.json"
_LOCK = "_lock"
_CLUSTER = "_cluster_id"
_FORMAT = "_table_format"
_PREFIX = f"{BATCH.name}="
_NUMBERED = re.compile(r"(.+)-([0-9]{6,})")
#: Written by a store itself; every other name is a query's.
_REWRITTEN = "rewritten"

COMPACT_FROM = 16
"""A table with this number of small batches is compacted."""
SMALL_BYTES = 64 * 2**20
"""A batch of at least this size stays as it is."""


class StoreError(Exception):
    """The tables cannot be written or read; the text says what to do."""


def batch_name(query: str, number: int) -> str:
    """Return the name of a query's batch. Later batches of a query have greater numbers."""
    return f"{query}-{number:06d}"


def query_and_number(batch: str) -> tuple[str, int]:
    match = _NUMBERED.fullmatch(batch)
    assert match is not None, f"{batch} is a batch's name"
    return match[1], int(match[2])


def rewritten_name(batches: Iterable[str]) -> str:
    """Return the name of a batch that takes the place of some of ``batches``. No table has it yet."""
    numbers = [number for query, number in map(query_and_number, batches) if query == _REWRITTEN]
    return batch_name(_REWRITTEN, 1 + max(numbers, default=0))


def greatest_numbers(batches: Iterable[str]) -> dict[str, int]:
    """Return the greatest number of each query's batches."""
    greatest: dict[str, int] = {}
    for query, number in map(query_and_number, batches):
        if query != _REWRITTEN:
            greatest[query] = max(number, greatest.get(query, -1))
    return greatest


def newest_batches(batches: Iterable[str]) -> list[str]:
    """Return the newest batch of each query, which alone may run again."""
    return [batch_name(query, number) for query, number in greatest_numbers(batches).items()]


def small_batches(sizes: Mapping[str, int]) -> list[str]:
    """Return the batches to merge, of batches with their sizes in bytes: none, or at least COMPACT_FROM.

    The newest batch of a query stays as it is, because it may run again.
    """
    newest = newest_batches(sizes)
    small = [name for name, size in sizes.items() if name not in newest and size < SMALL_BYTES]
    return small if len(small) >= COMPACT_FROM else []


def types_of(table: TableSchema) -> dict[str, str]:
    """Return the type of each column, without those of the partitions."""
    return {column.name: column.type for column in table.columns}


def partitions_of(table: TableSchema) -> tuple[Column, ...]:
    """Return the columns by which the rows of a table are partitioned."""
    return (BATCH, DAY) if table.dated else (BATCH,)


def check_types(where: str, known: Mapping[str, str], types: Mapping[str, str]) -> None:
    """Raise StoreError if a known column has another type now. ``where`` names the table."""
    for name, kind in types.items():
        if known.get(name, kind) != kind:
            raise StoreError(
                f"{where}: column {name} is {known[name]} there and {kind} here; write into another directory"
            )


class TableStore(Protocol):
    """The operations that a table format must have. Each of them may be repeated after a crash."""

    def append(self, table: TableSchema, batch: str, rows: DataFrame) -> None:
        """Add the rows of a batch, unless the batch is there already."""
        ...

    def replace(self, table: TableSchema, rows: DataFrame) -> None:
        """Make ``rows`` the only rows of the table."""
        ...

    def read(self, table: TableSchema) -> DataFrame:
        """Return the rows with all columns of the table, and ``batch``. Columns of later versions are left out."""
        ...

    def batches(self, table: TableSchema) -> list[str]:
        """Return the names of the batches that may run again: at least the newest of each query."""
        ...

    def last_number(self, table: TableSchema, query: str) -> int:
        """Return the greatest number of a query's batches that the table ever had; -1 if it had none."""
        ...

    def compact(self, table: TableSchema) -> int:
        """Merge small batches. Return the number of batches that became one."""
        ...


@attrs.define
class _Manifest:
    """The part of a table's state that its directories do not show.

    ``hidden`` are the batches that ``hidden_by`` replaces as soon as it is there. ``compacted`` has the greatest number
    of each query's batches that were merged. ``columns`` has the type of every column ever written.
    """

    hidden: list[str] = attrs.Factory(list)
    hidden_by: str = ""
    compacted: dict[str, int] = attrs.Factory(dict)
    columns: dict[str, str] = attrs.Factory(dict)


class ParquetStore:
    """Tables as directories of parquet files under ``path``."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path
        # The JVM of a killed process may write for another moment, so no process uses the place of another.
        self._staging = os.path.join(path, _STAGING, random_uuid().hex)

    def append(self, table: TableSchema, batch: str, rows: DataFrame) -> None:
        manifest = self._recovered(table)
        query, number = query_and_number(batch)
        if batch in self._visible(table, manifest) or number <= manifest.compacted.get(query, -1):
            return
        self._note_columns(table, manifest)
        staged = self._stage(table, batch, rows)
        if any(files.directories(staged)):  # without rows there is no day
            files.publish(staged, self._directory(table, batch))

    def replace(self, table: TableSchema, rows: DataFrame) -> None:
        manifest = self._recovered(table)
        self._note_columns(table, manifest)
        self._rewrite(table, manifest, self._visible(table, manifest), rows)

    def read(self, table: TableSchema) -> DataFrame:
        manifest = self._manifest(table)
        return self._read(table, self._visible(table, manifest), types_of(table))

    def batches(self, table: TableSchema) -> list[str]:
        return self._visible(table, self._manifest(table))

    def last_number(self, table: TableSchema, query: str) -> int:
        manifest = self._manifest(table)
        visible = greatest_numbers(self._visible(table, manifest))
        return max(visible.get(query, -1), manifest.compacted.get(query, -1))

    def compact(self, table: TableSchema) -> int:
        manifest = self._recovered(table)
        sizes = {name: files.size_of(self._directory(table, name)) for name in self._visible(table, manifest)}
        small = small_batches(sizes)
        if not small:
            return 0
        # These are greater than those of earlier compactions: a number that was merged is never appended again.
        manifest.compacted |= greatest_numbers(small)
        types = {**types_of(table), **manifest.columns}  # a later version may have added columns
        rows = self._read(table, small, types).drop(BATCH.name)
        self._rewrite(table, manifest, small, rows.repartition(F.col(DAY.name)).sortWithinPartitions("time"))
        return len(small)

    def _rewrite(self, table: TableSchema, manifest: _Manifest, old: Sequence[str], rows: DataFrame) -> None:
        batch = rewritten_name(self.batches(table))
        staged = self._stage(table, batch, rows)
        manifest.hidden, manifest.hidden_by = list(old), batch
        self._write_manifest(table, manifest)
        files.publish(staged, self._directory(table, batch))
        self._recovered(table)

    def _recovered(self, table: TableSchema) -> _Manifest:
        """Finish or undo a rewrite that a crash interrupted, and return the manifest."""
        manifest = self._manifest(table)
        if manifest.hidden_by:
            if os.path.isdir(self._directory(table, manifest.hidden_by)):
                for name in manifest.hidden:
                    files.remove(self._directory(table, name))
            manifest.hidden, manifest.hidden_by = [], ""
            self._write_manifest(table, manifest)
        return manifest

    def _visible(self, table: TableSchema, manifest: _Manifest) -> list[str]:
        found = files.directories(os.path.join(self._path, table.name))
        names = [name.removeprefix(_PREFIX) for name in found if name.startswith(_PREFIX)]
        return [name for name in names if manifest.hidden_by not in names or name not in manifest.hidden]

    def _read(self, table: TableSchema, batches: Sequence[str], types: dict[str, str]) -> DataFrame:
        schema = ", ".join(
            f"`{name}` {kind}"
            for name, kind in {**types, **{each.name: each.type for each in partitions_of(table)}}.items()
        )
        if not batches:
            return self._spark.createDataFrame([], schema)
        paths = [self._directory(table, name) for name in batches]
        reader = self._spark.read.schema(schema).option("basePath", os.path.join(self._path, table.name))
        return reader.parquet(*paths)

    def _stage(self, table: TableSchema, batch: str, rows: DataFrame) -> str:
        staged = os.path.join(self._staging, table.name, _PREFIX + batch)
        if table.dated:
            rows = rows.withColumn(DAY.name, F.to_date("time"))
            rows.write.mode("overwrite").partitionBy(DAY.name).parquet(staged)
        else:
            rows.write.mode("overwrite").parquet(staged)
        return staged

    def _directory(self, table: TableSchema, batch: str) -> str:
        return os.path.join(self._path, table.name, _PREFIX + batch)

    def _manifest(self, table: TableSchema) -> _Manifest:
        path = os.path.join(self._path, table.name, _MANIFEST)
        try:
            with open(path, encoding="utf-8") as file:
                return _Manifest(**json.load(file))
        except FileNotFoundError:
            return _Manifest()
        except (ValueError, TypeError) as error:
            raise StoreError(f"{path} is not a manifest of this version: {error}") from None

    def _write_manifest(self, table: TableSchema, manifest: _Manifest) -> None:
        text = json.dumps(attrs.asdict(manifest), indent=1, sort_keys=True)
        files.write_text(os.path.join(self._path, table.name, _MANIFEST), text + "\n")

    def _note_columns(self, table: TableSchema, manifest: _Manifest) -> None:
        """Note new columns in the manifest. Raises StoreError if a column had another type."""
        types = types_of(table)
        check_types(os.path.join(self._path, table.name), manifest.columns, types)
        if not manifest.columns.keys() >= types.keys():
            manifest.columns.update(types)
            self._write_manifest(table, manifest)


@contextmanager
def locked(path: str, cluster_id: str | None, table_format: str = "parquet") -> Iterator[None]:
    """Hold the lock on a directory of tables, which is created. The lock ends with the process.

    The directory is for one cluster, because two clusters may have the same offsets and node ids. All its tables have
    one format.

    Raises StoreError: another pipeline has the lock, the directory is another cluster's or of another format, or the
        path is a URL.
    """
    if "://" in path:
        raise StoreError(f"{path}: the tables need a directory that is mounted here; give its path")
    create_private_directory(path)
    with os.fdopen(open_or_create(os.path.join(path, _LOCK), os.O_RDWR), "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise StoreError(f"{path}: the pipeline with process id {file.read() or '?'} writes here") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        _claim(path, cluster_id, table_format)
        files.remove(os.path.join(path, _STAGING))  # left by killed processes
        yield


def _claim(path: str, cluster_id: str | None, table_format: str) -> None:
    known_format, known_cluster = _mark(path, _FORMAT), _mark(path, _CLUSTER)
    if known_format not in ("", table_format):
        raise StoreError(
            f"{path}: the tables are in the format {known_format}, not {table_format}; "
            f"give --table-format {known_format}, or write into another directory"
        )
    if cluster_id is not None and known_cluster not in ("", cluster_id):
        raise StoreError(
            f"{path}: the tables are of cluster {known_cluster}, not of {cluster_id}; write into another directory"
        )
    if not known_format:
        files.write_text(os.path.join(path, _FORMAT), table_format + "\n")
    if cluster_id is not None and not known_cluster:
        files.write_text(os.path.join(path, _CLUSTER), cluster_id + "\n")


def _mark(path: str, name: str) -> str:
    try:
        with open(os.path.join(path, name), encoding="utf-8") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""
