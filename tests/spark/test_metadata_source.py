"""format("kraft-metadata") on a live quorum: batch, stream, restarts, and a log that was trimmed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio
from pyspark.sql.types import StructType

from kraft.client.metadata_log import FetchedLog
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.raft.messages import SnapshotId
from kraft.rpc.client import connect
from kraft.spark import metadata_live, register
from kraft.spark.metadata_live import LiveSnapshot, LogRange, ask
from kraft.spark.metadata_schema import SCHEMA
from kraft.spark.metadata_source import MetadataSource
from kraft.spark.options import OptionError
from kraft.storage.snapshot import list_snapshots, snapshot_name
from kraft.testing.embedded import EmbeddedCluster
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION
from tests.spark.busy import unless_busy
from tests.support.eventually import eventually
from tests.support.node_process import free_ports

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "kraft-metadata"
WAIT_S = 60
TRIMMED_SOON = {
    "metadata.log.segment.bytes": "1000",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "metadata.max.retention.bytes": "1000",
}
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module", autouse=True)
def _registered(spark: SparkSession) -> None:
    register(spark)


def create(cluster: EmbeddedCluster, *names: str) -> None:
    """Create topics, each by a request of its own."""

    async def main() -> None:
        host, port = cluster.bootstrap_servers.split(":")
        async with connect(host, int(port)) as connection:
            for name in names:
                topic = CreatableTopic(name=name, num_partitions=2, replication_factor=1)
                response: Any = await connection.request(CreateTopicsRequest(topics=[topic], timeout_ms=30_000))
                assert response.topics[0].error_code == 0

    trio.run(main)


def collected(frame: DataFrame) -> Rows:
    return [row.asDict(recursive=True) for row in frame.collect()]


def batch(spark: SparkSession, **options: object) -> Rows:
    return collected(spark.read.format(FORMAT).options(**named(options)).load())


def named(options: Mapping[str, object]) -> dict[str, str]:
    """Options by Spark's names."""
    long_names = {"controllers": "kafka.bootstrap.controllers"}
    return {long_names.get(name, name): str(value) for name, value in options.items()}


class Stream:
    """A streaming query whose output is a table in memory, restarted from the same checkpoint by each ``run``."""

    def __init__(self, spark: SparkSession, directory: Path, **options: object) -> None:
        self._spark = spark
        self._directory = directory
        self._options = named(options)

    def run(self) -> list[Rows]:
        """Process all that is available; return the rows of each micro-batch."""
        batches: dict[int, Rows] = {}

        def keep(frame: DataFrame, batch_id: int) -> None:
            batches[batch_id] = collected(frame.orderBy("origin", "offset"))

        reader = self._spark.readStream.format(FORMAT).options(**self._options).load()
        writer = reader.writeStream.foreachBatch(keep).option("checkpointLocation", str(self._directory))

        def attempt() -> None:
            query = writer.trigger(availableNow=True).start()
            try:
                assert query.awaitTermination(WAIT_S), "the query did not end"
            finally:
                query.stop()

        unless_busy(attempt)
        return [rows for _, rows in sorted(batches.items())]


def offsets(rows: Rows) -> list[int]:
    return [row["offset"] for row in rows]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster({"first": 2}, {"log.dirs": str(tmp_path / "logs")}) as cluster:
        yield cluster


def test_a_live_quorum_and_its_files_have_the_same_rows(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """And the columns are typed: no JSON needs to be read."""
    create(cluster, "second")
    rows = batch(spark, controllers=cluster.controller, includeControlRecords=True)
    assert offsets(rows) == list(range(len(rows))), "a log has no gaps"
    assert rows == batch(spark, path=tmp_path / "logs", includeControlRecords=True)
    assert set(rows[0]) == set(SCHEMA.names)
    topics = {row["topic_record"]["topic_id"]: row["topic_record"]["name"] for row in rows if row["topic_record"]}
    assert sorted(topics.values()) == ["first", "second"]
    made = [row["partition_record"] for row in rows if row["type"] == "PARTITION_RECORD"]
    assert sorted((topics[each["topic_id"]], each["partition_id"], each["leader"]) for each in made) == [
        (name, partition, 1) for name in ("first", "second") for partition in (0, 1)
    ]
    part = batch(spark, controllers=cluster.controller, startingOffsets='{"offset": 3}', endingOffsets='{"offset": 7}')
    assert part == [row for row in rows if 3 <= row["offset"] < 7]


def test_a_stream_gives_each_record_once_over_restarts(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """Admission control limits each micro-batch; a restart continues where the checkpoint ends."""
    stream = Stream(spark, tmp_path / "checkpoint", controllers=cluster.controller, maxOffsetsPerTrigger=4)
    first = stream.run()
    assert all(len(rows) <= 4 for rows in first)
    assert len(first) > 2
    create(cluster, "second")
    seen = [row for rows in (*first, *stream.run()) for row in rows]
    assert sorted(seen, key=lambda row: row["offset"]) == batch(spark, controllers=cluster.controller)
    assert stream.run() == []


def test_a_stream_may_begin_at_the_end(spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path / "checkpoint", controllers=cluster.controller, startingOffsets="latest")
    assert stream.run() == [[]], "a batch without rows notes the offset"
    create(cluster, "second")
    (rows,) = stream.run()
    assert [row["type"] for row in rows] == ["TOPIC_RECORD", "PARTITION_RECORD", "PARTITION_RECORD"]


def topic_names(rows: Rows) -> set[str]:
    return {row["topic_record"]["name"] for row in rows if row["topic_record"]}


def test_a_snapshot_stands_for_a_log_that_was_trimmed(spark: SparkSession, tmp_path: Path) -> None:
    """KIP-630: the records are deleted, and the snapshot has what they amounted to. That is no data loss."""
    logs = tmp_path / "logs"
    with EmbeddedCluster({"first": 2}, {**TRIMMED_SOON, "log.dirs": str(logs)}) as cluster:
        stream = Stream(spark, tmp_path / "checkpoint", controllers=cluster.controller)
        before = stream.run()
        names = [f"topic-{number}" for number in range(40)]
        create(cluster, *names)
        # The log begins after the first batches of the stream.
        end = before[-1][-1]["offset"] + 1
        snapshots = list_snapshots(logs / CLUSTER_METADATA_PARTITION)
        assert snapshots[0].end_offset > end

        rows = batch(spark, controllers=cluster.controller)
        if {row["origin"] for row in rows} == {"snapshot"}:
            # It is at the end of the log. One topic more is not enough for the next one.
            names.append("topic-40")
            create(cluster, names[-1])
            rows = batch(spark, controllers=cluster.controller)
        assert {row["origin"] for row in rows} == {"snapshot", "log"}
        assert topic_names(rows) == {"first", *names}
        of_snapshot = [row for row in rows if row["origin"] == "snapshot"]
        assert rows[: len(of_snapshot)] == of_snapshot, "the image comes before its changes"
        of_log = offsets(rows[len(of_snapshot) :])
        assert of_log == list(range(of_snapshot[0]["offset"] + 1, of_log[-1] + 1))

        after = stream.run()
        assert {row["origin"] for row in after[0]} == {"snapshot"}
        assert topic_names([row for part in after for row in part]) == {"first", *names}
        with pytest.raises(Exception, match="offsets 0 to 2 are deleted: the log begins at offset"):
            batch(spark, controllers=cluster.controller, endingOffsets='{"offset": 2}')


@pytest.mark.parametrize(
    ("log_start_offset", "kept", "expected"),
    [
        (150, (150, 300), [LiveSnapshot(300, 3)]),
        (200, (150, 300), [LiveSnapshot(300, 3)]),
        (201, (150, 300), []),
        (150, (200, 300), [LiveSnapshot(200, 3)]),
        (150, (150,), [LiveSnapshot(150, 3), LogRange(150, 200, 3)]),
    ],
)
def test_a_batch_that_is_run_again_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
    log_start_offset: int,
    kept: tuple[int, ...],
    expected: list[LiveSnapshot | LogRange],
) -> None:
    """The batch from 100 to 200 was planned before the quorum deleted records. The next one begins at 200."""

    class Leader:
        async def fetch(self, offset: int, epoch: int | None) -> FetchedLog:
            return FetchedLog(b"", (), 400, log_start_offset, SnapshotId(max(kept), 3))

        async def has_snapshot(self, wanted: SnapshotId) -> bool:
            return wanted.end_offset in kept

    monkeypatch.setattr(metadata_live, "ask", lambda _, call: trio.run(call, Leader()))
    assert metadata_live.plan_between("", 100, 2, 200, 3) == expected


def test_a_snapshot_hides_the_first_leader_change_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    """KafkaRaftClient.tryCompleteFetchRequest answers a fetch of offset 0 with the id of its snapshot, though its log
    begins there. The record at offset 0 is the LeaderChange of the first epoch, and no snapshot has one.
    """
    logs = tmp_path / "logs"
    settings = {"metadata.log.max.record.bytes.between.snapshots": "2000", "log.dirs": str(logs)}
    with EmbeddedCluster({"first": 2}, settings) as cluster:
        create(cluster, *(f"topic-{number}" for number in range(20)))
        directory = logs / CLUSTER_METADATA_PARTITION
        newest = eventually(lambda: [each for each in list_snapshots(directory) if each.end_offset > 0])[-1]
        stream = Stream(spark, tmp_path / "checkpoint", controllers=cluster.controller, includeControlRecords=True)
        live = [row for rows in stream.run() for row in rows]
    files = batch(spark, path=logs, includeControlRecords=True)
    assert files[0]["type"] == "LEADER_CHANGE"
    assert offsets(live) == list(range(1, len(live) + 1))
    assert live == files[1 : len(live) + 1]
    of_snapshot = batch(spark, path=directory / snapshot_name(newest), includeControlRecords=True)
    assert "LEADER_CHANGE" not in {row["type"] for row in of_snapshot}


def test_a_dead_controller_is_tried_once(cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture) -> None:
    """A stream asks for its offsets again and again. The leader of the last answer comes first."""
    controllers = f"127.0.0.1:{free_ports(1)[0]},{cluster.controller}"
    ends = [ask(controllers, lambda log: log.fetch(0)).high_watermark for _ in range(3)]
    assert ends == sorted(ends)
    assert caplog.text.count("Cannot connect to") == 1


def test_errors_name_the_option_and_the_remedy(spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    for options, says in [
        ({"controllers": cluster.bootstrap_servers}, "it is no controller of a KRaft quorum"),
        ({"contrllers": cluster.controller}, "has no option contrllers"),
        ({"path": "/", "mode": "ignore"}, "Option mode has the value 'ignore'"),
        ({"controllers": cluster.controller, "endingOffsets": '{"offset": 999999}'}, "beyond the high watermark"),
        ({"controllers": cluster.controller, "startingOffsets": '{"offset": 999999}'}, "has no offset 999999"),
    ]:
        with pytest.raises(Exception, match=says):
            batch(spark, **options)
    with pytest.raises(OptionError, match=r"A stream needs the option kafka\.bootstrap\.controllers"):
        MetadataSource({"path": str(tmp_path)}).streamReader(StructType())
