"""Every table format has the operations that the pipeline needs, and each of them may be repeated after a crash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

from kraft.spark.pipeline import files
from kraft.spark.pipeline import store as stores
from kraft.spark.pipeline.delta_store import DeltaStore
from kraft.spark.pipeline.store import ParquetStore, StoreError, TableStore, batch_name, locked
from kraft.spark.pipeline.tables import TABLES, Column, TableSchema
from tests.spark.killer import FILES, Killed, Killer, Step, until_done
from tests.spark.pipeline_rows import SMALL, found, numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = [batch_name("events1", number) for number in range(4)]


@attrs.frozen
class Format:
    """A table format under test. ``open`` is what a process does that begins."""

    name: str
    spark: SparkSession
    open: Callable[[], TableStore]
    path: str
    steps: Sequence[Step]

    def plain(self) -> DataFrame:
        """The table as a user of the format reads it, without ``kraft``."""
        return self.spark.read.format(self.name).load(f"{self.path}/small")


@pytest.fixture(params=["parquet", "delta"])
def tables(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Format:
    from pyspark.sql import DataFrameWriter
    from pyspark.sql import SparkSession as Session

    path = str(tmp_path)
    if request.param == "parquet":
        return Format("parquet", spark, lambda: ParquetStore(spark, path), path, FILES)
    session = spark.newSession()  # the catalog of Delta stays in this session
    commits = [(DataFrameWriter, "save"), (Session, "sql")]
    return Format("delta", session, lambda: DeltaStore(session, path), path, commits)


def test_a_batch_is_added_once(tables: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that runs again after a crash changes nothing, nor does an older one."""

    def attempt() -> None:
        for number in range(2):
            tables.open().append(SMALL, EVENTS[number], numbers(tables.spark, [number, 10 + number]))

    def whole() -> None:
        assert found(tables.open().read(SMALL)) in ([], [0, 10])

    store = tables.open()
    assert (found(store.read(SMALL)), store.batches(SMALL), store.compact(SMALL)) == ([], [], 0)
    assert store.last_number(SMALL, "events1") == -1
    assert until_done(monkeypatch, tables.steps, attempt, whole, range(9)) >= 2
    store.append(SMALL, EVENTS[0], numbers(tables.spark, [0]))
    store.append(SMALL, batch_name("events2", 0), numbers(tables.spark, [7]))
    store.append(SMALL, EVENTS[2], numbers(tables.spark, []))
    assert found(store.read(SMALL)) == found(tables.plain()) == [0, 1, 7, 10, 11]
    assert sorted(store.batches(SMALL)) == [*EVENTS[:2], batch_name("events2", 0)]
    assert store.last_number(SMALL, "events1") == 1
    # A batch without rows is not in the table. So a backfill may use its number again, with other rows.
    store.append(SMALL, EVENTS[2], numbers(tables.spark, [2]))
    assert found(store.read(SMALL)) == [0, 1, 2, 7, 10, 11]


def test_a_replacement_is_whole_whatever_crashes(tables: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader sees the old rows or the new ones."""
    store, answers = tables.open(), attrs.evolve(SMALL, layer=TABLES["broker_states"].layer)
    store.replace(answers, numbers(tables.spark, [1, 2]))

    def whole() -> None:
        assert found(tables.open().read(answers)) in ([1, 2], [3])

    def replace() -> None:
        tables.open().replace(answers, numbers(tables.spark, [3]))

    assert until_done(monkeypatch, tables.steps, replace, whole, range(9)) >= 1
    assert found(store.read(answers)) == found(tables.plain()) == [3]
    store.replace(answers, numbers(tables.spark, []))
    assert found(store.read(answers)) == []


def test_compaction_survives_a_kill_between_any_two_steps(tables: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of the store sees every row once at any time. A plain reader does so once no compaction is underway.

    Schema evolution: new columns are null in old rows; the columns of a later version outlive a compaction.
    """
    monkeypatch.setattr(stores, "COMPACT_FROM", 3)
    older, store = SMALL, tables.open()
    newer = attrs.evolve(older, columns=(*older.columns, Column("words", "string", "New.")))
    for number in range(2):
        store.append(older, EVENTS[number], numbers(tables.spark, [number]))
    assert store.read(newer).where("words is null").count() == 2
    rows = numbers(tables.spark, [2]).selectExpr("*", "'new' as words")
    store.append(newer, EVENTS[2], rows)
    store.append(older, EVENTS[3], numbers(tables.spark, [3]))
    other: TableSchema = attrs.evolve(older, columns=(older.columns[0], Column("n", "string", "Which.")))
    with pytest.raises(StoreError, match=r"small: column n is bigint there and string here; write into another"):
        store.append(other, "events2-000000", rows.selectExpr("time", "string(n) as n"))

    def whole() -> None:
        assert found(tables.open().read(older)) == [0, 1, 2, 3]

    kills = until_done(monkeypatch, tables.steps, lambda: tables.open().compact(older), whole, range(20))
    assert kills >= {"parquet": 4, "delta": 2}[tables.name]
    assert store.compact(older) == 0
    assert found(tables.plain()) == [0, 1, 2, 3]
    assert EVENTS[3] in store.batches(older)
    assert len(store.batches(older)) == 2
    # A batch that was merged is known, and so is the number that a new query must not use.
    tables.open().append(older, EVENTS[1], numbers(tables.spark, [1]))
    assert [(row["n"], row["words"]) for row in store.read(newer).orderBy("n").collect()] == [
        (0, None),
        (1, None),
        (2, "new"),
        (3, None),
    ]
    assert store.read(older).columns == ["time", "n", "batch", "day"]
    assert store.last_number(older, "events1") == 3


def test_a_killed_process_that_still_writes_changes_no_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JVM outlives ``kill -9`` of its Python for a moment. Meanwhile the next process runs the same batch."""
    batch, rows, publish = batch_name("events1", 0), numbers(spark, [7]), files.publish

    def written() -> Path:
        (file,) = tmp_path.rglob("part-*.parquet")
        return file

    with monkeypatch.context() as patch:
        patch.setattr(files, "publish", Killer(0).change(files.publish))
        with pytest.raises(Killed):
            ParquetStore(spark, str(tmp_path)).append(SMALL, batch, rows)
    late, bytes_of_it = written(), written().read_bytes()

    def publish_later(staged: str, path: str) -> None:
        late.parent.mkdir(parents=True, exist_ok=True)
        late.with_name("part-late.parquet").write_bytes(bytes_of_it)
        publish(staged, path)

    with monkeypatch.context() as patch:
        patch.setattr(files, "publish", publish_later)
        ParquetStore(spark, str(tmp_path)).append(SMALL, batch, rows)
    assert found(ParquetStore(spark, str(tmp_path)).read(SMALL)) == [7]


def test_one_writer_one_cluster_and_one_format(tmp_path: Path) -> None:
    path = str(tmp_path / "tables")
    with locked(path, "cluster-a"):
        with (
            pytest.raises(StoreError, match=r"tables: the pipeline with process id \d+ writes here"),
            locked(path, None),
        ):
            pass
    with pytest.raises(StoreError, match=r"are of cluster cluster-a, not of cluster-b; write into another directory"):
        with locked(path, "cluster-b"):
            pass
    left = tmp_path / "tables" / "_staging" / "of-a-killed-process"
    left.mkdir(parents=True)
    with locked(path, "cluster-a"):
        assert not left.exists()
    with pytest.raises(StoreError, match=r"in the format parquet, not delta; give --table-format parquet"):
        with locked(path, "cluster-a", "delta"):
            pass
