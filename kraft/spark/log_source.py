"""``format("kraft-log")``: the segments of log directories as rows, without a broker. They may be Apache Kafka's.

Each task reads one segment. A running broker may write meanwhile: a query reads the files up to the sizes that they
have when their tasks begin. See docs/spark-files.md for options and columns.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

import attrs
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from kraft.spark.log_rows import SCHEMA, SCHEMA_WITH_HEADERS, LogFile, read_log_file
from kraft.spark.options import BOOLEAN, NAMES, Kind, Option, OptionError, read_options
from kraft.spark.segment_scan import MODE, QUARANTINE, is_newest, segments
from kraft.storage.directory import partition_of
from kraft.storage.segment import LOG_SUFFIX
from kraft.storage.snapshot import CHECKPOINT_SUFFIX

NAME = "kraft-log"

PATH: Option[tuple[str, ...]] = Option(
    "path", NAMES, "Log directories, directories of partitions, or segment files, separated by commas."
)


def _pattern(text: str) -> str:
    try:
        return re.compile(text).pattern
    except re.error as error:
        raise ValueError(error) from None


TOPICS: Option[str] = Option(
    "topics",
    Kind("regular expression", "a regular expression", _pattern),
    "Read only the topics whose whole name matches.",
    shown_default="all topics",
)
INCLUDE_HEADERS = Option("includeHeaders", BOOLEAN, "Whether the column `headers` exists.", False)
OPTIONS = (PATH, TOPICS, MODE, INCLUDE_HEADERS)


@attrs.frozen
class LogQuery:
    """The options of one query."""

    paths: tuple[str, ...]
    topics: str | None
    quarantine: bool
    with_headers: bool

    @classmethod
    def read(cls, given: Mapping[str, str]) -> LogQuery:
        """Read the options that Spark hands over. Raises OptionError."""
        options = read_options(NAME, given, OPTIONS)
        return cls(options[PATH], options.get(TOPICS), options[MODE] == QUARANTINE, options[INCLUDE_HEADERS])


class LogSource(DataSource):
    """The data source. Spark makes an instance for each query."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        settings = LogQuery.read(self.options)
        return from_arrow_schema(SCHEMA_WITH_HEADERS if settings.with_headers else SCHEMA)

    def reader(self, schema: StructType) -> LogReader:
        return LogReader(LogQuery.read(self.options))

    def streamReader(self, schema: StructType) -> LogReader:
        raise OptionError(f"Format {NAME} is for batch queries; format kraft streams topics from a cluster")


class LogReader(DataSourceReader):
    """A batch query."""

    def __init__(self, settings: LogQuery) -> None:
        self._settings = settings

    def partitions(self) -> Sequence[InputPartition]:
        files = log_files(self._settings.paths, self._settings.topics)
        return [InputPartition(file) for file in files] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        file: LogFile | None = partition.value
        if file is None:
            return iter(())
        settings = self._settings
        return read_log_file(file, quarantine=settings.quarantine, with_headers=settings.with_headers)


def log_files(paths: Sequence[str], topics: str | None = None) -> list[LogFile]:
    """Return the files below these paths whose topics match, in the order of their paths.

    Raises:
        OptionError: a path does not exist, or has no logs.
        OSError: a directory cannot be read.
    """
    found: dict[str, LogFile] = {}
    for text in paths:
        path = os.path.abspath(text.removeprefix("file://"))
        if not os.path.exists(path):
            raise OptionError(f"Option {PATH.name}: {path} does not exist")
        files = _files(path)
        if not files:
            raise OptionError(f"Option {PATH.name}: {path} has no partitions and is no segment")
        found |= {file.path: file for file in files}
    wanted = re.compile(topics or ".*")
    return [file for _, file in sorted(found.items()) if wanted.fullmatch(file.topic or "")]


def _files(path: str) -> list[LogFile]:
    if os.path.isfile(path):
        return [_log_file(path, is_newest(path))] if path.endswith((LOG_SUFFIX, CHECKPOINT_SUFFIX)) else []
    directories = [path]
    if partition_of(os.path.basename(path)) is None:
        directories += [os.path.join(path, name) for name in sorted(os.listdir(path)) if partition_of(name)]
    files = []
    for directory in directories:
        paths = segments(directory) if os.path.isdir(directory) else []
        files += [_log_file(each, each == paths[-1]) for each in paths]
    return files


def _log_file(path: str, is_active: bool) -> LogFile:
    topic, partition = partition_of(os.path.basename(os.path.dirname(path))) or (None, None)
    return LogFile(path, topic, partition, is_active)
