"""``kraft pipeline`` on a real node: streams from it, its log directories, and the page."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from functools import partialmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio
from click.testing import CliRunner
from pyspark.sql.streaming.datasource import ReadAllAvailable

from kraft.cli.main import cli, main
from kraft.client.blocking import BlockingCluster
from kraft.client.cluster import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, Cluster, open_cluster
from kraft.client.consumer import Consumed, Consumer
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.metadata.image import ResourceType
from kraft.spark import session
from kraft.spark.pipeline.batches import ANSWERS, Pipeline
from kraft.spark.pipeline.delta_store import DeltaStore
from kraft.spark.pipeline.inputs import file_stream, log_directories, stream_options
from kraft.spark.pipeline.report import cluster_report
from kraft.spark.pipeline.run import query_name
from kraft.spark.pipeline.store import ParquetStore, StoreError, TableStore
from kraft.spark.pipeline.tables import TABLES
from kraft.spark.topic_options import topic_options
from kraft.spark.topic_stream import TopicStreamReader
from kraft.testing.embedded import EmbeddedCluster
from tests.spark.busy import BUSY, MAX_BUSY
from tests.spark.topics import running_topics
from tests.support.eventually import eventually

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


LIMIT_S = 60.0
REQUEST_LOG_TOPIC = "__kraft_request_log"


@attrs.frozen
class Live:
    """A node, and its directory."""

    cluster: EmbeddedCluster
    directory: str


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    directory = str(tmp_path / "node")
    settings = {
        "log.dirs": directory,
        "kraft.request.log": "file",
        "kraft.request.log.sample": "1",
        "kraft.request.log.roll.ms": "1",
    }
    with EmbeddedCluster({"orders": 2}, settings) as cluster:
        yield Live(cluster, directory)


def change_setting(bootstrap: str, value: str) -> None:
    async def ask() -> None:
        async with open_cluster(bootstrap, client_id="admin") as cluster:
            await alter(cluster)

    async def alter(cluster: Cluster) -> None:
        config = AlterableConfig(name="retention.ms", config_operation=0, value=value)
        resource = AlterConfigsResource(int(ResourceType.TOPIC), "orders", [config])
        response = await cluster.request(IncrementalAlterConfigsRequest(resources=[resource]))
        assert [each.error_code for each in response.responses] == [0]

    trio.run(ask)


def logged(directory: str, text: str) -> bool:
    """Whether a complete file of the request log has the text."""
    return any(text in path.read_text() for path in Path(directory).rglob("requests-*.jsonl"))


@pytest.fixture
def session_catalog(spark: SparkSession) -> Iterator[None]:
    """Delta sets the catalog of the session; later tests have Spark's again."""
    yield
    spark.conf.unset("spark.sql.catalog.spark_catalog")


def rows(store: TableStore, name: str) -> list[tuple[Any, ...]]:
    found = store.read(TABLES[name]).drop("batch", "day", "source").collect()
    return sorted(
        (tuple(bytes(each) if isinstance(each, bytearray) else each for each in row) for row in found), key=repr
    )


def main_unless_busy(capsys: pytest.CaptureFixture[str]) -> None:
    """Run ``kraft`` until it ends with status 0. A run that ended because the machine is busy is continued."""
    for _ in range(MAX_BUSY + 1):
        with pytest.raises(SystemExit) as exit:
            main()
        if not exit.value.code:
            return
        errors = capsys.readouterr().err
        assert BUSY in errors, errors
    pytest.fail(errors)


@pytest.mark.timeout(1800)
def test_a_stream_and_a_backfill_make_the_same_tables(
    spark: SparkSession,
    session_catalog: None,
    tmp_path: Path,
    live: Live,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Rows of a live cluster and of its log directories overlap; each is there once, in any order of reading.

    Each command makes the answers of the whole tables again. Here only the last one of each store does, and the first
    stream two of them: all others would be replaced unseen.
    """
    make = Pipeline.answer

    def kraft(*arguments: str, answers: Container[str] = ()) -> None:
        monkeypatch.setattr(sys, "argv", ["kraft", "pipeline", *arguments])
        monkeypatch.setattr(Pipeline, "answer", partialmethod(make, names=answers))
        main_unless_busy(capsys)

    change_setting(live.cluster.bootstrap_servers, "5000")
    eventually(lambda: logged(live.directory, "IncrementalAlterConfigs"))
    streamed = str(tmp_path / "streamed")
    followed = ("-C", live.cluster.controller, "--events", live.directory, "--into", streamed, "--once")
    kraft("run", *followed, answers=("partition_leadership", "changes"))
    assert re.search(r"answers +partition_leadership +2\n", capsys.readouterr().out)
    store = ParquetStore(spark, streamed)
    (change,) = store.read(TABLES["changes"]).where("what = 'setting set'").collect()
    found = [change[name] for name in ("resource", "name", "value", "controller", "client")]
    assert found == ["orders", "retention.ms", "5000", 1, "admin"]
    assert {row["leader"] for row in store.read(TABLES["partition_leadership"]).collect()} == {1}
    # The stream goes on where it was, and then the directories are added.
    change_setting(live.cluster.bootstrap_servers, "6000")
    kraft("run", "-C", live.cluster.controller, "--into", streamed, "--once")
    assert [row["value"] for row in store.read(TABLES["config_changes"]).orderBy("offset").collect()] == [
        "5000",
        "6000",
    ]
    kraft("backfill", live.directory, "--into", streamed, answers=ANSWERS)
    directories = log_directories([live.directory])
    assert directories.cluster_id == live.cluster.cluster_id
    # Another format has the same tables, of the directories alone.
    alone = str(tmp_path / "alone")
    kraft("backfill", live.directory, "--into", alone, "--table-format", "delta")
    page = tmp_path / "page.html"
    kraft("report", "--into", alone, "--table-format", "delta", "-o", str(page), answers=ANSWERS)
    assert "orders" in page.read_text()
    in_delta = DeltaStore(spark, alone)
    differing = [name for name in TABLES if rows(store, name) != rows(in_delta, name)]
    assert differing == []
    assert spark.read.format("delta").load(f"{alone}/partition_leadership").count() == 2
    report = cluster_report(store, live.cluster.cluster_id)
    assert {each.topic for each in report.leadership} == {"orders"}
    assert [each.details for each in report.changes if each.what == "setting set"] == [
        "retention.ms=6000 (was 5000)",
        "retention.ms=5000",
    ]
    assert {each.plane for each in report.latency} >= {"data"}
    assert report.quorum.terms[0].leader == 1


def lines_of(bootstrap: str, topic: str, ends: dict[int, int]) -> list[dict[str, Any]]:
    """Return the lines of a request log in a topic, below these offsets of its partitions."""

    async def read(cluster: Cluster) -> list[dict[str, Any]]:
        consumer = Consumer(cluster, topic)
        await consumer.start(EARLIEST_TIMESTAMP)
        found: list[Consumed] = []
        while any(consumer.positions[partition] < end for partition, end in ends.items()):
            found += await consumer.poll(1.0)
        return [json.loads(each.record.value or b"") for each in found if each.record.offset < ends[each.partition]]

    with BlockingCluster(bootstrap) as client:
        return client.call(read, LIMIT_S)


def test_a_request_log_in_a_topic_is_read_to_its_end(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line of the topic is one row, over two runs. The answers follow from the rows; another test makes them."""
    into = tmp_path / "tables"
    monkeypatch.setattr(Pipeline, "answer", lambda *_: None)

    def run(cluster: EmbeddedCluster) -> None:
        given = ["-b", cluster.bootstrap_servers, "--events", REQUEST_LOG_TOPIC]
        monkeypatch.setattr(sys, "argv", ["kraft", "pipeline", "run", *given, "--into", str(into), "--once"])
        main_unless_busy(capsys)

    def ends() -> dict[int, int]:
        """Return the offsets up to which the stream has read the topic."""
        newest = max((into / "_checkpoints" / "events1" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
        topics = json.loads(newest.read_text().splitlines()[-1])
        return {int(partition): end for partition, end in topics[REQUEST_LOG_TOPIC].items()}

    async def latest(cluster: Cluster) -> int:
        (topic,) = (await cluster.metadata([REQUEST_LOG_TOPIC])).topics
        wanted = {each.partition_index: LATEST_TIMESTAMP for each in topic.partitions}
        return sum((await cluster.offsets(REQUEST_LOG_TOPIC, wanted)).values()) if wanted else 0

    def has_more(cluster: EmbeddedCluster, than: dict[int, int]) -> bool:
        with BlockingCluster(cluster.bootstrap_servers) as client:
            return client.call(latest, LIMIT_S) > sum(than.values())

    settings = {"kraft.request.log": "topic", "kraft.request.log.sample": "1"}
    with EmbeddedCluster({"orders": 2}, settings) as cluster:
        eventually(lambda: has_more(cluster, {}))
        run(cluster)
        first = ends()
        eventually(lambda: has_more(cluster, first))
        run(cluster)
        assert sum(ends().values()) > sum(first.values())
        lines = lines_of(cluster.bootstrap_servers, REQUEST_LOG_TOPIC, ends())
    store = ParquetStore(spark, str(into))
    found = Counter(row["id"] for row in store.read(TABLES["requests"]).collect())
    assert found == Counter(
        f"{line['node']}-{line['start']}-{line['seq']}" for line in lines if line["kind"] == "request"
    )
    states = Counter(line["after"] for line in lines if line["kind"] == "transition")
    transitions = store.read(TABLES["quorum_transitions"]).where("after is not null").collect()
    assert Counter(row["after"] for row in transitions) == states


def test_a_run_that_retention_overtook_goes_on_and_warns(caplog: pytest.LogCaptureFixture) -> None:
    """docs/pipeline.md: "The next run goes on", and "Nothing is dropped silently"."""
    with running_topics() as topics:
        topics.create(REQUEST_LOG_TOPIC)
        topics.values(REQUEST_LOG_TOPIC, [str(number) for number in range(8)])
        reader = TopicStreamReader(topic_options(stream_options(topics.servers, REQUEST_LOG_TOPIC)))
        checkpoint = {REQUEST_LOG_TOPIC: {"0": 2}}
        topics.delete_records(REQUEST_LOG_TOPIC, 5)
        parts = reader.partitions(checkpoint, reader.latestOffset(checkpoint, ReadAllAvailable()))
        assert [value.as_py() for part in parts for rows in reader.read(part) for value in rows["value"]] == [
            b"5",
            b"6",
            b"7",
        ]
        assert f"cannot read offsets 2 to 8 of {REQUEST_LOG_TOPIC}-0, whose log has 5 to 8" in caplog.text
        reader.stop()


def test_a_topic_that_was_created_anew_is_read_from_its_start(tmp_path: Path) -> None:
    """Its offsets are not those of the checkpoint. The batches of the deleted topic keep their names."""
    root = str(tmp_path / "_checkpoints")
    stored: dict[str, int] = {}

    def query(topic_id: str = "", name: str = "raw_events") -> str:
        found = query_name(root, name, topic_id, lambda query: stored.get(query, -1))
        (tmp_path / "_checkpoints" / found).mkdir(parents=True, exist_ok=True)  # Spark does
        return found

    assert [query("a"), query("a"), query("b"), query("b")] == ["events1", "events1", "events2", "events2"]
    assert [query(), query()] == ["events3", "events3"], "a directory is no topic"
    assert [query(name="raw_metadata"), query(name="raw_metadata")] == ["metadata1", "metadata1"]
    stored["events4"] = 7
    assert query("b") == "events5", "the checkpoint of 4 is lost"
    shutil.rmtree(root)
    stored |= dict.fromkeys(["events1", "events2"], 0)
    assert query("b") == "events3"


def test_request_logs_that_come_later_are_followed(spark: SparkSession, tmp_path: Path) -> None:
    """Structured Streaming's guide: a source of files reads "files written in a directory as a stream of data". The
    directories may be written later too.
    """
    logs, found = tmp_path / "nodes, all", Counter[str]()

    def log(place: str, *names: str) -> None:
        (logs / place).mkdir(parents=True, exist_ok=True)
        for name in names:
            (logs / place / name).write_text(f"{place}/{name}\n")

    def take(rows: DataFrame, number: int) -> None:
        found.update(row["line"].decode() for row in rows.collect())

    def seen() -> list[str]:
        query.processAllAvailable()
        return sorted(found.elements())

    usual = "data/__cluster_metadata-0/request-log"
    log(f"first/{usual}", "requests-1.jsonl", "requests-2.jsonl.open")
    log("a/place/of/its/own", "requests-1.jsonl")
    stream = file_stream(spark, str(logs)).writeStream.foreachBatch(take)
    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        here = [f"a/place/of/its/own/{each}.jsonl" for each in ("requests-1", "requests-2")]
        assert seen() == [here[0], f"first/{usual}/requests-1.jsonl"]
        log(f"later/{usual}", "requests-1.jsonl")
        log("third/request-log", "requests-1.jsonl")
        log(f"first/{usual}", "requests-2.jsonl")
        log("a/place/of/its/own", "requests-2.jsonl")
        of_first = [f"first/{usual}/requests-{each}.jsonl" for each in (1, 2)]
        assert seen() == [*here, *of_first, f"later/{usual}/requests-1.jsonl", "third/request-log/requests-1.jsonl"]
    finally:
        query.stop()


def test_a_directory_without_logs_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no metadata log, quorum journal or request log is here or below"):
        log_directories([str(tmp_path)])
    for node, cluster_id in (("a", "c1"), ("b", "c2")):
        directory = tmp_path / node
        (directory / "__cluster_metadata-0").mkdir(parents=True)
        (directory / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id=1\n")
    with pytest.raises(StoreError, match=r"different clusters: .*a is of c1, .*b is of c2"):
        log_directories([str(tmp_path / "a"), str(tmp_path / "b")])


def test_directories_of_brokers_with_zookeeper_are_found(tmp_path: Path) -> None:
    """KIP-631: nodes with a quorum write version 1 of ``meta.properties``. Version 0 has ``cluster.id`` as well."""
    (tmp_path / "requests-1.jsonl").write_text("{}\n")
    (tmp_path / "meta.properties").write_text("version=0\ncluster.id=c1\nbroker.id=1\n")
    found = log_directories([str(tmp_path)])
    assert (found.cluster_id, found.events) == ("c1", [str(tmp_path / "requests-1.jsonl")])


def test_a_meta_properties_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "requests-1.jsonl").write_text("{}\n")
    (tmp_path / "meta.properties").write_text("cluster.id=\\u00zz\n")
    result = CliRunner().invoke(cli, ["pipeline", "backfill", str(tmp_path), "--into", str(tmp_path / "tables")])
    assert result.exit_code == 1
    assert f"Error: {tmp_path}/meta.properties: not a properties file" in result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--into", "x"], "Give -C HOST:PORT for the metadata"),
        (["run", "-C", "127.0.0.1:1", "--into", "x", "--once"], "127.0.0.1:1"),
        (["run", "--events", "nowhere", "--into", "x"], "nowhere: no such directory"),
        (["backfill", "nowhere", "--into", "x"], "'nowhere' does not exist"),
        (["compact", "--into", "x", "--conf", "spark.jars"], "spark.jars is not KEY=VALUE"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kraft", "pipeline", *arguments])
    with pytest.raises(SystemExit) as exit:
        main()
    assert exit.value.code == 1
    assert says in capsys.readouterr().err
    assert not (tmp_path / "x" / "raw_events").exists()


def test_a_master_elsewhere_gets_no_settings_of_a_local_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's documentation of ``spark.driver.host``: executors connect to it, so 127.0.0.1 would be their own host."""
    asked = []

    def session_on(master: str, name: str, settings: Mapping[str, str]) -> SparkSession:
        asked.append((master, dict(settings)))
        raise session.JavaMissing("no Java")

    monkeypatch.setattr(session, "session_on", session_on)
    arguments = ["pipeline", "compact", "--into", str(tmp_path), "--master", "spark://head:7077"]
    result = CliRunner().invoke(cli, arguments)
    assert (result.exit_code, asked) == (1, [("spark://head:7077", {})])


@pytest.mark.parametrize("command", ["report", "compact"])
def test_a_command_that_reads_makes_no_tables(tmp_path: Path, command: str) -> None:
    result = CliRunner().invoke(cli, ["pipeline", command, "--into", str(tmp_path / "misspelled")])
    assert result.exit_code == 1
    assert "no such directory; kraft pipeline backfill makes tables" in result.output
    assert not list(tmp_path.iterdir())
