"""Simulation campaigns on Spark: seeds go out to executors, and their results come back.

A result is a pure function of the code and the seed. So a task that Spark runs again, or twice at the same time, does
no harm: its rows are the same, and Spark returns the rows of one attempt. A sample of the seeds is run again in other
tasks. If the trace hash of one differs, the code is not deterministic, and the campaign fails. For the same reason the
tables have each seed once for one code, however often it runs.

A campaign is a sequence of waves, two of them under way at any time: while the last tasks of one run, the next one
occupies the other cores. A finished wave is what an interrupted campaign keeps.
"""

from __future__ import annotations

import hashlib
import re
import signal
import subprocess
import tempfile
import threading
import zipfile
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from importlib.metadata import version
from pathlib import Path

import attrs
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import kraft
from kraft.simulation.campaign import SeedResult, run_seed
from kraft.spark.campaign_rows import (
    RUNS,
    RUNS_DDL,
    VERDICTS,
    Run,
    SeedsOfTask,
    first_and_second_runs,
    runner,
    seed_result,
)
from kraft.spark.pipeline.batches import Pipeline
from kraft.spark.pipeline.store import ParquetStore, StoreError, TableStore, batch_name, locked
from kraft.spark.session import is_local, session_on

SEEDS_PER_TASK = 64
"""About two seconds. A task costs the Python worker alone some 50 ms of CPU."""
TASKS_PER_CORE = 4
"""Of one wave."""
WAVES_UNDER_WAY = 2
SAMPLE_EVERY = 100
"""Of so many seeds of a wave, one is run again."""

_TAG = "kraft-campaign"
#: The query whose batches are the waves.
_QUERY = "campaign"
_ANSWER = "campaigns"

_PACKAGE = Path(kraft.__file__).parent
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HASH_DIGITS = 12
_CAUSE = "Caused by: "
_PYTHON_ERROR = re.compile(r"\w+(Error|Exception): ")
_SPARK_ERRORS = (PySparkException, Py4JError)


class CampaignError(Exception):
    """The campaign's results cannot be trusted, or Spark could not run it. The text is one line."""


@attrs.frozen
class Campaign:
    """The campaign over ``seeds``. ``run`` runs on the executors; ``commit`` names its code.

    With ``store``, each wave is a batch of the table ``campaign_verdicts``. A seed that the table has of the same code
    is compared with it, and not added again.
    """

    spark: SparkSession
    seeds: range
    commit: str
    store: TableStore | None = None
    run: Run = run_seed
    _writing: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def results(self) -> Generator[SeedResult, None, None]:
        """Yield the result of each seed once, in order.

        Raises:
            CampaignError: the trace hashes of a seed differ, or a task failed for good.
            StoreError: the table cannot be written.
        """
        parallelism = self.spark.sparkContext.defaultParallelism
        waves = deque(_waves(self.seeds, parallelism))
        try:
            under_way: deque[Future[pa.Table]] = deque()
            while waves or under_way:
                while waves and len(under_way) < WAVES_UNDER_WAY:
                    under_way.append(_started(self._wave, waves.popleft(), parallelism))
                yield from map(seed_result, under_way.popleft().result().to_pylist())
        except _SPARK_ERRORS as error:
            raise CampaignError(f"Spark: {cause_in(str(error))}") from error
        finally:
            with suppress(*_SPARK_ERRORS):
                self.spark.interruptTag(_TAG)

    def answer(self) -> None:
        """Make the table ``campaigns`` again from the verdicts.

        Raises:
            CampaignError: Spark could not.
            StoreError: the table cannot be written.
        """
        if self.store is not None:
            try:
                with self._writing:
                    Pipeline(self.store).answer(names=(_ANSWER,))
            except _SPARK_ERRORS as error:
                raise CampaignError(f"Spark: {cause_in(str(error))}") from error

    def _wave(self, wave: range, parallelism: int) -> pa.Table:
        """Run the seeds of a wave, each in one task and the sample in another, and write their rows."""
        self.spark.addTag(_TAG)
        sample = wave[::SAMPLE_EVERY]
        tasks = [*_tasks(wave, parallelism, again=False), *_tasks(sample, parallelism, again=True)]
        numbers = self.spark.range(0, len(tasks), 1, len(tasks))  # a partition, and so a task, for each number
        found = numbers.mapInArrow(runner(self.run, self.commit, tasks), RUNS_DDL).toArrow().cast(RUNS)
        rows, hashes = first_and_second_runs(found)
        if rows.column("seed").to_pylist() != list(wave) or found.num_rows != len(wave) + len(sample):
            raise CampaignError(f"Spark returned {found.num_rows} rows for the seeds {wave.start} to {wave.stop - 1}")
        if self.store is not None:
            with self._writing:
                self._add(self.store, rows)
        for row in rows.select(["seed", "trace_hash", "agreed"]).to_pylist():
            if row["agreed"] is False:
                raise _not_deterministic(row["seed"], row["trace_hash"], f"{hashes[row['seed']]} in another task")
        return rows

    def _add(self, store: TableStore, rows: pa.Table) -> None:
        """Add the rows that the table does not have yet. Raises CampaignError if it has another trace of a seed."""
        campaigns, seeds = rows.column("campaign").unique().to_pylist(), rows.column("seed").to_pylist()
        span = F.col("campaign").isin(campaigns) & F.col("seed").between(min(seeds), max(seeds))
        stored = store.read(VERDICTS).where(span).select("campaign", "seed", "trace_hash").toArrow().to_pylist()
        known = {(row["campaign"], row["seed"]): row["trace_hash"] for row in stored}
        new = []
        for row in rows.select(["campaign", "seed", "trace_hash"]).to_pylist():
            before = known.get((row["campaign"], row["seed"]))
            new.append(before is None)
            if before not in (None, row["trace_hash"]):
                raise _not_deterministic(row["seed"], row["trace_hash"], f"{before} in the tables")
        if any(new):
            batch = batch_name(_QUERY, 1 + store.last_number(VERDICTS, _QUERY))
            store.append(VERDICTS, batch, self.spark.createDataFrame(rows.filter(pa.array(new))).coalesce(1))
            store.compact(VERDICTS)


def _tasks(seeds: range, parallelism: int, *, again: bool) -> Iterator[SeedsOfTask]:
    count = max(min(len(seeds), parallelism), -(-len(seeds) // SEEDS_PER_TASK))
    for number in range(count):
        yield SeedsOfTask(seeds[number * len(seeds) // count : (number + 1) * len(seeds) // count], again)


def _not_deterministic(seed: int, trace: str, other: str) -> CampaignError:
    return CampaignError(
        f"seed {seed} has the trace {trace}, and {other}: "
        "the code is not deterministic, or two executors run different code"
    )


@contextmanager
def campaign_on(master: str, seeds: range, into: str | None) -> Iterator[Iterator[SeedResult]]:
    """Run a campaign in a session of its own: the block gets the results. With ``into``, the tables there get them too.

    The executors of a cluster get this package from here, so that they run the driver's code. They need Python of the
    driver's version, with attrs and PyArrow.

    Raises:
        JavaMissing: no Java runs here, or it is too old for Spark.
        CampaignError: also of the block.
        StoreError: another program writes the tables, or they cannot be written.
    """
    lock: AbstractContextManager[None] = nullcontext() if into is None else locked(into, None)
    with lock, _session(master) as spark:
        campaign = Campaign(spark, seeds, code_version(), None if into is None else ParquetStore(spark, into))
        try:
            with closing(campaign.results()) as results:
                yield results
        except BaseException:
            with suppress(CampaignError, StoreError):  # the finished waves, too, have an answer
                campaign.answer()
            raise
        campaign.answer()


@contextmanager
def _session(master: str) -> Iterator[SparkSession]:
    """Start Spark on ``master``, with this package on the executors, and stop it in the end."""
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
            yield spark
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


def cause_in(text: str) -> str:
    """Return the line of an error of Spark that names its cause.

    That is the last line of an executor's Python traceback, or else of the JVM's causes, or else the first line.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    of_python = [line for line in lines if _PYTHON_ERROR.match(line)]
    of_the_jvm = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    return [*lines[:1], *of_the_jvm, *of_python][-1] if lines else "no reason given"


def code_version() -> str:
    """Return a name of this package's code: its commit, or its version if it is installed.

    Where files may differ from those of that name, a hash of the files is added.
    """
    git = ["git", "-C", str(_PACKAGE)]
    try:
        subprocess.run([*git, "ls-files", "--error-unmatch", "__init__.py"], capture_output=True, check=True)
        describe = [*git, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        name = subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        name = version("kraft")
    return name if _COMMIT.fullmatch(name) else f"{name}-{_hash_of_sources()}"


def _sources() -> list[Path]:
    return sorted(_PACKAGE.rglob("*.py"))


def _hash_of_sources() -> str:
    digest = hashlib.sha256()
    for source in _sources():
        digest.update(f"{source.relative_to(_PACKAGE)} {source.stat().st_size}\n".encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:_HASH_DIGITS]


def package_zip(path: Path) -> None:
    """Write this package to a zip file, from which Python can import it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in _sources():
            archive.write(source, source.relative_to(_PACKAGE.parent))
