"""Rows as ``format("kraft-metadata")`` gives them, made of message classes, for tests of the pipeline."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kraft.messages.plain import to_plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "offset bigint, epoch int, timestamp timestamp, type string, apiKey int, version int, record string, "
    "bytes binary, error string, origin string"
)
BEGIN = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
Row = tuple[Any, ...]


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
