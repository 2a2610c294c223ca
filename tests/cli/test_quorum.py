"""``kraft quorum describe`` compared with kafka-metadata-quorum, on a quorum with scripted responses."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner, Result

from kraft.cli.main import cli
from kraft.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode
from kraft.wire.uuids import ZERO_UUID
from tests.support.apache_process import APACHE_4
from tests.support.apache_tool import METADATA_QUORUM, apache_tool
from tests.support.node_process import OURS, Kind, running_node
from tests.support.stub_cluster import StubCluster, stub_cluster

NEITHER = "Give one of --status and --replication, as in: kraft quorum describe --status"
DIRECTORY = UUID(int=77)
NOW_MS = 1_795_270_804_669


def quorum(*voters: ReplicaState, observers: tuple[ReplicaState, ...] = (), leader_id: int = 1) -> PartitionData:
    return PartitionData(
        leader_id=leader_id,
        leader_epoch=7,
        high_watermark=400,
        current_voters=list(voters),
        observers=list(observers),
    )


def replica(
    node_id: int,
    end_offset: int = 400,
    *,
    fetched: int = NOW_MS,
    caught_up: int = NOW_MS,
    directory: UUID = ZERO_UUID,
) -> ReplicaState:
    return ReplicaState(node_id, directory, end_offset, fetched, caught_up)


QUORUMS = {
    "alone": quorum(replica(1)),
    "a follower behind": quorum(
        replica(3, 395, fetched=NOW_MS - 20, caught_up=NOW_MS - 700),
        replica(1),
        replica(2, 399, caught_up=NOW_MS - 30),
        observers=(replica(4, 380, caught_up=NOW_MS - 9000), replica(5, -1, fetched=-1, caught_up=-1)),
    ),
    "a follower never caught up": quorum(replica(1), replica(2, 0, fetched=-1, caught_up=-1)),
    "a leader that does not know its own time": quorum(replica(1, caught_up=-1), replica(2, 390)),
    "all level, the leader last": quorum(replica(2), replica(3, caught_up=NOW_MS - 5), replica(1)),
    "directories": quorum(
        replica(1, directory=DIRECTORY), replica(2, directory=DIRECTORY), observers=(replica(9, directory=DIRECTORY),)
    ),
}
NODES = [Node(1, [Listener("CONTROLLER", "127.0.0.1", 9093), Listener("EXTRA", "::1", 9094)])]


@contextmanager
def cluster_of(partition: PartitionData, version: int = 2) -> Iterator[StubCluster]:
    nodes = NODES if version >= 2 else []

    def answer(_: object) -> DescribeQuorumResponse:
        return DescribeQuorumResponse(topics=[TopicData("__cluster_metadata", [partition])], nodes=nodes)

    with stub_cluster({ApiKey.DESCRIBE_QUORUM: (version, answer)}) as cluster:
        yield cluster


def run(*arguments: str) -> Result:
    return CliRunner(catch_exceptions=False).invoke(cli, ["quorum", *arguments])


def described(cluster: StubCluster, *arguments: str) -> str:
    result = run("--bootstrap-server", cluster.bootstrap_servers, "describe", *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_status() -> None:
    with cluster_of(QUORUMS["a follower behind"]) as cluster:
        endpoints = '"endpoints": ["CONTROLLER://127.0.0.1:9093", "EXTRA://[::1]:9094"]'
        assert described(cluster, "--status").splitlines() == [
            "ClusterId:              MkU3OEVBNTcwNTJENDM2Qk",
            "LeaderId:               1",
            "LeaderEpoch:            7",
            "HighWatermark:          400",
            "MaxFollowerLag:         5",
            "MaxFollowerLagTimeMs:   700",
            f'CurrentVoters:          [{{"id": 3}}, {{"id": 1, {endpoints}}}, {{"id": 2}}]',
            'CurrentObservers:       [{"id": 4}, {"id": 5}]',
        ]


def test_replication() -> None:
    with cluster_of(QUORUMS["a follower never caught up"]) as cluster:
        assert described(cluster, "--replication").splitlines() == [
            "NodeId\tDirectoryId           \tLogEndOffset\tLag\tLastFetchTimestamp\tLastCaughtUpTimestamp\tStatus  \t",
            "1     \tAAAAAAAAAAAAAAAAAAAAAA\t400         \t0  \t1795270804669     \t1795270804669        \tLeader  \t",
            "2     \tAAAAAAAAAAAAAAAAAAAAAA\t0           \t400\t-1                \t-1                   \tFollower\t",
        ]


def test_a_controller_serves_the_request() -> None:
    with cluster_of(QUORUMS["alone"]) as cluster:
        result = run("--bootstrap-controller", cluster.bootstrap_controllers, "describe", "--status")
    assert (result.exit_code, result.stdout.splitlines()[1]) == (0, "LeaderId:               1")


@pytest.mark.parametrize("option", ["-b", "--bootstrap-server", "-C", "--bootstrap-controller"])
@pytest.mark.parametrize("command", [("quorum", "describe", "--status"), ("features", "describe")])
def test_servers_are_taken_before_and_behind_the_subcommand(command: tuple[str, ...], option: str) -> None:
    """Apache Kafka's tools have them before it; all other commands here have them behind it."""
    group, *subcommand = command
    with cluster_of(QUORUMS["alone"]) as cluster:
        address = (
            cluster.bootstrap_controllers if option in ("-C", "--bootstrap-controller") else cluster.bootstrap_servers
        )
        before, behind, both = (
            CliRunner().invoke(cli, arguments)
            for arguments in (
                [group, option, address, *subcommand],
                [group, *subcommand, option, address],
                [group, "-b", "nowhere.invalid:1", *subcommand, option, address],
            )
        )
    assert before.exit_code == 0, before.output
    assert (behind.exit_code, behind.output) == (0, before.output)
    assert (both.exit_code, both.output) == (0, before.output), "the nearer one is meant"


@pytest.mark.parametrize(
    "command", [["quorum", "describe", "--status"], ["features", "describe"], ["cluster", "cluster-id"]]
)
def test_brokers_and_controllers_together_are_refused(command: list[str]) -> None:
    """kafka-metadata-quorum: the two options exclude each other."""
    result = CliRunner().invoke(cli, [*command, "-b", "localhost:1", "-C", "localhost:2"])
    assert "Give one of --bootstrap-server and --bootstrap-controller." in result.output
    assert result.exit_code != 0


def test_an_error_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraft.cli.quorum.TIMEOUT_S", 1.0)  # a topic that is about to appear gets the request again
    refused = PartitionData(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    with cluster_of(refused) as cluster:
        result = run("--bootstrap-server", cluster.bootstrap_servers, "describe", "--status")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in result.stderr


def test_a_quorum_without_a_leader_gets_the_request_again() -> None:
    answers = iter([PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER), QUORUMS["alone"]])

    def answer(_: object) -> DescribeQuorumResponse:
        return DescribeQuorumResponse(topics=[TopicData("__cluster_metadata", [next(answers)])])

    with stub_cluster({ApiKey.DESCRIBE_QUORUM: (2, answer)}) as cluster:
        assert "LeaderEpoch:            7\n" in described(cluster, "--status")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], NEITHER),
        (["--status", "--replication"], NEITHER),
        (["--status", "--human-readable"], "--human-readable goes with --replication."),
    ],
)
def test_options_that_do_not_go_together(options: list[str], why: str) -> None:
    command = [sys.executable, "-m", "kraft", "quorum", "describe", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, f"Error: {why}\n")


@pytest.mark.interop
@pytest.mark.parametrize("name", QUORUMS)
@pytest.mark.parametrize("option", ["--status", "--replication"])
def test_beside_apaches_tool(name: str, option: str) -> None:
    with cluster_of(QUORUMS[name]) as cluster:
        theirs = apache_tool(METADATA_QUORUM, "--bootstrap-server", cluster.bootstrap_servers, "describe", option)
        assert described(cluster, option) == theirs


@pytest.mark.interop
@pytest.mark.parametrize("version", [0, 1])
def test_beside_apaches_tool_on_an_older_cluster(version: int) -> None:
    with cluster_of(QUORUMS["a follower behind"], version) as cluster:
        for option in ("--status", "--replication"):
            theirs = apache_tool(METADATA_QUORUM, "--bootstrap-server", cluster.bootstrap_servers, "describe", option)
            assert described(cluster, option) == theirs


@pytest.mark.interop
def test_human_readable_times_beside_apaches_tool() -> None:
    def plain(text: str) -> Any:
        return [re.split(r"\s*\t", re.sub(r"\d+ ms ago", "N ms ago", line)) for line in text.splitlines()]

    with cluster_of(QUORUMS["a follower behind"]) as cluster:
        arguments = ("describe", "--replication", "--human-readable")
        theirs = apache_tool(METADATA_QUORUM, "--bootstrap-controller", cluster.bootstrap_controllers, *arguments)
        assert plain(described(cluster, *arguments[1:])) == plain(theirs)


@pytest.mark.interop
@pytest.mark.parametrize("kind", [APACHE_4, OURS], ids=["Apache Kafka", "ours"])
def test_both_tools_on_a_real_node(tmp_path: Path, kind: Kind) -> None:
    """The log of an idle quorum grows, so offsets and times are not compared."""
    with running_node(tmp_path / "node", kind) as node:
        for option in ("--status", "--replication"):
            for role, address in (("server", node.bootstrap_servers), ("controller", node.controller_address)):
                theirs = apache_tool(METADATA_QUORUM, f"--bootstrap-{role}", address, "describe", option)
                ours = run(f"--bootstrap-{role}", address, "describe", option)
                assert ours.exit_code == 0, ours.stderr
                assert _without_numbers_that_grow(ours.stdout) == _without_numbers_that_grow(theirs)


def _without_numbers_that_grow(text: str) -> list[str]:
    text = re.sub(r"(HighWatermark: +)\d+", r"\1", text)
    return [re.sub(r"\t\d+ *(?=\t)", "\t", line) for line in text.splitlines()]
