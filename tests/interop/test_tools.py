"""Apache Kafka's own tools, of both versions, on a quorum of ours: their requests, and their output for its files."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.traffic import Traffic
from tests.support.apache_process import APACHE_3, APACHE_4, Apache
from tests.support.apache_tool import (
    ACLS,
    CLIENT_METRICS,
    CONFIGS,
    DUMP_LOG,
    FEATURES,
    LOG_DIRS,
    METADATA_QUORUM,
    REASSIGNMENT,
    TOPICS,
    apache_tool,
    apache_tool_complaint,
    metadata_shell,
)
from tests.support.cluster import Cluster, members, running_cluster
from tests.support.cluster_id import CLUSTER_ID
from tests.support.eventually import eventually
from tests.support.node_process import OURS, Ours, running_node
from tests.support.quorum_view import METADATA_TOPIC, MetadataLogFiles, wait_for_leader

pytestmark = pytest.mark.interop

DUMP_LOGS = {APACHE_3: "kafka.tools.DumpLogSegments", APACHE_4: DUMP_LOG}
COMPLAINT = re.compile(r"isvalid: false|[Mm]ismatch|out of order|[Nn]on-consecutive|[Ee]rror|Exception")
TOPIC_COUNT = 30
TIMEOUT_S = 60.0
BOTH_LINES = pytest.mark.parametrize("apache", [APACHE_3, APACHE_4], ids=lambda kind: kind.version)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three controllers that have written snapshots, and a broker."""
    directory = tmp_path_factory.mktemp("tools")
    nodes = members(controllers=[OURS] * 3, brokers=[OURS])
    with running_cluster(directory, nodes, metadata_log_max_record_bytes_between_snapshots="3000") as cluster:
        traffic = Traffic(cluster.bootstrap_servers)
        for number in range(TOPIC_COUNT):
            traffic.create(f"topic-{number}", retention_ms=str(1_000_000 + number))
        for voter in cluster.voters:
            eventually(lambda voter=voter: list(metadata_directory(cluster, voter).glob("*.checkpoint")), TIMEOUT_S)
        yield cluster


def metadata_directory(cluster: Cluster, node_id: int) -> Path:
    return cluster.nodes[node_id].log_directory / f"{METADATA_TOPIC}-0"


def bootstrap(cluster: Cluster, option: str) -> tuple[str, str]:
    if option == "--bootstrap-server":
        return option, cluster.bootstrap_servers
    return option, ",".join(cluster.nodes[voter].controller_address for voter in cluster.voters)


def fields(text: str) -> dict[str, str]:
    """``Name:   value`` by line."""
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


@BOTH_LINES
@pytest.mark.parametrize("option", ["--bootstrap-server", "--bootstrap-controller"])
def test_metadata_quorum(cluster: Cluster, apache: Apache, option: str) -> None:
    """KIP-836: the status and the replication of the quorum, from brokers and from controllers."""
    view = wait_for_leader(cluster)
    status = fields(apache_tool(METADATA_QUORUM, *bootstrap(cluster, option), "describe", "--status", kind=apache))
    assert status["ClusterId"] == CLUSTER_ID
    assert (int(status["LeaderId"]), int(status["LeaderEpoch"])) == (view.leader_id, view.epoch)
    assert int(status["HighWatermark"]) >= view.high_watermark
    voters = {voter["id"]: voter["endpoints"] for voter in json.loads(status["CurrentVoters"])}
    assert voters == {voter: [f"CONTROLLER://{cluster.nodes[voter].controller_address}"] for voter in cluster.voters}
    assert [observer["id"] for observer in json.loads(status["CurrentObservers"])] == cluster.brokers

    table = apache_tool(METADATA_QUORUM, *bootstrap(cluster, option), "describe", "--replication", kind=apache)
    head, *rows = [line.split() for line in table.splitlines()]
    replicas = {int(row[0]): dict(zip(head, row, strict=True)) for row in rows}
    assert {node_id: row["Status"] for node_id, row in replicas.items()} == {
        node_id: "Leader" if node_id == view.leader_id else "Follower" if node_id in cluster.voters else "Observer"
        for node_id in cluster.nodes
    }
    assert all(int(row["LogEndOffset"]) >= view.high_watermark for row in replicas.values())


@BOTH_LINES
@pytest.mark.parametrize("option", ["--bootstrap-server", "--bootstrap-controller"])
def test_static_voters_are_not_changed(cluster: Cluster, apache: Apache, option: str, tmp_path: Path) -> None:
    """KIP-853: with kraft.version 0 the tool gets UNSUPPORTED_VERSION from each node, with the reason."""
    directory_id = "BBBBBBBBBBBBBBBBBBBBBQ"
    (tmp_path / "meta.properties").write_text(
        f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=9\ndirectory.id={directory_id}\n"
    )
    properties = tmp_path / "controller.properties"
    properties.write_text(
        "process.roles=controller\nnode.id=9\ncontroller.listener.names=CONTROLLER\n"
        "controller.quorum.bootstrap.servers=127.0.0.1:1\nlisteners=CONTROLLER://127.0.0.1:1\n"
        f"advertised.listeners=CONTROLLER://127.0.0.1:1\nlog.dirs={tmp_path}\n"
    )
    remove = ("remove-controller", "--controller-id", "1", "--controller-directory-id")
    for arguments, why in (
        (("--command-config", str(properties), *bootstrap(cluster, option), "add-controller"), "UnsupportedVersion"),
        ((*bootstrap(cluster, option), *remove, directory_id), "UnsupportedVersion"),
        ((*bootstrap(cluster, option), *remove, "A" * 22), "InvalidRequest"),
    ):
        said = apache_tool_complaint(METADATA_QUORUM, *arguments, kind=apache)
        assert f"org.apache.kafka.common.errors.{why}Exception" in said
        assert "kraft.version 1, and it is 0" in said or "A voter needs an id and a directory" in said


@BOTH_LINES
@pytest.mark.parametrize(
    "arguments", [["--list"], ["--add", "--allow-principal", "User:ann", "--operation", "Read", "--topic", "t"]]
)
def test_acls(cluster: Cluster, apache: Apache, arguments: list[str]) -> None:
    """AclApis without an authorizer: the tool fails at once with the reason."""
    ask = (*bootstrap(cluster, "--bootstrap-server"), *arguments)
    tool = ACLS if apache is APACHE_4 else "kafka.admin.AclCommand"
    said = apache_tool(tool, *ask, kind=apache, status=1)
    assert "org.apache.kafka.common.errors.SecurityDisabledException: No Authorizer is configured" in said


@BOTH_LINES
def test_client_metrics(cluster: Cluster, apache: Apache) -> None:
    """KIP-714: the tool sets, lists, describes and deletes a subscription."""
    where, name = ("--bootstrap-server", cluster.bootstrap_servers), f"of-{apache.version}"
    apache_tool(
        CLIENT_METRICS, *where, "--alter", "--name", name, "--metrics", "a.,b.", "--interval", "500", kind=apache
    )
    assert name in apache_tool(CLIENT_METRICS, *where, "--list", kind=apache).split()
    described = apache_tool(CLIENT_METRICS, *where, "--describe", "--name", name, kind=apache)
    assert {"metrics=a.,b.", "interval.ms=500"} <= set(described.split())
    apache_tool(CLIENT_METRICS, *where, "--delete", "--name", name, kind=apache)
    assert name not in apache_tool(CLIENT_METRICS, *where, "--list", kind=apache).split()


@BOTH_LINES
def test_levels_of_loggers(cluster: Cluster, apache: Apache) -> None:
    """KIP-412: kafka-configs describes and changes the levels of a running broker."""
    (broker,) = cluster.brokers
    ask = (CONFIGS, "--bootstrap-server", cluster.bootstrap_servers, "--entity-type", "broker-loggers")
    ask = (*ask, "--entity-name", str(broker))
    level = "ERROR" if apache is APACHE_3 else "DEBUG"
    apache_tool(*ask, "--alter", "--add-config", f"kraft.maintenance={level}", kind=apache)
    described = apache_tool(*ask, "--describe", kind=apache)
    assert re.search(rf"^ *kraft\.maintenance={level} ", described, re.MULTILINE)


@BOTH_LINES
def test_a_replica_moves_between_directories(tmp_path: Path, apache: Apache) -> None:
    """KIP-113 and KIP-73: the tool sets the rates, moves the replica, and at last removes the rates."""
    one, other = tmp_path / "node" / "data", tmp_path / "node" / "other"
    with running_node(tmp_path / "node", OURS, log_dirs=f"{one},{other}") as node:
        traffic = Traffic(node.bootstrap_servers)
        traffic.create("moved")
        traffic.write("moved", 100)
        (source,) = (each for each in (one, other) if (each / "moved-0").exists())
        target = other if source == one else one
        replica = {"topic": "moved", "partition": 0, "replicas": [1], "log_dirs": [str(target)]}
        plan = tmp_path / "plan.json"
        plan.write_text(json.dumps({"version": 1, "partitions": [replica]}))
        where = ("--bootstrap-server", node.bootstrap_servers)
        by_plan = (*where, "--reassignment-json-file", str(plan))
        rates = ("--throttle", "50000000", "--replica-alter-log-dirs-throttle", "50000000")
        apache_tool(REASSIGNMENT, *by_plan, "--execute", *rates, kind=apache)
        eventually(lambda: (target / "moved-0").exists() and not (source / "moved-0").exists(), TIMEOUT_S)
        described = apache_tool(LOG_DIRS, *where, "--describe", "--topic-list", "moved", kind=apache)
        (broker,) = json.loads(described.splitlines()[-1])["brokers"]
        held = {each["logDir"]: each["partitions"] for each in broker["logDirs"]}
        assert held[str(source)] == []
        assert [(each["partition"], each["isFuture"], each["offsetLag"]) for each in held[str(target)]] == [
            ("moved-0", False, 0)
        ]
        verified = apache_tool(REASSIGNMENT, *by_plan, "--verify", kind=apache)
        assert "Reassignment of replica moved-0-1 completed successfully." in verified
        rate = apache_tool(CONFIGS, *where, "--entity-type", "brokers", "--entity-name", "1", "--describe", kind=apache)
        assert "replica.alter.log.dirs.io.max.bytes.per.second" not in rate
        traffic.assert_all_is_there("moved")


@BOTH_LINES
def test_topics(cluster: Cluster, apache: Apache) -> None:
    topic = f"made-by-{apache.version}"
    ask = (TOPICS, *bootstrap(cluster, "--bootstrap-server"))
    apache_tool(*ask, "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=99999", kind=apache)
    described = apache_tool(*ask, "--describe", "--topic", topic, kind=apache)
    assert "PartitionCount: 2" in described
    assert "retention.ms=99999" in described
    apache_tool(*ask, "--delete", "--topic", topic, kind=apache)
    assert topic not in apache_tool(*ask, "--list", kind=apache).split()


@BOTH_LINES
@pytest.mark.parametrize("option", ["--bootstrap-server", "--bootstrap-controller"])
def test_features(tmp_path: Path, apache: Apache, option: str) -> None:
    """KIP-584: a level that every node has is raised to; one that a node lacks is refused, and changes nothing."""
    older = Ours(release="3.8-IV0")
    with running_cluster(tmp_path, members(controllers=[older] * 3, brokers=[older])) as cluster:
        ask = (FEATURES, *bootstrap(cluster, option))

        def level() -> str:
            described = apache_tool(*ask, "describe", kind=apache)
            found = re.search(r"Feature: metadata\.version\s.*FinalizedVersionLevel: (\S+)", described)
            assert found is not None, described
            return found[1]

        assert level() == "3.8-IV0"
        for newer in ("metadata.version=31", "kraft.version=1"):
            apache_tool(*ask, "upgrade", "--feature", newer, kind=apache, status=1)
        assert level() == "3.8-IV0"
        apache_tool(*ask, "upgrade", "--metadata", "3.9", kind=apache)
        assert level() == "3.9-IV0"


@BOTH_LINES
def test_dump_log_of_segments_and_snapshots(cluster: Cluster, apache: Apache, tmp_path: Path) -> None:
    """Of every node: all that is committed, topic by topic."""
    committed = wait_for_leader(cluster).high_watermark
    unfinished = shutil.ignore_patterns("*.tmp", "*.part")  # they vanish while others are copied
    for node_id, node in cluster.nodes.items():
        eventually(lambda node=node: MetadataLogFiles.read(node.log_directory).end_offset >= committed, TIMEOUT_S)
        copied = shutil.copytree(metadata_directory(cluster, node_id), tmp_path / str(node_id), ignore=unfinished)
        segments = ",".join(map(str, sorted(copied.glob("*.log"))))
        dumped = apache_tool(DUMP_LOGS[apache], "--cluster-metadata-decoder", "--files", segments, kind=apache)
        assert COMPLAINT.search(dumped) is None
        assert {f"topic-{number}" for number in range(TOPIC_COUNT)} <= topics_in(dumped)
        assert f"baseOffset: {committed - 1} " in dumped or f"lastOffset: {committed - 1} " in dumped

        snapshot = max(copied.glob("*.checkpoint"))
        dumped = apache_tool(DUMP_LOGS[apache], "--cluster-metadata-decoder", "--files", str(snapshot), kind=apache)
        assert COMPLAINT.search(dumped) is None
        assert f"Snapshot end offset: {int(snapshot.name[:20])}, epoch: {int(snapshot.name[21:31])}" in dumped
        assert topics_in(dumped)


def topics_in(dumped: str) -> set[str]:
    records = re.findall(r'payload: (\{"type":"TOPIC_RECORD".*)$', dumped, re.MULTILINE)
    return {json.loads(record)["data"]["name"] for record in records}


@BOTH_LINES
def test_metadata_shell_on_a_snapshot(cluster: Cluster, apache: Apache, tmp_path: Path) -> None:
    snapshot = shutil.copy(max(metadata_directory(cluster, 1).glob("*.checkpoint")), tmp_path)
    listed = metadata_shell(str(snapshot), "ls", "image/topics/byName", until=bool, kind=apache).split()
    assert "topic-0" in listed
    assert all(re.fullmatch(r"topic-\d+", name) for name in listed)
