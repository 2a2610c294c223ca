"""Tables of Delta: what the log knows, what is deleted, and what a session must have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from kraft.spark.pipeline import delta_store
from kraft.spark.pipeline.delta_store import DeltaStore, session_settings
from kraft.spark.pipeline.store import StoreError, batch_name
from kraft.spark.pipeline.tables import TABLES
from tests.spark.pipeline_rows import SMALL, found, numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LIMIT_S = 100


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    return spark.newSession()  # the catalog of Delta stays in this session


def test_a_killed_process_that_still_commits_adds_no_row(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JVM outlives ``kill -9`` of its Python for a moment, and may commit while the next process runs the batch.

    Delta Lake, "Idempotent table writes in foreachBatch": a write with the txnAppId and txnVersion of an earlier one is
    ignored.
    """
    from pyspark.sql import DataFrameWriter

    batch, rows, save = batch_name("events1", 0), numbers(session, [7]), DataFrameWriter.save
    late = [DeltaStore(session, str(tmp_path))]

    def save_after_the_late_one(writer: DataFrameWriter, path: str) -> None:
        while late:
            late.pop().append(SMALL, batch, rows)
        save(writer, path)

    with monkeypatch.context() as patch:
        patch.setattr(DataFrameWriter, "save", save_after_the_late_one)
        DeltaStore(session, str(tmp_path)).append(SMALL, batch, rows)
    assert found(DeltaStore(session, str(tmp_path)).read(SMALL)) == [7]


def test_a_stream_writes_into_the_tables(session: SparkSession, tmp_path: Path) -> None:
    """Spark gives each stream a session of its own. It has the catalog of Delta, too."""
    tables, lines = str(tmp_path / "tables"), tmp_path / "lines"
    lines.mkdir()
    (lines / "one.txt").write_text("1\n2\n")
    store = DeltaStore(session, tables)

    def on_batch(rows: DataFrame, number: int) -> None:
        columns = "timestamp_seconds(int(value)) as time", "bigint(value) as n"
        store.append(SMALL, batch_name("events1", number), rows.selectExpr(*columns))

    source = session.readStream.format("text").load(str(lines)).writeStream.foreachBatch(on_batch)
    query = source.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    assert query.awaitTermination(LIMIT_S)
    assert found(store.read(SMALL)) == [1, 2]


def test_removed_files_are_deleted_in_time(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that is replaced every minute does not grow without end."""
    monkeypatch.setattr(delta_store, "VACUUM_EVERY", 3)
    answers = attrs.evolve(SMALL, layer=TABLES["broker_states"].layer)
    store, files = DeltaStore(session, str(tmp_path), keep_s=0), []
    for number in range(3):
        store.replace(answers, numbers(session, [number]).coalesce(1))
        files.append(len(list(tmp_path.rglob("part-*.parquet"))))
    assert files == [1, 2, 1]
    assert found(store.read(answers)) == [2]


def test_a_session_has_delta_or_the_error_says_how(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import DataFrameReader

    ours = session_settings({"spark.sql.extensions": "a.B", "spark.jars": "x.jar"}, is_local=False)
    assert ours == {"spark.sql.extensions": "a.B,io.delta.sql.DeltaSparkSessionExtension", "spark.jars": "x.jar"}
    real = DataFrameReader.format

    def absent(reader: DataFrameReader, name: str) -> Any:
        return real(reader, f"{name}-that-is-not-here")

    with monkeypatch.context() as patch:
        patch.setattr(DataFrameReader, "format", absent)
        with pytest.raises(StoreError, match=r"give its jars with --conf spark\.jars\.packages=io\.delta:delta-spark_"):
            DeltaStore(session, str(tmp_path))
