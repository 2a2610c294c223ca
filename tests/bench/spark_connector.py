"""Spark's own Kafka connector on this node and on Apache Kafka: rows per second of the same jobs, in one session."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tests.bench.clients import create_topic, delete_topic, produce
from tests.bench.figures import Section, Table, ratio_goal
from tests.bench.peers import APACHE, KRAFT, Running
from tests.support.spark_connector import connector_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "spark-connector"
RECORDS = 300_000
RECORD_BYTES = 200
WRITTEN = 100_000
PARTITIONS = 4
TRIGGERS = 4
CORES = 2
WARM_UP_ROUNDS = 2
MOST_TIME = 1.3
TIMEOUT_S = 600.0

Job = Callable[["SparkSession", str, str], float]
"""Runs on a broker and a topic of it, and returns rows per second."""


def measure(brokers: Sequence[Running], rounds: int) -> Section:
    """Each round runs the same jobs on both brokers. The first two rounds warm everybody up."""
    if find_spec("pyspark") is None:
        return Section(NAME, notes=["Spark was not measured: PySpark is not installed."])
    from kraft.spark.session import local_session

    topics = [(broker, _filled(broker)) for broker in brokers if broker.name in (KRAFT, APACHE)]
    table = Table(f"Spark's Kafka connector, {CORES} cores", [broker.name for broker, _ in topics], base=APACHE)
    spark = local_session("bench", cores=CORES, settings={"spark.jars": connector_jars()})
    try:
        for number in range(rounds + WARM_UP_ROUNDS):
            for broker, topic in topics:
                for label, job in JOBS.items():
                    value = job(spark, broker.bootstrap_servers, topic)
                    if number >= WARM_UP_ROUNDS:
                        table.row(label, "rows/s").add(broker.name, value)
    finally:
        spark.stop()
    claim = f"Spark's connector, {{}}: at most {MOST_TIME}× the time on Apache"
    goals = [
        ratio_goal(claim.format(row.label), row, APACHE, KRAFT, lambda ratio: ratio <= MOST_TIME) for row in table.rows
    ]
    return Section(NAME, [table], goals)


def _filled(broker: Running) -> str:
    topic = create_topic(broker.bootstrap_servers, PARTITIONS)
    produce(broker.bootstrap_servers, topic, RECORDS, RECORD_BYTES)
    return topic


def _options(servers: str, topic: str) -> Mapping[str, str]:
    return {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"}


def _read_batch(spark: SparkSession, servers: str, topic: str) -> float:
    """Read all columns of the topic."""
    frame = spark.read.format("kafka").options(**_options(servers, topic)).load()
    started = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return RECORDS / (time.perf_counter() - started)


def _read_stream(spark: SparkSession, servers: str, topic: str) -> float:
    """Read all columns of the topic in batches, without the start and the end of the query."""
    options = {**_options(servers, topic), "maxOffsetsPerTrigger": str(RECORDS // TRIGGERS)}
    frame = spark.readStream.format("kafka").options(**options).load()
    with tempfile.TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True) as checkpoint:
        writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        if not query.awaitTermination(TIMEOUT_S):
            raise TimeoutError(f"the stream did not end within {TIMEOUT_S} s")
        return RECORDS / (sum(each["durationMs"]["triggerExecution"] for each in query.recentProgress) / 1000)


def _write_batch(spark: SparkSession, servers: str, _: str) -> float:
    """Write values of the same size to a new topic, until all are acknowledged."""
    topic = create_topic(servers, PARTITIONS)
    frame = spark.range(WRITTEN).selectExpr(f"lpad(CAST(id AS STRING), {RECORD_BYTES}, ' ') AS value")
    writer = frame.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic)
    started = time.perf_counter()
    writer.save()
    elapsed_s = time.perf_counter() - started
    delete_topic(servers, topic)
    return WRITTEN / elapsed_s


JOBS: Mapping[str, Job] = {"batch read": _read_batch, "stream": _read_stream, "batch write": _write_batch}
