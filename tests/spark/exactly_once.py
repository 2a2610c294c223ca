"""Exactly once from a topic into Parquet files while brokers are killed: ``python -m tests.spark.exactly_once``.

::

    python -m tests.spark.exactly_once --seeds 0:20                  Spark's own Kafka connector
    python -m tests.spark.exactly_once --seeds 7:8 --format kraft    one seed through this project's data source

Each seed starts three combined nodes. An idempotent producer writes numbered records with acks=all to a topic of
replication factor 3 with min.insync.replicas=2, and a query streams the topic into files. In the middle of a batch
the leader of a partition and the active controller die by ``kill -9``. They start again some time later. In the end
the files have each record of the topic once, and the topic has each number once.

A task of the query stops between two of its records while the nodes are killed, so that the kills always hit a batch
that is half read. The seed draws the victims and the times.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from kraft.spark import register
from kraft.spark.session import local_session
from tests.spark.brokers import Brokers
from tests.spark.seeds import add_seeds, run_seeds
from tests.support.cluster import BOTH, QUICK_FAILOVER, Cluster, Member, running_cluster
from tests.support.eventually import eventually
from tests.support.node_process import OURS
from tests.support.quorum_view import wait_for_leader
from tests.support.spark_connector import connector_jars
from tests.support.writer import Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

PARTITIONS = 3
STRIKES = 2
RECORD_BYTES = 1_000
BATCH_RECORDS = 1_500
AHEAD_RECORDS = 5_000
"""The producer is so far ahead of the query that the first batches are full."""
AFTER_RECORDS = 100
AHEAD_PAUSE_S, PAUSE_S = 0.0002, 0.003
MAX_RESTARTS = 5
HELD_S = 120.0
QUERY_LIMIT_S = 240.0
NUMBER = "CAST(trim(CAST(value AS STRING)) AS LONG) AS number"
ARROW_RECORDS = 50
"""How many records a task reads at a time; fewer than a batch has."""

SPARK_SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_RECORDS),
}
SOURCE = {
    "startingOffsets": "earliest",
    "maxOffsetsPerTrigger": str(BATCH_RECORDS),
    # A fetch of all records of a batch at once would need no broker after the kill.
    "kafka.max.partition.fetch.bytes": "20000",
    "kafka.fetch.max.bytes": "20000",
}


@attrs.frozen
class Strike:
    """Kill the leader of a partition and the active controller, then start them again."""

    partition: int
    controller_first: bool
    between_s: float
    """The time between the two kills."""
    down_s: float
    """The time from the second kill to the first restart."""
    leader_returns_first: bool

    @classmethod
    def draw(cls, chance: random.Random) -> Strike:
        between_s = chance.choice((0.0, chance.uniform(0, 1.5)))
        return cls(
            chance.randrange(PARTITIONS), chance.random() < 0.5, between_s, chance.uniform(0, 3), chance.random() < 0.5
        )


@attrs.define
class Outcome:
    """The figures of one seed."""

    seed: int
    records: int = 0
    files: int = 0
    kills: int = 0
    failures: list[str] = attrs.Factory(list)
    """The errors with which the query ended before it started again from its checkpoint."""
    elapsed_s: float = 0.0

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.records} records once each in {self.files} files, {self.kills} kills, "
            f"{len(self.failures)} restarts of the query, {self.elapsed_s:.0f} s"
        )


def gate_task(shut: Path, reached: Path) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function for ``mapInArrow`` that waits between two chunks of records while the file ``shut`` exists.

    Spark sends an inner function by value, so that its workers need not find this module.
    """
    held_s = HELD_S

    def passed(chunks: Iterator[Any]) -> Iterator[Any]:
        for chunk in chunks:
            deadline = time.monotonic() + held_s
            while shut.exists():
                reached.touch()
                time.sleep(0.01)
                assert time.monotonic() < deadline, "nobody opened the gate"
            yield chunk

    return passed


@attrs.define
class Job:
    """The query from the topic into the files. It starts again from its checkpoint if it fails."""

    source: DataFrame
    directory: Path
    failures: list[str] = attrs.Factory(list)
    query: StreamingQuery | None = None

    @property
    def files(self) -> Path:
        return self.directory / "files"

    @property
    def shut(self) -> Path:
        return self.directory / "shut"

    @property
    def reached(self) -> Path:
        return self.directory / "reached"

    def start(self, **trigger: Any) -> StreamingQuery:
        columns = "partition int, offset long, number long"
        numbers = self.source.selectExpr("partition", "offset", NUMBER)
        writer = numbers.mapInArrow(gate_task(self.shut, self.reached), columns).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(self.directory / "checkpoint"))
        self.query = (writer.trigger(**trigger) if trigger else writer).start(str(self.files))
        return self.query

    def keep_running(self) -> None:
        """Start the query, for the first time or after it failed."""
        if self.query is not None and self.query.isActive:
            return
        if self.query is not None:
            self._failed(str(self.query.exception()))
        self.start()

    def _failed(self, text: str) -> None:
        self.failures.append(text)
        assert len(self.failures) <= MAX_RESTARTS, self.failures

    def half_read(self) -> bool:
        """Whether a task of the query stands before the shut gate."""
        self.keep_running()
        return self.reached.exists()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold a batch that is half read."""
        self.reached.unlink(missing_ok=True)
        self.shut.touch()
        try:
            eventually(self.half_read, HELD_S)
            yield
        finally:
            self.shut.unlink()

    def finish(self) -> None:
        """Stop the query wherever it is, then start it again and read to the end of the topic."""
        from pyspark.errors import StreamingQueryException

        assert self.query is not None
        self.query.stop()
        is_done = False
        while not is_done:
            try:
                is_done = self.start(availableNow=True).awaitTermination(QUERY_LIMIT_S)
                assert is_done, f"not finished within {QUERY_LIMIT_S} s"
            except StreamingQueryException as error:
                self._failed(str(error))


def strike(cluster: Cluster, brokers: Brokers, topic: str, job: Job, drawn: Strike) -> int:
    """Kill in the middle of a batch, start the victims again, and return how many there were."""
    with job.held():
        leader = brokers.leader(topic, drawn.partition)
        controller = wait_for_leader(cluster).leader_id
        victims = list(dict.fromkeys([controller, leader] if drawn.controller_first else [leader, controller]))
        for number, victim in enumerate(victims):
            time.sleep(drawn.between_s if number else 0)
            cluster.nodes[victim].kill()
    time.sleep(drawn.down_s)
    cluster.start(*sorted(victims, key=lambda victim: (victim == leader) != drawn.leader_returns_first))
    return len(victims)


def counted(frame: DataFrame) -> Counter[tuple[int, int, int]]:
    """Return how often the frame has each partition, offset and number."""
    rows = frame.toArrow().to_pydict()
    return Counter(zip(rows["partition"], rows["offset"], rows["number"], strict=True))


def run(seed: int, spark: SparkSession, directory: Path, source: str = "kafka") -> Outcome:
    """Run one seed, with a new cluster in ``directory``.

    Raises:
        AssertionError: the files differ from the topic, or the topic from what the producer wrote.
    """
    chance = random.Random(seed)
    outcome = Outcome(seed)
    began = time.monotonic()
    with running_cluster(directory, {number: Member(OURS, BOTH) for number in (1, 2, 3)}, **QUICK_FAILOVER) as cluster:
        brokers = Brokers(cluster.bootstrap_servers, replicas=3)
        topic = brokers.topic("numbers", PARTITIONS)
        options = {"kafka.bootstrap.servers": brokers.servers, "subscribe": topic}
        stream = spark.readStream.format(source).options(**options, **SOURCE).load()
        job = Job(stream, directory, outcome.failures)
        with Writer(brokers.servers, topic, PARTITIONS, pause_s=AHEAD_PAUSE_S, size=RECORD_BYTES) as writer:
            writer.wait_for_more(AHEAD_RECORDS)
            writer.pause_s = PAUSE_S
            for _ in range(STRIKES):
                outcome.kills += strike(cluster, brokers, topic, job, Strike.draw(chance))
                writer.wait_for_more(AFTER_RECORDS)
        job.finish()
        truth = counted(spark.read.format("kafka").options(**options).load().selectExpr("partition", "offset", NUMBER))
    found = counted(spark.read.parquet(str(job.files)))
    assert not writer.failures
    assert len(writer.acknowledged) == writer.written
    assert sorted(number for _, _, number in truth.elements()) == list(range(writer.written)), "the topic differs"
    assert found == truth, (
        f"missing: {list((truth - found).elements())[:9]}, more: {list((found - truth).elements())[:9]}"
    )
    outcome.records = found.total()
    outcome.files = len(list(job.files.glob("*.parquet")))
    outcome.elapsed_s = time.monotonic() - began
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.exactly_once", description="Kill brokers under Spark.")
    add_seeds(parser, "0:20")
    parser.add_argument("--format", default="kafka", choices=("kafka", "kraft"), help="the data source")
    options = parser.parse_args()
    spark = local_session("exactly once", cores=2, settings={"spark.jars": connector_jars(), **SPARK_SETTINGS})
    register(spark)
    spark.sparkContext.setLogLevel("OFF")  # Spark logs each lost broker, and the tasks of each query that is stopped

    def one(seed: int, directory: Path) -> Outcome:
        return run(seed, spark, directory, options.format)

    status = run_seeds(options.seeds, one, "the files are equal to the topic")
    spark.stop()
    return status


if __name__ == "__main__":
    sys.exit(main())
