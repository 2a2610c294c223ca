"""Simulation campaigns on Spark: seeds go out to executors, and their results come back.

A result is a pure function of the code and the seed. So a task that Spark runs again, or twice at the same time, does
no harm: its rows are the same, and Spark returns the rows of one attempt. A sample of the seeds is run again in other
tasks. If the trace hash of one differs, the code is not deterministic, and the campaign fails.

A campaign is a sequence of waves, two of them under way at any time: while the last tasks of one run, the next one
occupies the other cores. A finished wave is what an interrupted campaign keeps.
"""

from __future__ import annotations

import platform
import re
import signal
import subprocess
import tempfile
import threading
import zipfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import kraft
from kraft.simulation.campaign import SeedResult, run_seed
from kraft.spark.session import is_local, session_on

SEEDS_PER_TASK = 64
"""About two seconds. A task costs the Python worker alone some 50 ms of CPU."""
TASKS_PER_CORE = 4
"""Of one wave."""
WAVES_UNDER_WAY = 2
SAMPLE_EVERY = 100
"""Of so many seeds, one is run again."""

_TAG = "kraft-campaign"
PASSED, FAILED = "passed", "failed"

COLUMNS = (
    "seed bigint, commit string, python string, verdict string, invariant string, text string, events bigint, "
    "simulated_s double, committed bigint, trace_hash string, coverage map<string, bigint>"
)
"""The columns of a result's row. The first three determine the others."""
SCHEMA = pa.schema(
    [
        ("seed", pa.int64()),
        ("commit", pa.string()),
        ("python", pa.string()),
        ("verdict", pa.string()),
        ("invariant", pa.string()),
        ("text", pa.string()),
        ("events", pa.int64()),
        ("simulated_s", pa.float64()),
        ("committed", pa.int64()),
        ("trace_hash", pa.string()),
        ("coverage", pa.map_(pa.string(), pa.int64())),
    ]
)

_CAUSE = "Caused by: "
_PYTHON_ERROR = re.compile(r"\w+(Error|Exception): ")
_SPARK_ERRORS = (PySparkException, Py4JError)

Run = Callable[[int], SeedResult]


class CampaignError(Exception):
    """The campaign's results cannot be trusted, or Spark could not run it. The text is one line."""


@attrs.frozen
class Campaign:
    """The campaign over ``seeds``. ``run`` runs on the executors; ``commit`` names its code.

    With ``into``, each wave's rows become a Parquet file below that directory, in a directory for the wave. A wave that
    is run again replaces its file. Ranges that overlap leave equal rows of the same seed, commit and Python.
    """

    spark: SparkSession
    seeds: range
    commit: str
    into: str | None = None
    run: Run = run_seed
    _hashes: dict[int, str] = attrs.field(factory=dict, init=False)

    def results(self) -> Iterator[SeedResult]:
        """Yield the result of each seed once, in order; then run the sample again.

        Raises:
            CampaignError: the trace hashes of a seed differ, or a task failed for good.
        """
        parallelism = self.spark.sparkContext.defaultParallelism
        waves = deque(_waves(self.seeds, parallelism))
        try:
            under_way: deque[Future[pa.Table]] = deque()
            while waves or under_way:
                while waves and len(under_way) < WAVES_UNDER_WAY:
                    under_way.append(_started(self._wave, waves.popleft(), parallelism))
                table = under_way.popleft().result()
                yield from map(self._noted, table.to_pylist())
            self._check_sample(parallelism)
        except _SPARK_ERRORS as error:
            raise CampaignError(f"Spark: {cause_in(str(error))}") from error
        finally:
            with suppress(*_SPARK_ERRORS):
                self.spark.interruptTag(_TAG)

    def _wave(self, wave: range, parallelism: int) -> pa.Table:
        """Run the seeds of a wave, each in one task, and write their rows."""
        self.spark.addTag(_TAG)
        tasks = max(min(len(wave), parallelism), -(-len(wave) // SEEDS_PER_TASK))
        rows = self._rows(wave, tasks).sort_by("seed")
        if rows.column("seed").to_pylist() != list(wave):
            raise CampaignError(f"Spark returned {rows.num_rows} rows for the seeds {wave.start} to {wave.stop - 1}")
        if self.into is not None:
            path = f"{self.into.rstrip('/')}/wave={self.commit}-{wave.start}-{wave.stop}"
            self.spark.createDataFrame(rows).coalesce(1).write.mode("overwrite").parquet(path)
        return rows

    def _rows(self, seeds: range, tasks: int) -> pa.Table:
        ids = self.spark.range(seeds.start, seeds.stop, seeds.step, tasks)
        return ids.mapInArrow(_runner(self.run, self.commit), COLUMNS).toArrow().cast(SCHEMA)

    def _noted(self, row: dict[str, Any]) -> SeedResult:
        if row["seed"] in self._sample:
            self._hashes[row["seed"]] = row["trace_hash"]
        return _result(row)

    @property
    def _sample(self) -> range:
        return self.seeds[::SAMPLE_EVERY]

    def _check_sample(self, parallelism: int) -> None:
        sample = self._sample
        tasks = max(min(len(sample), parallelism), -(-len(sample) // SEEDS_PER_TASK))
        again = self._rows(sample, tasks)
        for seed, second in zip(again.column("seed").to_pylist(), again.column("trace_hash").to_pylist(), strict=True):
            if second != self._hashes[seed]:
                raise CampaignError(
                    f"seed {seed} has the trace {self._hashes[seed]}, and {second} in another task: "
                    "the code is not deterministic, or two executors run different code"
                )


@contextmanager
def campaign_on(master: str, seeds: range, into: str | None) -> Iterator[Iterator[SeedResult]]:
    """Run a campaign in a session of its own: the block gets the results.

    The executors of a cluster get this package from here, so that they run the driver's code. They need Python of the
    driver's version, with attrs and PyArrow.

    Raises:
        JavaMissing: no Java runs here, or it is too old for Spark.
        CampaignError: also of the block.
    """
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        spark = session_on(master, "kraft simulate")
    except _SPARK_ERRORS as error:
        raise CampaignError(f"Spark on {master}: {cause_in(str(error))}") from error
    with tempfile.TemporaryDirectory(prefix="kraft-") as directory:  # executors fetch the package at any time
        try:
            # PySpark's handler calls the JVM, also from within another call to it, which then fails.
            signal.signal(signal.SIGINT, on_interrupt)
            if not is_local(master):
                path = Path(directory) / "kraft.zip"
                package_zip(path)
                spark.sparkContext.addPyFile(str(path))
            yield Campaign(spark, seeds, code_version(), into).results()
        finally:
            with suppress(*_SPARK_ERRORS):
                spark.stop()


def _started(work: Callable[..., pa.Table], *arguments: object) -> Future[pa.Table]:
    """Begin ``work`` in a thread that does not outlive the program.

    The threads of an executor would: at exit Python waits for them, and PySpark for the rows of a cancelled job.
    """
    future: Future[pa.Table] = Future()

    def run() -> None:
        try:
            future.set_result(work(*arguments))
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, name="wave", daemon=True).start()
    return future


def _waves(seeds: range, parallelism: int) -> Iterator[range]:
    size = parallelism * TASKS_PER_CORE * SEEDS_PER_TASK
    for start in range(seeds.start, seeds.stop, size):
        yield range(start, min(start + size, seeds.stop))


def _runner(run: Run, commit: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function of a task: it runs the seeds of each batch."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        python = platform.python_version()
        for batch in batches:
            results = map(run, batch.column(0).to_pylist())
            yield pa.RecordBatch.from_pylist([_row(result, commit, python) for result in results], SCHEMA)

    return task


def _row(result: SeedResult, commit: str, python: str) -> dict[str, Any]:
    return {
        **attrs.asdict(result, recurse=False),
        "commit": commit,
        "python": python,
        "verdict": PASSED if result.invariant is None else FAILED,
        "coverage": list(result.coverage.items()),
    }


def _result(row: dict[str, Any]) -> SeedResult:
    fields = {field.name: row[field.name] for field in attrs.fields(SeedResult)}
    return SeedResult(**{**fields, "coverage": dict(row["coverage"])})


def cause_in(text: str) -> str:
    """Return the line of an error of Spark that names its cause.

    That is the last line of an executor's Python traceback, or else of the JVM's causes, or else the first line.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    of_python = [line for line in lines if _PYTHON_ERROR.match(line)]
    of_the_jvm = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    return [*lines[:1], *of_the_jvm, *of_python][-1] if lines else "no reason given"


def code_version() -> str:
    """Return the commit of this package, with ``-dirty`` if files were changed, or the version of an installed one."""
    directory = Path(kraft.__file__).parent
    git = ["git", "-C", str(directory)]
    try:
        subprocess.run([*git, "ls-files", "--error-unmatch", "__init__.py"], capture_output=True, check=True)
        describe = [*git, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        told = subprocess.run(describe, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return version("kraft")
    return told.stdout.strip()


def package_zip(path: Path) -> None:
    """Write this package to a zip file, from which Python can import it."""
    package = Path(kraft.__file__).parent
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(package.rglob("*.py")):
            archive.write(source, source.relative_to(package.parent))
