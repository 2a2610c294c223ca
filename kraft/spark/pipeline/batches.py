"""One batch, from the source to the typed tables; and the answers from all of them.

The raw table is the log of the pipeline. A batch is first stored there, without the rows that are there already. Then
every typed table gets the rows that follow from the stored batch. Each step does nothing if it was done before. So
after a crash at any point the batch runs again, and completes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kraft.spark.pipeline import answers, quorum_answers, raw
from kraft.spark.pipeline.campaigns import campaigns
from kraft.spark.pipeline.changes import changes
from kraft.spark.pipeline.store import TableStore, newest_batches
from kraft.spark.pipeline.tables import BATCH, TABLES, Layer, tables_of
from kraft.spark.pipeline.typed import DERIVATIONS, derived

LATENESS_S = 600
"""A request is late if its time is this much before the newest one."""

RAW = ("raw_metadata", "raw_events")
ANSWERS = tuple(table.name for table in tables_of(Layer.ANSWERS))

Progress = Callable[[str], object]


def silent(name: str) -> None:
    """Report no progress."""


@attrs.define
class Pipeline:
    """The steps of the pipeline on one store."""

    store: TableStore
    lateness_s: int = LATENESS_S

    def add(
        self, name: str, batch: str, rows: DataFrame, progress: Progress = silent, *, history: bool = False
    ) -> None:
        """Store a batch of rows of the raw table ``name``, and all typed rows that follow from it.

        With ``history`` no request is late: the batch is from before the stream.
        """
        table = TABLES[name]
        progress(name)
        if batch not in self.store.batches(table):
            cached = rows.cache()  # the span of its keys is read first, then its rows
            try:
                self.store.append(table, batch, raw.unseen(cached, self.store.read(table), name))
            finally:
                cached.unpersist()
        self._derive(name, batch, progress, history)

    def resume(self) -> None:
        """Complete the batches that a crash interrupted: only the newest of a query can be one."""
        for name in RAW:
            for batch in newest_batches(self.store.batches(TABLES[name])):
                self._derive(name, batch, silent, history=batch.startswith("backfill"))

    def _derive(self, name: str, batch: str, progress: Progress, history: bool) -> None:
        stored = self.store.read(TABLES[name]).where(F.col(BATCH.name) == batch).drop(BATCH.name).cache()
        try:
            kind = "type" if name == "raw_metadata" else "kind"
            found = {row["kind"]: row["bad"] for row in _kinds(stored, kind).collect()}
            if any(found.values()):
                self.store.append(TABLES["quarantine"], f"{name}-{batch}", raw.quarantined(name, stored))
            for typed, derivation in DERIVATIONS.items():
                if derivation.source != name:
                    continue
                progress(typed)
                if not found.keys().isdisjoint(derivation.kinds):
                    self.store.append(TABLES[typed], batch, self._typed(typed, stored, history))
        finally:
            stored.unpersist()

    def _typed(self, name: str, stored: DataFrame, history: bool) -> DataFrame:
        rows = derived(name, stored)
        if name != "requests":
            return rows
        if history:
            return rows.withColumn("late", F.lit(False))
        mark = self.store.read(TABLES[name]).agg(quorum_answers.watermark(self.lateness_s).alias("mark")).first()
        assert mark is not None, "an aggregate without groups has one row"
        return rows.withColumn("late", F.coalesce(F.col("time") < F.lit(mark["mark"]).cast("timestamp"), F.lit(False)))

    def answer(self, progress: Progress = silent, names: Container[str] = ANSWERS) -> None:
        """Make the answers ``names`` again. ``progress`` is called with each table before it is written."""
        wanted = [table for table in tables_of(Layer.ANSWERS) if table.name in names]
        void = self._void() if wanted else ()
        for table in wanted:
            progress(table.name)
            rows = self._answer(table.name, void)
            self.store.replace(table, rows.select(*(F.col(each.name).cast(each.type) for each in table.columns)))

    def compact(self, progress: Progress = silent) -> int:
        """Merge the small batches of every table. Return the number of batches that were merged."""
        merged = 0
        for table in TABLES.values():
            progress(table.name)
            merged += self.store.compact(table) if table.layer is not Layer.ANSWERS else 0
        return merged

    def _read(self, name: str) -> DataFrame:
        return self.store.read(TABLES[name])

    def _leaders(self) -> DataFrame:
        return quorum_answers.leaders(self._read("controller_epochs"), self._read("quorum_transitions"))

    def _void(self) -> Sequence[answers.Void]:
        replaced = answers.replaced_records(self._read("raw_metadata"))
        transactions = answers.committed(self._read("metadata_transactions"), replaced)
        return [*replaced, *answers.void_transactions(transactions)]

    def _answer(self, name: str, void: Sequence[answers.Void]) -> DataFrame:
        read = self._read

        def committed(table: str) -> DataFrame:
            return answers.committed(read(table), void)

        match name:
            case "partition_leadership":
                return answers.partition_leadership(committed("leadership_changes"), committed("topics"))
            case "broker_states":
                return answers.broker_states(committed("registrations"), committed("fencing"))
            case "partition_unavailability":
                return answers.partition_unavailability(read("partition_leadership"), read("broker_states"))
            case "broker_unavailability":
                return answers.broker_unavailability(read("broker_states"))
            case "broker_flapping":
                return answers.broker_flapping(read("broker_states"))
            case "elections_per_hour":
                return quorum_answers.elections_per_hour(read("elections"), read("votes"), self._leaders())
            case "controller_failovers":
                tables = read("quorum_transitions"), read("elections"), read("raw_metadata")
                return quorum_answers.controller_failovers(self._leaders(), *tables)
            case "plane_latency":
                return quorum_answers.plane_latency(read("requests"), self.lateness_s)
            case "campaigns":
                return campaigns(read("campaign_verdicts"))
        assert name == "changes", f"{name} is an answer"
        return changes(committed, read)


def _kinds(stored: DataFrame, kind: str) -> DataFrame:
    return stored.groupBy(F.col(kind).alias("kind")).agg(F.count_if(F.col("error").isNotNull()).alias("bad"))
