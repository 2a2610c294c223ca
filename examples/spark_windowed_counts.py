"""Count the visits of each page in windows of a minute, with a watermark, from one topic into another.

Needs `pip install '.[spark]'` and Java 17. With `format("kafka")` and the jars of Spark's Kafka connector the same
job runs without `register`.
"""

from __future__ import annotations

import tempfile

from pyspark.sql import functions as F

from kraft.spark import register
from kraft.spark.session import local_session
from kraft.testing import EmbeddedCluster

FIRST = [("12:00:05", "home"), ("12:00:20", "docs"), ("12:00:40", "home"), ("12:01:10", "home"), ("12:04:00", "docs")]
# The watermark is 12:04:00 less 2 minutes, so the first of these is too late. The last one closes all earlier windows.
SECOND = [("12:00:50", "home"), ("12:03:30", "docs"), ("12:20:00", "home")]


def visit(topic: str, visits: list[tuple[str, str]]) -> None:
    """Write a batch of visits to the topic: the page is the key, and JSON the value."""
    frame = spark.createDataFrame([(f"2026-01-01 {time}", page) for time, page in visits], "time string, page string")
    records = frame.select(F.col("page").alias("key"), F.to_json(F.struct("time", "page")).alias("value"))
    records.write.format("kraft").options(**kafka, topic=topic).mode("append").save()


def count(source: str, target: str, checkpoint: str) -> None:
    """Run the query until it has read all visits. It starts where its checkpoint ended."""
    records = spark.readStream.format("kraft").options(**kafka, subscribe=source, startingOffsets="earliest").load()
    visits = records.select(F.from_json(F.col("value").cast("string"), "time timestamp, page string").alias("visit"))
    counts = (
        visits.select("visit.*")
        .withWatermark("time", "2 minutes")
        .groupBy(F.window("time", "1 minute"), "page")
        .count()
        .select(
            F.to_json(F.struct(F.date_format("window.start", "HH:mm").alias("from"), "page", "count")).alias("value")
        )
    )
    writer = counts.writeStream.format("kraft").options(**kafka, topic=target, checkpointLocation=checkpoint)
    writer.outputMode("append").trigger(availableNow=True).start().awaitTermination()


def show(topic: str) -> None:
    """Print the values of the topic."""
    rows = spark.read.format("kraft").options(**kafka, subscribe=topic).load().selectExpr("CAST(value AS STRING) AS v")
    print("\n".join(sorted(row.v for row in rows.collect())))


with EmbeddedCluster(topics={"visits": 2, "counts": 1}) as cluster, tempfile.TemporaryDirectory() as checkpoint:
    kafka = {"kafka.bootstrap.servers": cluster.bootstrap_servers}
    spark = local_session("windowed counts", cores=2, settings={"spark.sql.shuffle.partitions": "1"})
    register(spark)

    visit("visits", FIRST)
    count("visits", "counts", checkpoint)
    print("closed after the first visits:")
    show("counts")

    visit("visits", SECOND)
    count("visits", "counts", checkpoint)
    print("closed in the end, without the visit that was too late:")
    show("counts")
    spark.stop()
