"""Join a stream of orders with a stream of payments, within ten minutes of each order; say which stayed unpaid.

Needs `pip install '.[spark]'` and Java 17.
"""

from __future__ import annotations

import tempfile

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kraft.spark import register
from kraft.spark.session import local_session
from kraft.testing import EmbeddedCluster

ORDERS = [(1, "12:00:00"), (2, "12:01:00"), (3, "12:02:00")]
# Order 1 is paid, order 2 too late, order 3 not at all.
PAYMENTS = [(1, "12:04:30"), (2, "12:30:00")]
# Later records of both streams let the watermarks pass the unpaid orders.
LATER = [(9, "14:00:00")]


def publish(topic: str, rows: list[tuple[int, str]]) -> None:
    """Write one record for each row: the order's number is the key, and the time the value."""
    frame = spark.createDataFrame(
        [(str(number), f"2026-01-01 {time}") for number, time in rows], "key string, value string"
    )
    frame.write.format("kraft").options(**kafka, topic=topic).mode("append").save()


def stream(topic: str, number: str, time: str) -> DataFrame:
    """Read a topic as a stream of two columns, with a watermark of a minute."""
    records = spark.readStream.format("kraft").options(**kafka, subscribe=topic, startingOffsets="earliest").load()
    columns = records.selectExpr(
        f"CAST(CAST(key AS STRING) AS INT) AS {number}", f"CAST(CAST(value AS STRING) AS TIMESTAMP) AS {time}"
    )
    return columns.withWatermark(time, "1 minute")


def join(checkpoint: str) -> None:
    """Run the query until it has read both topics, and print the rows of each batch."""
    in_time = F.expr("paid_order = ordered_order AND paid BETWEEN ordered AND ordered + INTERVAL 10 MINUTES")
    joined = stream("orders", "ordered_order", "ordered").join(
        stream("payments", "paid_order", "paid"), in_time, "left"
    )
    told = joined.select(
        F.concat(F.lit("order "), "ordered_order").alias("order"),
        F.coalesce(F.concat(F.lit("paid at "), F.date_format("paid", "HH:mm:ss")), F.lit("not paid in time")).alias(
            "what"
        ),
    )
    writer = told.writeStream.foreachBatch(
        lambda rows, _: lines.extend(f"{row.order}: {row.what}" for row in rows.collect())
    )
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()


with EmbeddedCluster(topics={"orders": 2, "payments": 2}) as cluster, tempfile.TemporaryDirectory() as checkpoint:
    kafka = {"kafka.bootstrap.servers": cluster.bootstrap_servers}
    spark = local_session("stream join", cores=2, settings={"spark.sql.shuffle.partitions": "1"})
    register(spark)
    lines: list[str] = []

    publish("orders", ORDERS)
    publish("payments", PAYMENTS)
    join(checkpoint)
    print("before the watermark passes:", *sorted(lines), sep="\n  ")

    lines.clear()
    publish("orders", LATER)
    publish("payments", LATER)
    join(checkpoint)
    print("when it is too late for a payment:", *sorted(lines), sep="\n  ")
    spark.stop()
