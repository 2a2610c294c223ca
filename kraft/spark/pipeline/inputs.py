"""The inputs of the pipeline: streams from a live cluster, and log directories."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kraft.client.cluster import TIMEOUT_MS
from kraft.quorum.journal import FILE_NAME, OLDER_SUFFIX
from kraft.request_log.log import DIRECTORY
from kraft.spark.pipeline.store import StoreError
from kraft.storage.meta_properties import META_PROPERTIES, read_properties
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION

REQUEST_LOG_FILES = "requests-*.jsonl"
"""The complete files of a request log. An open one has another suffix."""
_REQUEST_LOG_PREFIX, _SUFFIXES = "requests-", (".jsonl", ".jsonl.open")
_NEW_DEPTH = 3
"""New request logs are found in directories ``request-log``, up to so many directories below that of ``--events``."""
#: Spark's file source ignores files that are older than the newest one by more than this.
_MAX_FILE_AGE = "36500d"
_GLOB = re.compile(r"[\\{}\[\]*?,]")
_METADATA = {"mode": "quarantine", "includeControlRecords": "true"}


def metadata_stream(spark: SparkSession, controllers: str) -> DataFrame:
    """Return the stream of the metadata log of a live quorum, from its start."""
    reader = spark.readStream.format("kraft-metadata").options(**_METADATA)
    return reader.option("kafka.bootstrap.controllers", controllers).load()


def topic_stream(spark: SparkSession, brokers: str, topic: str) -> DataFrame:
    """Return the stream of lines of a request log that the nodes write to a topic."""
    rows = spark.readStream.format("kraft").options(**stream_options(brokers, topic)).load()
    return rows.select(F.col("value").alias("line"), F.concat("topic", F.lit("-"), "partition").alias("source"))


def stream_options(brokers: str, topic: str) -> dict[str, str]:
    """Return the options of the stream of a topic."""
    return {
        "kafka.bootstrap.servers": brokers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        # A run that retention overtook goes on with the records that are left, and warns of the others.
        "failOnDataLoss": "false",
        # A cluster without leaders ends the run as soon as one without controllers does.
        "kafkaConsumer.pollTimeoutMs": str(TIMEOUT_MS),
    }


def file_stream(spark: SparkSession, directory: str) -> DataFrame:
    """Return the stream of lines of the complete request log files in a directory, and below it.

    Spark ignores a directory whose name begins with an underscore, such as ``__cluster_metadata-0``, unless the path
    names it. So the path names every directory that has a request log now, and patterns for the usual places of new
    ones. Spark looks for these at each batch. It would read a directory twice that is named twice.

    Raises StoreError: there is none.
    """
    found = [path for path, _, names in os.walk(directory) if any(_is_of_request_log(name) for name in names)]
    if not found:
        raise StoreError(f"{directory}: no request log is here or below; set kraft.request.log=file on the nodes")
    names = [_escaped(path) for path in sorted(found) if not _is_usual(os.path.relpath(path, directory))]
    places = [f"{_escaped(directory)}/{'*/' * depth}{DIRECTORY}" for depth in range(_NEW_DEPTH + 1)]
    path = "/{" + ",".join([*names, *places]) + "}"  # a path that begins with a brace would be a relative one
    options = {"lineSep": "\n", "pathGlobFilter": REQUEST_LOG_FILES, "maxFileAge": _MAX_FILE_AGE}
    return _lines(spark.readStream.format("text").options(**options).load(path))


def _is_usual(path: str) -> bool:
    return os.path.basename(path) == DIRECTORY and path.count("/") <= _NEW_DEPTH


def _escaped(path: str) -> str:
    return _GLOB.sub(r"\\\g<0>", os.path.abspath(path).removeprefix("/"))


def _lines(texts: DataFrame) -> DataFrame:
    return texts.select(F.col("value").cast("binary").alias("line"), F.col("_metadata.file_path").alias("source"))


@attrs.frozen
class LogDirectories:
    """The files of any number of nodes: directories with a metadata log, and files of events."""

    metadata: Sequence[str]
    events: Sequence[str]
    cluster_id: str | None

    def metadata_rows(self, spark: SparkSession) -> DataFrame:
        """Return the records of all metadata logs. Those of several nodes occur several times."""
        reader = spark.read.format("kraft-metadata").options(**_METADATA)
        rows = [reader.option("path", path).load() for path in self.metadata]
        whole = rows[0]
        for each in rows[1:]:
            whole = whole.union(each)
        return whole

    def event_lines(self, spark: SparkSession) -> DataFrame:
        """Return the lines of all journals and request logs."""
        return _lines(spark.read.format("text").option("lineSep", "\n").load(list(self.events)))


def log_directories(paths: Sequence[str]) -> LogDirectories:
    """Find the metadata logs, quorum journals and request logs in log directories, or below them.

    Raises:
        StoreError: a path has none of them, or the nodes are of different clusters.
        LogDirectoryError: a ``meta.properties`` cannot be read.
    """
    metadata: list[str] = []
    events: list[str] = []
    clusters: dict[str, str] = {}
    for path in paths:
        found = 0
        for directory, names in _walk(path):
            cluster_id = _cluster_id(directory) if META_PROPERTIES in names else None
            if cluster_id is not None:
                clusters[cluster_id] = directory
            of_events = [os.path.join(directory, name) for name in sorted(names) if _has_events(name)]
            events += of_events
            has_log = os.path.basename(directory) == CLUSTER_METADATA_PARTITION
            if has_log:
                metadata.append(directory)
            found += has_log + len(of_events)
        if not found:
            raise StoreError(f"{path}: no metadata log, quorum journal or request log is here or below")
    if len(clusters) > 1:
        named = ", ".join(f"{directory} is of {cluster_id}" for cluster_id, directory in clusters.items())
        raise StoreError(f"The directories are of different clusters: {named}")
    return LogDirectories(metadata, events, next(iter(clusters), None))


def _walk(path: str) -> Iterator[tuple[str, list[str]]]:
    for directory, _, names in os.walk(path):
        yield directory, names


def _has_events(name: str) -> bool:
    is_journal = name in (FILE_NAME, FILE_NAME + OLDER_SUFFIX)
    return is_journal or _is_of_request_log(name)


def _is_of_request_log(name: str) -> bool:
    return name.startswith(_REQUEST_LOG_PREFIX) and name.endswith(_SUFFIXES)


def _cluster_id(directory: str) -> str | None:
    """Return ``cluster.id`` of the ``meta.properties`` of a directory, which brokers with ZooKeeper wrote too."""
    values = read_properties(os.path.join(directory, META_PROPERTIES))
    return None if values is None else values.get("cluster.id")
