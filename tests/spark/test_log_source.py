"""format("kraft-log") on the directories of nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio
from pyspark.sql.types import StructType

from kraft.client.cluster import open_cluster
from kraft.client.producer import Producer
from kraft.spark import register
from kraft.spark.log_source import NAME, LogQuery, LogSource, log_files
from kraft.spark.options import OptionError
from kraft.testing.embedded import EmbeddedCluster
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = 500
SEGMENT = f"{0:020d}.log"


def touch(directory: Path, *names: str) -> None:
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def found(*paths: Path, topics: str | None = None) -> list[tuple[str, str | None, int | None, bool]]:
    files = log_files([str(path) for path in paths], topics)
    return [(Path(file.path).name, file.topic, file.partition, file.is_active) for file in files]


def test_files_are_found_at_every_level(tmp_path: Path) -> None:
    """A log directory, a partition's directory, a segment."""
    second = f"{100:020d}.log"
    touch(tmp_path / "a", f"x-y-0/{SEGMENT}", f"x-y-0/{second}", f"x-y-0/{SEGMENT}.deleted", "x-y-0/00.index")
    touch(tmp_path / "a", f"z-1/{SEGMENT}", f"z-2.{'0' * 32}-delete/{SEGMENT}", "meta.properties")
    touch(tmp_path / "b", f"z-7/{SEGMENT}", f"moved/{SEGMENT}")
    in_a = [(SEGMENT, "x-y", 0, False), (second, "x-y", 0, True), (SEGMENT, "z", 1, True)]
    assert found(tmp_path / "a") == in_a
    assert found(tmp_path / "a", tmp_path / "b", topics="z") == [(SEGMENT, "z", 1, True), (SEGMENT, "z", 7, True)]
    assert found(tmp_path / "a" / "x-y-0") == in_a[:2]
    assert found(tmp_path / "a" / "x-y-0" / SEGMENT) == in_a[:1]
    assert found(tmp_path / "a" / "x-y-0" / second, tmp_path / "a" / "x-y-0") == in_a[:2], "each file once"
    assert found(tmp_path / "b" / "moved") == [(SEGMENT, None, None, True)]
    assert found(tmp_path / "a", topics="none") == []


def test_wrong_options_are_named(tmp_path: Path) -> None:
    touch(tmp_path, "other")
    for name in ("missing", "other", "."):
        with pytest.raises(OptionError, match="Option path: "):
            log_files([str(tmp_path / name)])
    with pytest.raises(OptionError, match="Option path is missing"):
        LogQuery.read({})
    with pytest.raises(OptionError, match=r"Option topics has the value '\('"):
        LogQuery.read({"path": "x", "topics": "("})
    with pytest.raises(OptionError, match=r"has no option topic\. The nearest one is topics"):
        LogQuery.read({"path": "x", "topic": "orders"})


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log directory of a node that has stopped."""
    path = tmp_path_factory.mktemp("logs")
    settings = {"log.dirs": str(path), "log.segment.bytes": "20000"}

    async def produce(servers: str) -> None:
        async with open_cluster(servers) as cluster:
            producer = Producer(cluster, "orders")
            await producer.start()
            for start in range(0, RECORDS, 50):
                numbers = range(start, start + 50)
                await producer.send([(b"key-%d" % at, b"value-%d" % at + bytes(100)) for at in numbers])

    with EmbeddedCluster({"orders": 2, "other": 1}, settings) as cluster:
        trio.run(produce, cluster.bootstrap_servers)
    return path


def test_a_nodes_directory_has_every_record(spark: SparkSession, directory: Path) -> None:
    register(spark)
    rows = spark.read.format(NAME).option("topics", "orders").load(str(directory)).collect()
    assert sorted(row.key for row in rows) == sorted(b"key-%d" % at for at in range(RECORDS))
    assert all(bytes(row.value).startswith(row.key.replace(b"key", b"value")) for row in rows)
    for partition in {row.partition for row in rows}:
        offsets = sorted(row.offset for row in rows if row.partition == partition)
        assert offsets == list(range(len(offsets)))
    assert {row.topic for row in rows} == {"orders"}
    assert len({row.file for row in rows}) > 2, "several segments"

    metadata = spark.read.format(NAME).load(str(directory / CLUSTER_METADATA_PARTITION))
    kinds = [row.controlType for row in metadata.where("isControl").collect()]
    assert kinds[0] == "LEADER_CHANGE"


def test_damage_fails_the_query_or_is_a_row(spark: SparkSession, directory: Path, tmp_path: Path) -> None:
    register(spark)
    source = next(path for path in sorted(directory.glob("orders-*/*.log")) if path.stat().st_size)
    copy = tmp_path / "orders-0" / source.name
    copy.parent.mkdir()
    data = bytearray(source.read_bytes())
    data[200] ^= 1
    copy.write_bytes(data)
    reader = spark.read.format(NAME)
    with pytest.raises(Exception, match=f"{copy}: damaged at position 0 .*checksum"):
        reader.load(str(copy)).count()
    rows: list[Any] = reader.option("mode", "quarantine").option("includeHeaders", "true").load(str(copy)).collect()
    (bad,) = [row for row in rows if row.error]
    assert bytes(bad.bytes) == bytes(data[: len(bad.bytes)])
    assert len(rows) > 1 or len(bad.bytes) == len(data)


def test_a_stream_is_refused() -> None:
    """The offsets of files that come and go would mean nothing; topics are streamed by format kraft."""
    with pytest.raises(OptionError, match="Format kraft-log is for batch queries"):
        LogSource({"path": "x"}).streamReader(StructType())
