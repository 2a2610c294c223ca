"""Kill ``kraft pipeline run`` at random moments: ``python -m tests.spark.killed_runs --seeds 0:5``.

Each seed starts three combined nodes with traffic, and `run` on their metadata and their request logs. The first
address of its controllers is dead. The process of the run dies by ``kill -9``, or its JVM, or both, and starts again.
The last run survives the kill of the active controller, and ends by SIGTERM. In the end the tables have the rows that
`backfill` makes of the directories of the nodes, each row once.

The seed draws the victims and the moments. A moment is counted from the first batch that a run stores.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import attrs
from confluent_kafka import KafkaException

from kraft.spark import register
from kraft.spark.pipeline.batches import Pipeline, Progress, silent
from kraft.spark.pipeline.inputs import file_stream, log_directories
from kraft.spark.pipeline.run import Streams, backfill
from kraft.spark.pipeline.store import ParquetStore
from kraft.spark.pipeline.tables import TABLES, Layer, TableSchema
from kraft.spark.session import local_session
from tests.spark.brokers import Brokers
from tests.spark.busy import BUSY, MAX_BUSY
from tests.spark.seeds import add_seeds, run_seeds
from tests.support.cluster import BOTH, QUICK_FAILOVER, Cluster, Member, running_cluster
from tests.support.eventually import eventually
from tests.support.node_process import OURS, environment, free_ports
from tests.support.quorum_view import wait_for_leader
from tests.support.writer import Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

DRIVER, JVM, BOTH_AT_ONCE = "driver", "JVM", "driver and JVM"
VICTIMS = (DRIVER, JVM, BOTH_AT_ONCE)
LONGEST_S = 6.0
"""The latest moment of a kill, after the first batch of a run."""
START_S, STOP_S, CATCH_UP_S = 300.0, 120.0, 300.0
JVM_GONE_S = 30.0
LOGGED = {"kraft_request_log": "file", "kraft_request_log_sample": "0.2", "kraft_request_log_roll_ms": "500"}
MEDDLING_S = 0.2


@attrs.define
class Outcome:
    """The figures of one seed."""

    seed: int
    kills: list[str] = attrs.Factory(list)
    """The victim of each kill, and the work that it had."""
    busy: int = 0
    """Runs that Spark ended because the machine was busy."""
    rows: int = 0
    stop_s: float = 0.0
    elapsed_s: float = 0.0

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.rows} rows once each, killed {'; '.join(self.kills)}; "
            f"SIGTERM took {self.stop_s:.1f} s; {self.busy} restarts on a busy machine; {self.elapsed_s:.0f} s"
        )


class BusyMachine(Exception):
    """Spark waited for ten seconds for a worker to start, and ended the run."""


@attrs.define
class Run:
    """A process of ``kraft pipeline run`` with its JVM, and the directory of its tables."""

    tables: Path
    process: subprocess.Popen[bytes]
    output: Path
    jvm: int = -1

    @classmethod
    def start(cls, tables: Path, output: Path, *arguments: str) -> Run:
        command = [sys.executable, "-m", "kraft", "pipeline", "run", "--into", str(tables), "--master", "local[2]"]
        with output.open("wb") as file:
            process = subprocess.Popen(
                [*command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=environment(),
                start_new_session=True,
            )
        return cls(tables, process, output)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def text(self) -> str:
        return self.output.read_text(errors="replace")

    def check(self) -> None:
        """Raise AssertionError if the run has ended, or BusyMachine."""
        if self.process.poll() is not None:
            assert BUSY in self.text, f"the run ended:\n{self.text}"
            raise BusyMachine

    def batches(self) -> set[Path]:
        return set(self.tables.glob("raw_*/batch=*"))

    def wait_for_batch(self) -> None:
        """Wait until the run stored a batch. Raises AssertionError, or BusyMachine."""
        known = self.batches()

        def stored() -> bool:
            self.check()
            return bool(self.batches() - known)

        eventually(stored, START_S)
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        (self.jvm,) = (int(child) for child in children if Path(f"/proc/{child}/comm").read_text() == "java\n")

    def work(self) -> str:
        """Name the tables of which a batch is being written."""
        staged = sorted({path.parent.name for path in self.tables.glob("_staging/*/*/batch=*")})
        return f"writing {', '.join(staged)}" if staged else "between two writes"

    def kill(self, victim: str) -> None:
        """Kill, and wait until neither process is there."""
        if victim == BOTH_AT_ONCE:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            os.kill(self.process.pid if victim == DRIVER else self.jvm, signal.SIGKILL)
        status = self.process.wait(STOP_S)
        eventually(lambda: not alive(self.jvm), JVM_GONE_S)
        if victim == JVM:
            assert status == 1, self.text
            assert "\nError: Spark's JVM ended. The next run goes on where this one was\n" in self.text

    def stop(self) -> float:
        """End the run by SIGTERM, and return how long it took. Its JVM ends with it."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(STOP_S)
        elapsed_s = time.monotonic() - began
        assert status == 0, self.text
        said = self.text.partition("ending after this batch")[2]
        assert re.search(r"^Ended after [1-9]\d* batches", said, re.MULTILINE), self.text
        assert "Traceback" not in said, said
        eventually(lambda: not alive(self.jvm), JVM_GONE_S)
        return elapsed_s

    def read_until(self) -> int:
        """Return the offset of the metadata log up to which all batches are complete."""
        done = {
            int(path.name): path.parents[1] / "offsets" / path.name
            for path in self.tables.glob("_checkpoints/metadata*/commits/[0-9]*")
        }
        if not done:
            return 0
        offsets = done[max(done)].read_text().splitlines()
        return int(json.loads(offsets[-1])["offset"])


class WithoutAnswers(Pipeline):
    """The steps without the last one. The answers follow from the tables that are compared."""

    def answer(self, progress: Progress = silent) -> None:
        pass


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def meddling(brokers: Brokers, topic: str) -> Iterator[None]:
    """Change a setting of the topic again and again. A change may fail while there is no controller."""
    done = threading.Event()

    def meddle() -> None:
        number = 0
        while not done.wait(MEDDLING_S):
            number += 1
            with contextlib.suppress(KafkaException):
                brokers.alter(topic, "retention.ms", str(1_000_000 + number))

    thread = threading.Thread(target=meddle, name="meddler")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def kill_controller(cluster: Cluster) -> None:
    """Kill the active controller, wait for its successor, and start it again."""
    leader = wait_for_leader(cluster)
    cluster.nodes[leader.leader_id].kill()
    wait_for_leader(cluster, above_epoch=leader.epoch)
    cluster.start(leader.leader_id)


def lives(cluster: Cluster, directory: Path, chance: random.Random, kills: int, outcome: Outcome) -> int:
    """Start the run, kill it and start it again. Return the offset up to which it has read the metadata log."""
    tables = directory / "tables"
    controllers = [f"127.0.0.1:{free_ports(1)[0]}", *(node.controller_address for node in cluster.nodes.values())]
    arguments = ["-C", ",".join(controllers), "--events", str(cluster.directory)]
    arguments += ["--interval", "0.5", "--answers-interval", "15"]

    def life(number: int, live: Callable[[Run], T]) -> T:
        """Start the run, and ``live`` it. Start again if the machine was busy."""
        while True:
            with Run.start(tables, directory / f"run-{number}.txt", *arguments) as run:
                try:
                    run.wait_for_batch()
                    return live(run)
                except BusyMachine:
                    outcome.busy += 1
                    assert outcome.busy <= MAX_BUSY, run.text

    def last(run: Run) -> int:
        def has_read() -> bool:
            run.check()
            return run.read_until() >= seen

        kill_controller(cluster)
        seen = wait_for_leader(cluster).high_watermark
        eventually(has_read, CATCH_UP_S)
        outcome.stop_s = run.stop()
        return run.read_until()

    for number, victim in enumerate(chance.sample(VICTIMS * (1 + kills // len(VICTIMS)), kills)):
        moment_s = chance.uniform(0, LONGEST_S)

        def die(run: Run, victim: str = victim, moment_s: float = moment_s) -> None:
            time.sleep(moment_s)
            run.check()
            outcome.kills.append(f"{victim} {run.work()}")
            run.kill(victim)

        life(number, die)
    return life(kills, last)


def counted(frame: DataFrame) -> Counter[str]:
    """Return how often the frame has each row."""
    return Counter(map(repr, frame.toArrow().to_pylist()))


def compared(store: ParquetStore, truth: ParquetStore, table: TableSchema, end: int) -> int:
    """Return the number of rows of a table. Raises AssertionError unless the truth has the same ones."""

    def rows(of: ParquetStore) -> Counter[str]:
        found = of.read(table).drop("batch", "day")
        return counted(found.where(f"offset < {end}") if "offset" in table.names else found)

    found, wanted = rows(store), rows(truth)
    missing, more = list((wanted - found).elements()), list((found - wanted).elements())
    assert (missing, more) == ([], []), f"{table.name}: missing {missing[:5]}, more {more[:5]}"
    return found.total()


def run(seed: int, spark: SparkSession, directory: Path, kills: int = len(VICTIMS)) -> Outcome:
    """Run one seed, with a new cluster in ``directory``.

    Raises:
        AssertionError: the tables differ from those of a backfill, or a run did not end as it should.
    """
    chance = random.Random(seed)
    outcome = Outcome(seed)
    began = time.monotonic()
    members = {number: Member(OURS, BOTH) for number in (1, 2, 3)}
    with running_cluster(directory / "cluster", members, **QUICK_FAILOVER, **LOGGED) as cluster:
        brokers = Brokers(cluster.bootstrap_servers, replicas=3)
        topic = brokers.topic("orders", 3)
        with Writer(brokers.servers, topic, 3, pause_s=0.05), meddling(brokers, topic):
            end = lives(cluster, directory, chance, kills, outcome)
        for node in cluster.nodes.values():
            assert node.stop() == 0
    logs = [str(node.log_directory) for node in cluster.nodes.values()]
    pipeline = WithoutAnswers(ParquetStore(spark, str(directory / "tables")))
    streams = Streams(spark, pipeline, str(directory / "tables"))
    streams.start("raw_events", file_stream(spark, str(cluster.directory)), None)
    streams.follow(threading.Event(), STOP_S)
    found = log_directories(logs)
    # The run does not follow the journals, which have the last half second of a killed node too.
    found = attrs.evolve(found, events=[path for path in found.events if "/request-log/" in path])
    truth = ParquetStore(spark, str(directory / "truth"))
    backfill(spark, WithoutAnswers(truth), found, silent)
    tables = [table for table in TABLES.values() if table.layer is not Layer.ANSWERS]
    outcome.rows = sum(compared(pipeline.store, truth, table, end) for table in tables)
    outcome.elapsed_s = time.monotonic() - began
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.killed_runs", description="Kill the pipeline's runs.")
    add_seeds(parser, "0:5")
    parser.add_argument("--kills", type=int, default=len(VICTIMS), help="the kills of each seed")
    options = parser.parse_args()
    spark = local_session("killed runs", cores=2)
    register(spark)

    def one(seed: int, directory: Path) -> Outcome:
        return run(seed, spark, directory, options.kills)

    status = run_seeds(options.seeds, one, "the tables are equal to those of a backfill")
    spark.stop()
    return status


if __name__ == "__main__":
    sys.exit(main())
