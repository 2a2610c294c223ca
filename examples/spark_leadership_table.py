"""Keep a table of who leads each partition, from the changes in the metadata log of a running cluster.

Needs `pip install '.[spark]'` and Java 17. The query reads the log from a controller, as a replica without a vote.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

from pyspark.sql import functions as F

from kraft.spark import register
from kraft.spark.session import local_session
from kraft.testing import EmbeddedCluster

RECORDS = ("TOPIC_RECORD", "PARTITION_RECORD", "PARTITION_CHANGE_RECORD", "REMOVE_TOPIC_RECORD")
NO_LEADER_CHANGE = -2


def first_of(*columns: str) -> F.Column:
    return F.coalesce(*map(F.col, columns))


def follow(directory: str) -> None:
    """Append the changes since the last call to the files of the directory."""
    log = spark.readStream.format("kraft-metadata").option("kafka.bootstrap.controllers", cluster.controller).load()
    changes = log.where(F.col("type").isin(*RECORDS)).select(
        "offset",
        "type",
        first_of(*(f"{name.lower()}.topic_id" for name in RECORDS)).alias("topic_id"),
        F.col("topic_record.name").alias("name"),
        first_of("partition_record.partition_id", "partition_change_record.partition_id").alias("partition"),
        first_of("partition_record.leader", "partition_change_record.leader").alias("leader"),
    )
    writer = changes.writeStream.format("parquet").option("checkpointLocation", f"{directory}/checkpoint")
    writer.trigger(availableNow=True).start(f"{directory}/changes").awaitTermination()


def show(directory: str) -> None:
    """Print the table: the last leader of each partition of each topic that still exists."""
    changes = spark.read.parquet(f"{directory}/changes")
    names = changes.where("name IS NOT NULL").select("topic_id", "name")
    removed = changes.where("type = 'REMOVE_TOPIC_RECORD'").select("topic_id")
    leaders = (
        changes.where(F.col("leader") != NO_LEADER_CHANGE)
        .groupBy("topic_id", "partition")
        .agg(F.max_by("leader", "offset").alias("leader"))
        .join(names, "topic_id")
        .join(removed, "topic_id", "left_anti")
    )
    for row in leaders.orderBy("name", "partition").collect():
        print(f"  {row.name}-{row.partition} is led by {row.leader}")


def kraft(*arguments: str) -> None:
    command = [sys.executable, "-m", "kraft", "topics", *arguments, "--bootstrap-server", cluster.bootstrap_servers]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


with EmbeddedCluster(topics={"orders": 2, "visits": 1}) as cluster, tempfile.TemporaryDirectory() as directory:
    spark = local_session("leadership table", cores=2, settings={"spark.sql.shuffle.partitions": "1"})
    register(spark)
    print("at first:")
    follow(directory)
    show(directory)

    kraft("create", "payments")
    kraft("delete", "visits")
    print("with payments, without visits:")
    follow(directory)
    show(directory)
    spark.stop()
