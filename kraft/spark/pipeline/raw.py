"""From the input to the rows of the raw tables.

A record is identified by its offset and its epoch. A request is identified by node, start and number. The lines of a
quorum journal are in the request log too, but only there with a number, so a hash of their fields identifies them. So
the pipeline recognises rows that it has, from a stream or from a backfill.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kraft.spark.pipeline.tables import TABLES

#: The first ms of the year 10000. Spark's timestamps go further, but Python's datetime does not.
_END_OF_TIME_MS = 253_402_300_800_000

_JOURNAL_KINDS = ("start", "transition", "verdict", "omitted", "fatal", "stop")

EVENT_FIELDS = (
    "ms bigint, node int, kind string, start bigint, seq bigint, epoch int, before string, after string, why string, "
    "words string, wrote_ms bigint, request string, preVote boolean, peer string, granted boolean, reason string, "
    "times int, plane string, listener string, api string, version int, client string, sizeBytes bigint, "
    "queueMs double, localMs double, responseQueueMs double, remoteMs double, sendMs double, totalMs double, "
    "sample double"
)
"""The fields of the lines of quorum journals and request logs. A line may have more, which stay in ``raw_events``."""


def metadata_rows(source: DataFrame) -> DataFrame:
    """Return the rows of ``raw_metadata`` for rows of ``format("kraft-metadata")``.

    Logs of several nodes may disagree about an offset that was not committed, and so may one log before and after an
    election. All these records are kept: ``answers.replaced_records`` finds those that a later epoch replaced.
    """
    rows = source.select(
        "offset",
        "epoch",
        F.col("timestamp").alias("time"),
        "origin",
        "type",
        "version",
        "record",
        F.when(F.col("error").isNotNull(), F.col("bytes")).alias("bytes"),
        "error",
    )
    keys = {f"key{number}": key for number, key in enumerate(metadata_key())}
    return rows.withColumns(keys).dropDuplicates(list(keys)).drop(*keys)


def metadata_key() -> list[Column]:
    """Return what identifies a record. All records of a snapshot have one offset; damaged bytes may have no offset and
    no epoch.
    """
    by_content = (F.col("origin") == "snapshot") | F.col("error").isNotNull()
    content = F.when(by_content, F.xxhash64("type", "record", "bytes"))
    offset, epoch = (F.coalesce(name, F.lit(-1)) for name in ("offset", "epoch"))
    return [F.col("origin"), offset, epoch, F.coalesce(content, F.lit(0))]


def event_rows(lines: DataFrame) -> DataFrame:
    """Return the rows of ``raw_events`` for rows with ``line`` (binary) and ``source``."""
    event = event_of(F.col("line"))
    ms, node, kind = F.col("event.ms"), F.col("event.node"), F.col("event.kind")
    of_journal = kind.isin(*_JOURNAL_KINDS) | F.col("event.seq").isNull()
    content = F.to_json(F.col("event").dropFields("seq", "start", "invalid"))
    number = F.concat_ws("-", node, F.col("event.start"), F.col("event.seq"))
    error = (
        F.when(~F.is_valid_utf8(F.col("line").cast("string")), "not UTF-8")
        .when(F.col("event").isNull() | F.col("event.invalid").isNotNull(), "not a JSON object of an event")
        .when(ms.isNull() | node.isNull() | kind.isNull(), "without ms, node or kind")
        .when(~ms.between(0, _END_OF_TIME_MS - 1), "ms is not a time")
    )
    rows = (
        lines.where(F.length("line") > 0)
        .withColumn("event", event)
        .withColumn("error", error)
        .select(
            F.when(F.col("error").isNull(), F.timestamp_millis(ms)).alias("time"),
            F.when(F.col("error").isNull(), node).alias("node"),
            F.when(F.col("error").isNull(), kind).alias("kind"),
            F.when(F.col("error").isNotNull(), F.sha2("line", 256))
            .when(of_journal, F.sha2(content, 256))
            .otherwise(number)
            .alias("id"),
            "source",
            "line",
            "error",
        )
    )
    return rows.dropDuplicates(["id"])


def event_of(line: Column) -> Column:
    """Return the event of a line as a struct, with ``invalid`` set if the line is not JSON."""
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "invalid"}
    return F.from_json(line.cast("string"), f"{EVENT_FIELDS}, invalid string", options)


def unseen(rows: DataFrame, known: DataFrame, name: str) -> DataFrame:
    """Return the rows that the raw table ``name`` does not have yet. ``known`` are its rows."""
    key = metadata_key() if name == "raw_metadata" else [F.col("id")]
    order = "offset" if name == "raw_metadata" else "time"
    span = rows.agg(F.min(order).alias("first"), F.max(order).alias("last")).first()
    assert span is not None, "an aggregate without groups has one row"
    # Parquet's statistics leave only the files that may have such rows. An undecodable line has no time.
    near = known.where(F.col(order).isNull() | F.col(order).between(span["first"], span["last"]))
    keys = [each.alias(f"key{number}") for number, each in enumerate(key)]
    names = [f"key{number}" for number in range(len(key))]
    marked = rows.select("*", *keys)
    return marked.join(near.select(*keys), names, "left_anti").select(*TABLES[name].names)


def quarantined(name: str, rows: DataFrame) -> DataFrame:
    """Return the rows of ``quarantine`` for rows of the raw table ``name``."""
    if name == "raw_metadata":
        source, place, content = F.lit("metadata"), F.concat(F.lit("offset "), "offset"), F.col("bytes")
    else:
        source, place, content = F.col("source"), F.col("id"), F.col("line")
    return rows.where("error is not null").select(
        "time",
        source.alias("source"),
        place.alias("place"),
        F.col("error").alias("reason"),
        content.alias("bytes"),
    )
