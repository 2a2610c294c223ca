"""Rows for tests of the pipeline: as ``format("kraft-metadata")`` gives them, of journals, and of a small table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs

from kraft.messages.plain import to_plain
from kraft.spark.pipeline.tables import TABLES, Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "offset bigint, epoch int, timestamp timestamp, type string, apiKey int, version int, record string, "
    "bytes binary, error string, origin string"
)
BEGIN = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
Row = tuple[Any, ...]

SMALL = attrs.evolve(
    TABLES["raw_events"], name="small", columns=(Column("time", "timestamp", "When."), Column("n", "bigint", "Which."))
)


def at(ms: int) -> datetime:
    """Return the time ``ms`` after the first record."""
    return BEGIN + timedelta(milliseconds=ms)


def row(offset: int, record: Any, *, epoch: int = 1, ms: int | None = None, origin: str = "log") -> Row:
    """Return the row of a record. Its time is one second for each offset, unless ``ms`` is given."""
    cls = type(record)
    version = cls.VALID_VERSIONS[1]
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).upper()
    text = json.dumps({"type": name, "version": version, "data": to_plain(record, version)})
    time = at(offset * 1000 if ms is None else ms)
    return offset, epoch, time, name, cls.API_KEY, version, text, None, None, origin


def damaged(offset: int | None, data: bytes, error: str) -> Row:
    """Return the row of a record that cannot be decoded."""
    return offset, None, None, None, None, None, None, data, error, "log"


def metadata(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    return spark.createDataFrame(list(rows), SCHEMA)


def lines(spark: SparkSession, events: Iterable[dict[str, Any] | bytes], source: str = "node.jsonl") -> DataFrame:
    """Return rows with the lines of a journal or a request log. An event given as bytes is a line as it is."""
    texts = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]
    return spark.createDataFrame([(bytearray(text), source) for text in texts], "line binary, source string")


def numbers(spark: SparkSession, values: Iterable[int]) -> DataFrame:
    """Return rows of the table SMALL."""
    return spark.createDataFrame([(at(value), value) for value in values], "time timestamp, n bigint")


def found(rows: DataFrame) -> list[int]:
    """Return the numbers in rows of the table SMALL, sorted."""
    return sorted(row["n"] for row in rows.select("n").collect())
