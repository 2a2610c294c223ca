"""``format("kraft-metadata")``: the metadata log of a live quorum, a directory or a snapshot, as typed rows.

See docs/spark-files.md for its options and columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from kraft.spark.metadata_files import SegmentOffsets, SnapshotFile, plan_files, read_segment_file, read_snapshot_file
from kraft.spark.metadata_live import (
    LiveSnapshot,
    LogRange,
    ask,
    epoch_before,
    plan,
    plan_between,
    read_live_snapshot,
    read_range,
)
from kraft.spark.metadata_schema import SCHEMA
from kraft.spark.metadata_settings import CONTROLLERS, NAME, PATH, Settings
from kraft.spark.options import OptionError

_Part = LogRange | LiveSnapshot | SegmentOffsets | SnapshotFile
Offset = dict[str, int]
_UNKNOWN = -1
IDLE_WAIT_S = 0.5
"""How long the leader holds back its answer while there is nothing new. Spark asks again at once."""


class MetadataSource(DataSource):
    """The data source. Spark makes an instance for each query."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return from_arrow_schema(SCHEMA)

    def reader(self, schema: StructType) -> MetadataReader:
        return MetadataReader(Settings.read(self.options))

    def streamReader(self, schema: StructType) -> MetadataStreamReader:
        settings = Settings.read(self.options)
        if settings.controllers is None:
            raise OptionError(f"A stream needs the option {CONTROLLERS.name}; {PATH.name} is for batch queries")
        return MetadataStreamReader(settings)


class MetadataReader(DataSourceReader):
    """A batch query."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def partitions(self) -> Sequence[InputPartition]:
        settings = self._settings
        parts: Sequence[_Part]
        if settings.controllers is None:
            parts = plan_files(settings)
        else:
            start, epoch = _start(settings)
            parts = plan(settings.controllers, start, epoch, settings.ending.offset)
        return _partitions(parts)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition.value, self._settings)


class MetadataStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A streaming query. Its offsets are ``{"offset": next offset, "epoch": epoch of the record before it}``."""

    def __init__(self, settings: Settings) -> None:
        assert settings.controllers is not None, "checked by the source"
        self._settings = settings
        self._controllers = settings.controllers
        self._target: int | None = None

    def initialOffset(self) -> Offset:
        """Return where the stream begins: an offset that is not yet known if that is ``latest``.

        The first micro-batch then has no rows, and notes the offset in the checkpoint. So a query that is stopped
        before its first record continues there when it runs again.
        """
        start, epoch = self._settings.starting.offset, self._settings.starting.epoch
        if start is None:
            return {"offset": _UNKNOWN, "epoch": _UNKNOWN}
        if epoch is None:
            fetched = ask(self._controllers, lambda log: log.fetch(start))
            epoch = epoch_before(self._controllers, fetched, start) if fetched.snapshot is None else 0
        return {"offset": start, "epoch": epoch}

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = _high_watermark(self._controllers)

    def getDefaultReadLimit(self) -> ReadLimit:
        limit = self._settings.max_offsets
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        offset, epoch = start["offset"], start["epoch"]
        if offset == _UNKNOWN:
            return self._end()
        wait_s = IDLE_WAIT_S if self._target is None else 0.0
        fetched = ask(self._controllers, lambda log: log.fetch(offset, epoch, max_wait_s=wait_s))
        if fetched.snapshot is not None:
            return {"offset": fetched.snapshot.end_offset, "epoch": fetched.snapshot.epoch}
        end = fetched.high_watermark if self._target is None else min(self._target, fetched.high_watermark)
        if isinstance(limit, ReadMaxRows):
            end = min(end, offset + limit.max_rows)
        if end <= offset:
            return start
        return {"offset": end, "epoch": epoch_before(self._controllers, fetched, end)}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        if start["offset"] == _UNKNOWN or end["offset"] <= start["offset"]:
            return []
        return _partitions(
            plan_between(self._controllers, start["offset"], start["epoch"], end["offset"], end["epoch"])
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition.value, self._settings)

    def _end(self) -> Offset:
        """Return the offset of the high watermark."""
        high_watermark = _high_watermark(self._controllers)
        fetched = ask(self._controllers, lambda log: log.fetch(high_watermark))
        return {"offset": high_watermark, "epoch": epoch_before(self._controllers, fetched, high_watermark)}

    def commit(self, end: Offset) -> None:
        """Do nothing: the quorum keeps no position for a reader."""

    def stop(self) -> None:
        """Do nothing: no connection is kept."""


def _start(settings: Settings) -> tuple[int, int | None]:
    assert settings.controllers is not None, "only a live quorum has a present end"
    if settings.starting.offset is None:
        return _high_watermark(settings.controllers), None
    return settings.starting.offset, settings.starting.epoch


def _high_watermark(controllers: str) -> int:
    return ask(controllers, lambda log: log.fetch(0, max_bytes=1)).high_watermark


def _partitions(parts: Sequence[_Part]) -> list[InputPartition]:
    return [InputPartition(part) for part in parts] or [InputPartition(None)]


def _read(part: Any, settings: Settings) -> Iterator[pa.RecordBatch]:
    match part:
        case LogRange():
            return read_range(str(settings.controllers), part, settings)
        case LiveSnapshot():
            return read_live_snapshot(str(settings.controllers), part, settings)
        case SegmentOffsets():
            return read_segment_file(part, settings)
        case SnapshotFile():
            return read_snapshot_file(part, settings)
    return iter(())
