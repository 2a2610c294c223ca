"""The rows of a campaign: made on the executors, in the columns of the table ``campaign_verdicts``.

The driver asks for each seed once, and for a sample of them a second time. A row says in the column ``again`` which of
the two it is. The table gets the first runs, each with ``agreed`` if there was a second one.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from kraft.simulation.campaign import SeedResult
from kraft.simulation.plan import draw_knobs
from kraft.spark.pipeline.tables import TABLES

VERDICTS = TABLES["campaign_verdicts"]
PASSED, FAILED = "passed", "failed"

_ARROW: Mapping[str, pa.DataType] = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "map<string,bigint>": pa.map_(pa.string(), pa.int64()),
}
SCHEMA = pa.schema([(column.name, _ARROW[column.type]) for column in VERDICTS.columns])
_AGAIN = pa.field("again", pa.bool_())
RUNS = SCHEMA.append(_AGAIN)
"""The columns of the rows that the executors return."""
RUNS_DDL = f"{VERDICTS.ddl}, {_AGAIN.name} boolean"

Run = Callable[[int], SeedResult]


@attrs.frozen
class SeedsOfTask:
    """The seeds that one task runs: for the first time, or ``again``."""

    seeds: range
    again: bool


def runner(
    run: Run, commit: str, tasks: Sequence[SeedsOfTask]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that runs on the executors. A task gets its number, and runs the seeds of that number."""

    def run_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                task = tasks[number]
                yield pa.RecordBatch.from_pylist([_row(run, commit, seed, task.again) for seed in task.seeds], RUNS)

    return run_task


def _row(run: Run, commit: str, seed: int, again: bool) -> dict[str, Any]:
    before_s = time.process_time()
    result = run(seed)
    cpu_s = time.process_time() - before_s
    knobs, python = draw_knobs(seed), platform.python_version()
    return {
        "time": datetime.now(UTC),
        "campaign": f"{commit}/{python}",
        "commit": commit,
        "python": python,
        "seed": seed,
        "profile": knobs.profile.value,
        "voters": knobs.voters,
        "observers": knobs.observers,
        "verdict": PASSED if result.invariant is None else FAILED,
        "invariant": result.invariant,
        "reason": result.text,
        "events": result.events,
        "committed": result.committed,
        "simulated_seconds": result.simulated_s,
        "trace_hash": result.trace_hash,
        "cpu_seconds": cpu_s,
        "agreed": None,
        "coverage": list(result.coverage.items()),
        _AGAIN.name: again,
    }


def first_and_second_runs(runs: pa.Table) -> tuple[pa.Table, dict[int, str]]:
    """Return the rows of the table in order of the seeds, and the trace hashes of the second runs."""
    again = runs.column(_AGAIN.name)
    second = runs.filter(again)
    hashes = dict(zip(second.column("seed").to_pylist(), second.column("trace_hash").to_pylist(), strict=True))
    rows = runs.filter(pc.invert(again)).select(SCHEMA.names).sort_by("seed")
    first = zip(rows.column("seed").to_pylist(), rows.column("trace_hash").to_pylist(), strict=True)
    agreed = [hashes[seed] == trace if seed in hashes else None for seed, trace in first]
    return rows.set_column(SCHEMA.get_field_index("agreed"), "agreed", pa.array(agreed, pa.bool_())), hashes


def seed_result(row: Mapping[str, Any]) -> SeedResult:
    """Return the result that a row describes."""
    return SeedResult(
        row["seed"],
        row["invariant"],
        row["reason"],
        row["simulated_seconds"],
        row["events"],
        row["committed"],
        row["trace_hash"],
        dict(row["coverage"]),
    )
