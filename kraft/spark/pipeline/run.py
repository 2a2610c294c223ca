"""Run the pipeline: as streams from a live cluster, or once over log directories.

Each stream has a checkpoint, ``_checkpoints/<query>``. A query is named after its raw table and a number. The number is
a new one if the checkpoint is lost, so that its batches are not taken for those of the lost one; and if the topic was
created anew, because the offsets in the checkpoint are those of the deleted one.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Lock

import attrs
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from kraft.spark.pipeline import files, raw
from kraft.spark.pipeline.batches import ANSWERS, Pipeline, Progress, silent
from kraft.spark.pipeline.inputs import LogDirectories
from kraft.spark.pipeline.store import StoreError, batch_name
from kraft.spark.pipeline.tables import TABLES
from kraft.spark.pipeline.typed import DERIVATIONS
from kraft.spark.session import LOG_LEVEL

_CHECKPOINTS = "_checkpoints"
_TOPIC_ID = "topic_id"
"""A file in a checkpoint of Spark, which ignores it."""
_ROWS: Mapping[str, Callable[[DataFrame], DataFrame]] = {
    "raw_metadata": raw.metadata_rows,
    "raw_events": raw.event_rows,
}
BACKFILL = "backfill"
BACKFILL_TABLES = len(_ROWS) + len(DERIVATIONS) + len(ANSWERS)
"""The number of tables that a backfill of metadata and events reports."""
_POLL_S = 0.5


def backfill(spark: SparkSession, pipeline: Pipeline, found: LogDirectories, progress: Progress) -> None:
    """Add everything in log directories that the tables do not have yet, and make the answers.

    ``progress`` is called with the name of each table before it is written.
    """
    pipeline.resume()
    number = 1 + max(pipeline.store.last_number(TABLES[name], BACKFILL) for name in _ROWS)
    batch = batch_name(BACKFILL, number)
    if found.metadata:
        pipeline.add("raw_metadata", batch, raw.metadata_rows(found.metadata_rows(spark)), progress, history=True)
    if found.events:
        pipeline.add("raw_events", batch, raw.event_rows(found.event_lines(spark)), progress, history=True)
    pipeline.answer(progress)


@attrs.define
class Streams:
    """The running streams of a pipeline into the directory ``path``."""

    spark: SparkSession
    pipeline: Pipeline
    path: str
    _queries: list[StreamingQuery] = attrs.Factory(list)
    _one_at_a_time: Lock = attrs.Factory(Lock)
    _batches: int = 0
    _stopping: bool = False

    def start(self, name: str, source: DataFrame, interval_s: float | None, topic_id: str = "") -> None:
        """Start the stream into the raw table ``name``. Without an interval it ends with what is available now.

        ``topic_id`` is that of the topic that ``source`` reads, if it reads one.
        """
        root = os.path.join(self.path, _CHECKPOINTS)
        query = query_name(root, name, topic_id, lambda query: self.pipeline.store.last_number(TABLES[name], query))
        checkpoint = os.path.join(root, query)

        def on_batch(rows: DataFrame, number: int) -> None:
            with self._one_at_a_time:
                if self._stopping:
                    raise StoreError("The pipeline stops; the next run has this batch")
                self.pipeline.add(name, batch_name(query, number), _ROWS[name](rows))
                self._batches += 1

        writer = source.writeStream.queryName(query).option("checkpointLocation", checkpoint).foreachBatch(on_batch)
        if interval_s is None:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{round(interval_s * 1000)} milliseconds")
        self._queries.append(writer.start())

    def follow(self, stop: Event, answers_interval_s: float, progress: Progress = silent) -> int:
        """Refresh the answers while the streams run, until ``stop`` or until all streams ended; then once more.

        After ``stop`` the streams end between two batches, and the answers stay as they are: a person or a service
        manager waits. Return the number of batches. Raises StoreError: a stream failed.
        """
        answered, waited_s = 0, 0.0
        try:
            while self._active() and self._failure() is None and not stop.wait(_POLL_S):
                waited_s += _POLL_S
                if waited_s >= answers_interval_s and self._batches != answered:
                    answered, waited_s = self._answer(progress), 0.0
        finally:
            failure = self._failure()
            self._stop()
        if failure is not None:
            raise StoreError(f"A stream failed: {first_line(failure)}") from failure
        if not stop.is_set():
            self._answer(progress)
        return self._batches

    def _stop(self) -> None:
        with _unlogged(self.spark):
            with self._one_at_a_time:  # between two batches
                self._stopping = True
            for query in self._queries:
                query.stop()

    def _active(self) -> bool:
        return any(query.isActive for query in self._queries)

    def _failure(self) -> StreamingQueryException | None:
        return next((found for query in self._queries if (found := query.exception()) is not None), None)

    def _answer(self, progress: Progress) -> int:
        with self._one_at_a_time:
            batches = self._batches
            self.pipeline.answer(progress)
            self.pipeline.compact()
        return batches


def query_name(root: str, name: str, topic_id: str, last_number: Callable[[str], int]) -> str:
    """Return the name of the query into the raw table ``name``: the last one, if it read the same topic.

    The checkpoint is the directory of that name in ``root``. ``last_number`` returns the greatest number of a query's
    batches, -1 if it has none.
    """
    stem = name.removeprefix("raw_")
    known = [each for each in files.directories(root) if each.startswith(stem)]
    number = max((int(each.removeprefix(stem)) for each in known), default=0)
    if known and files.read_text(os.path.join(root, f"{stem}{number}", _TOPIC_ID)) == topic_id:
        return f"{stem}{number}"
    number += 1
    while last_number(f"{stem}{number}") >= 0:
        number += 1
    if topic_id:
        files.write_text(os.path.join(root, f"{stem}{number}", _TOPIC_ID), topic_id)
    return f"{stem}{number}"


@contextmanager
def _unlogged(spark: SparkSession) -> Iterator[None]:
    """Keep Spark and Py4J from logging stack traces of the batches that are refused while the streams stop."""
    logger = logging.getLogger("py4j")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield
    finally:
        spark.sparkContext.setLogLevel(LOG_LEVEL)
        logger.setLevel(level)


def first_line(error: BaseException) -> str:
    """Return the message of an error of Spark without the stack traces in it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if line.startswith(("kraft.", "pyspark.errors"))]
    return (raised or lines or [type(error).__name__])[-1 if raised else 0]
