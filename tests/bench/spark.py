"""``format("kraft")`` beside Spark's Kafka connector: rows per second of the same topics, in one session on this node.

Both read every column of every row and throw the rows away (Spark's ``noop`` sink). The rounds alternate, so both are
equally warm; the first round of both is thrown away. CPU is that of the driver, the JVM and the Python workers.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from kraft.spark import register
from kraft.spark.session import local_session
from tests.bench.clients import create_topic, delete_topic, produce
from tests.bench.figures import Section, Table, ratio_goal
from tests.bench.peers import KRAFT, Running, find_peers, running
from tests.support.spark_connector import connector_jars

OURS, CONNECTOR = "kraft", "kafka"
VALUES = {100: 1_000_000, 1_000: 200_000}
"""Rows of a topic by the size of their values."""
PARTITIONS = 4
CORES = (1, 2)
LEAST_SHARE = 0.5
TRIGGERS = 4
TIMEOUT_S = 600.0


def measure(rounds: int) -> Section:
    """Measure on one core and on two, each in a session of its own."""
    peers, _ = find_peers([KRAFT])
    table = Table("Topics in Spark", [OURS, CONNECTOR], base=CONNECTOR)
    costs = Table("CPU of driver, JVM and workers", [OURS, CONNECTOR], base=CONNECTOR)
    with tempfile.TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True) as scratch:
        with running(peers, Path(scratch)) as (broker,):
            for cores in CORES:
                with _session(cores) as spark:
                    for size in VALUES:
                        for partitions in (PARTITIONS, 1) if cores == CORES[-1] else (PARTITIONS,):
                            _measure_topic((table, costs), spark, broker, rounds, cores, size, partitions)
    goals = [
        ratio_goal(
            f"rows/s of {row.label}: at least {LEAST_SHARE:g}× the connector's",
            row,
            OURS,
            CONNECTOR,
            lambda ratio: ratio >= LEAST_SHARE,
        )
        for row in table.rows
    ]
    return Section("spark", [table, costs], goals)


@contextmanager
def _session(cores: int) -> Iterator[SparkSession]:
    settings = {"spark.jars": connector_jars(), "spark.driver.memory": "2g"}
    spark = local_session("bench", cores=cores, settings=settings)
    register(spark)
    try:
        yield spark
    finally:
        spark.stop()


def _measure_topic(
    tables: tuple[Table, Table],
    spark: SparkSession,
    broker: Running,
    rounds: int,
    cores: int,
    size: int,
    partitions: int,
) -> None:
    (table, costs), servers, count = tables, broker.bootstrap_servers, VALUES[size]
    topic = create_topic(servers, partitions)
    produce(servers, topic, count, size)
    options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"}
    where = f"{size} B, {partitions} partition{'s' * (partitions > 1)}, {cores} core{'s' * (cores > 1)}"
    for number in range(rounds + 1):
        for source in (OURS, CONNECTOR):
            before = _cpu_s(broker)
            batch_s = _batch_s(spark, source, options)
            between = _cpu_s(broker)
            stream_s = _stream_s(spark, source, {**options, "maxOffsetsPerTrigger": str(count // TRIGGERS)}, count)
            after = _cpu_s(broker)
            if number:
                table.row(f"batch, {where}", "rows/s").add(source, count / batch_s)
                table.row(f"stream, {where}", "rows/s").add(source, count / stream_s)
                costs.row(f"batch, {where}", "µs/row").add(source, (between - before) / count * 1e6)
                costs.row(f"stream, {where}", "µs/row").add(source, (after - between) / count * 1e6)
    delete_topic(servers, topic)


def _cpu_s(broker: Running) -> float:
    """Return the CPU seconds so far of this process and all below it, except the broker."""
    children: dict[int, list[tuple[int, float]]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended; its parent has its seconds
        seconds = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        children.setdefault(int(fields[1]), []).append((int(path.parent.name), seconds))
    total, waiting = time.process_time(), [os.getpid()]
    while waiting:
        for process, seconds in children.get(waiting.pop(), []):
            if process != broker.process.pid:
                total += seconds
                waiting.append(process)
    return total


def _batch_s(spark: SparkSession, source: str, options: Mapping[str, str]) -> float:
    frame = spark.read.format(source).options(**options).load()
    begin = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begin


def _stream_s(spark: SparkSession, source: str, options: Mapping[str, str], count: int) -> float:
    """Return the seconds of all batches, without the start of the query."""
    with tempfile.TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True) as checkpoint:
        sink = spark.readStream.format(source).options(**options).load().writeStream.format("noop")
        query = sink.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        assert query.awaitTermination(TIMEOUT_S), "the stream did not end"
        batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
    assert sum(batch["numInputRows"] for batch in batches) == count, json.dumps(batches)
    return sum(batch["durationMs"]["triggerExecution"] for batch in batches) / 1000
