"""Files in Spark: ``kraft-log`` beside Apache Kafka's DumpLogSegments, and the backfill of a metadata log.

Spark reads every column of every row and throws the rows away (its ``noop`` sink), in a session that is warm.
DumpLogSegments prints keys and values to a file; the start of its JVM is part of its time, as it is for its users.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
from pyspark.sql import DataFrame, SparkSession

from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.frame import encode_record
from kraft.records.record import Record, encode_batch
from kraft.spark import register
from kraft.spark.session import local_session
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION
from tests.bench.figures import Section, Table, ratio_goal
from tests.bench.peers import APACHE, KRAFT
from tests.support.apache_process import APACHE_4
from tests.support.apache_tool import DUMP_LOG

CORES = 2
SEGMENTS = 4
RECORDS = 1_000_000
"""Of the topic's log, and of the metadata log."""
BATCH_RECORDS = 500
VALUE_BYTES = 100
CHANGES_PER_BATCH = 10
TOPICS = 100
GOAL = 5
TIME_MS = 1_700_000_000_000
LIMIT_S = 900
_BACKFILLS = 2
JVM = ("-Xmx1G",)


def measure(rounds: int) -> Section:
    """Both read the same segments in turn; the first round of Spark is thrown away."""
    rows = Table(
        f"Rows of files, {RECORDS:,} records in {SEGMENTS} segments, {CORES} cores", [KRAFT, APACHE], base=APACHE
    )
    dump = rows.row(f"records of {VALUE_BYTES} bytes", "thousand rows/s")
    metadata_rows = rows.row("records of a metadata log", "thousand rows/s")
    backfill = rows.row("the same metadata log through `kraft pipeline backfill`", "thousand rows/s")
    with tempfile.TemporaryDirectory(prefix="kraft-bench-") as scratch:
        log, metadata = Path(scratch) / "orders-0", Path(scratch) / CLUSTER_METADATA_PARTITION
        _write(log, BATCH_RECORDS, _record)
        _write(metadata, CHANGES_PER_BATCH, _change)
        spark = local_session("bench", cores=CORES, settings={"spark.driver.memory": "2g"})
        register(spark)
        try:
            for number in range(rounds + 1):
                ours = _spark(spark, "kraft-log", log), _spark(spark, "kraft-metadata", metadata)
                if number:
                    dump.add(KRAFT, ours[0])
                    dump.add(APACHE, _dumped(log, "--print-data-log"))
                    metadata_rows.add(KRAFT, ours[1])
                    metadata_rows.add(APACHE, _dumped(metadata, "--cluster-metadata-decoder"))
        finally:
            spark.stop()
        for number in range(_BACKFILLS):
            backfill.add(KRAFT, _backfilled(metadata, Path(scratch) / f"tables-{number}"))
    claim = f"kraft-log reads at least {GOAL} times the records per second of DumpLogSegments"
    return Section("spark_files", [rows], [ratio_goal(claim, dump, KRAFT, APACHE, lambda ratio: ratio >= GOAL)])


def _write(directory: Path, per_batch: int, value: Callable[[random.Random, int], tuple[bytes | None, bytes]]) -> None:
    directory.mkdir()
    chance = random.Random(RECORDS)
    size = RECORDS // SEGMENTS
    for start in range(0, RECORDS, size):
        with open(directory / f"{start:020d}.log", "wb") as file:
            for base in range(start, start + size, per_batch):
                records = [
                    Record(at, 1_700_000_000_000 + at, *value(chance, at)) for at in range(base, base + per_batch)
                ]
                file.write(encode_batch(records, base_offset=base, leader_epoch=1))


def _record(chance: random.Random, number: int) -> tuple[bytes, bytes]:
    return b"key-%d" % number, chance.randbytes(VALUE_BYTES // 2).hex().encode()


def _change(chance: random.Random, number: int) -> tuple[None, bytes]:
    isr = chance.sample(range(10), 3)
    change = PartitionChangeRecord(number % 1000, UUID(int=number % TOPICS + 1), isr=isr, leader=isr[0])
    return None, encode_record(change, 0)


def _spark(spark: SparkSession, name: str, directory: Path) -> float:
    return _rate(lambda: _drain(spark.read.format(name).load(str(directory))))


def _drain(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _dumped(directory: Path, option: str) -> float:
    files = ",".join(map(str, sorted(directory.glob("*.log"))))
    command = attrs.evolve(APACHE_4, jvm=JVM, has_archive=False).java(DUMP_LOG, "--files", files, option)
    return _rate(lambda: _run(command))


def _backfilled(metadata: Path, tables: Path) -> float:
    """The start of Spark is part of the time."""
    options = ("--into", str(tables), "--master", f"local[{CORES}]")
    return _rate(lambda: _run([sys.executable, "-m", "kraft", "pipeline", "backfill", str(metadata), *options]))


def _run(command: list[str]) -> None:
    with tempfile.TemporaryFile() as output:
        subprocess.run(command, check=True, stdout=output, timeout=LIMIT_S)


def _rate(read: Callable[[], Any]) -> float:
    started = time.perf_counter()
    read()
    return RECORDS / (time.perf_counter() - started) / 1000
