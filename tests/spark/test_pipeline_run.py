"""``kraft pipeline`` on a real node: streams from it, its log directories, and the page."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio

from kraft.cli.main import main
from kraft.client.cluster import Cluster, open_cluster
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.metadata.image import ResourceType
from kraft.spark.pipeline.batches import Pipeline, silent
from kraft.spark.pipeline.inputs import log_directories
from kraft.spark.pipeline.report import cluster_report
from kraft.spark.pipeline.run import backfill
from kraft.spark.pipeline.store import ParquetStore, StoreError
from kraft.spark.pipeline.tables import TABLES
from kraft.testing.embedded import EmbeddedCluster
from tests.support.eventually import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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


def rows(store: ParquetStore, name: str) -> list[tuple[Any, ...]]:
    found = store.read(TABLES[name]).drop("batch", "day", "source").collect()
    return sorted(
        (tuple(bytes(each) if isinstance(each, bytearray) else each for each in row) for row in found), key=repr
    )


@pytest.mark.timeout(400)
def test_a_stream_and_a_backfill_make_the_same_tables(
    spark: SparkSession,
    tmp_path: Path,
    live: Live,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Rows of a live cluster and of its log directories overlap; each is there once, in any order of reading."""

    def kraft(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["kraft", "pipeline", *arguments])
        with pytest.raises(SystemExit) as exit:
            main()
        assert exit.value.code == 0, capsys.readouterr().err

    change_setting(live.cluster.bootstrap_servers, "5000")
    eventually(lambda: logged(live.directory, "IncrementalAlterConfigs"))
    streamed = str(tmp_path / "streamed")
    kraft("run", "-C", live.cluster.controller, "--events", live.directory, "--into", streamed, "--once")
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
    kraft("backfill", live.directory, "--into", streamed)
    directories = log_directories([live.directory])
    assert directories.cluster_id == live.cluster.cluster_id
    alone = ParquetStore(spark, str(tmp_path / "alone"))
    backfill(spark, Pipeline(alone), directories, silent)
    differing = [name for name in TABLES if rows(store, name) != rows(alone, name)]
    assert differing == []
    kraft("report", "--into", streamed, "-o", str(tmp_path / "page.html"))
    assert "orders" in (tmp_path / "page.html").read_text()
    report = cluster_report(store, live.cluster.cluster_id)
    assert {each.topic for each in report.leadership} == {"orders"}
    assert [each.details for each in report.changes if each.what == "setting set"] == [
        "retention.ms=6000 (was 5000)",
        "retention.ms=5000",
    ]
    assert {each.plane for each in report.latency} >= {"data"}
    assert report.quorum.terms[0].leader == 1


def test_a_directory_without_logs_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no metadata log, quorum journal or request log is here or below"):
        log_directories([str(tmp_path)])
    for node, cluster_id in (("a", "c1"), ("b", "c2")):
        directory = tmp_path / node
        (directory / "__cluster_metadata-0").mkdir(parents=True)
        (directory / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id=1\n")
    with pytest.raises(StoreError, match=r"different clusters: .*a is of c1, .*b is of c2"):
        log_directories([str(tmp_path / "a"), str(tmp_path / "b")])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--into", "x"], "Give -C HOST:PORT for the metadata"),
        (["run", "-C", "127.0.0.1:1", "--into", "x", "--once"], "127.0.0.1:1"),
        (["run", "--events", "nowhere", "--into", "x"], "nowhere: no such directory"),
        (["backfill", "nowhere", "--into", "x"], "'nowhere' does not exist"),
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
