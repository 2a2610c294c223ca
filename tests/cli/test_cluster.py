"""``kraft cluster`` compared with kafka-cluster, on a cluster with scripted responses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from kraft.cli.main import cli
from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from kraft.messages.registry import ApiKey
from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.messages.unregister_broker_response import UnregisterBrokerResponse
from kraft.wire.errors import ErrorCode
from tests.support.apache_tool import CLUSTER, apache_tool
from tests.support.cluster_id import CLUSTER_ID
from tests.support.stub_cluster import Answers, StubCluster, stub_cluster

BROKERS = [
    DescribeClusterBroker(12345, "a-long-host-name.example.org", 9, "rack-with-a-long-name", is_fenced=True),
    DescribeClusterBroker(1, "127.0.0.1", 19092, None),
    DescribeClusterBroker(3, "::1", 19093, "in-the-cellar"),
]
CONTROLLERS = [DescribeClusterBroker(7, "127.0.0.1", 19094)]


def describe(request: DescribeClusterRequest) -> DescribeClusterResponse:
    known = [broker for broker in BROKERS if request.include_fenced_brokers or not broker.is_fenced]
    asks_for_brokers = request.endpoint_type == 1
    return DescribeClusterResponse(
        endpoint_type=request.endpoint_type,
        cluster_id=CLUSTER_ID,
        controller_id=1,
        brokers=known if asks_for_brokers else CONTROLLERS,
    )


def unregister(request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    if request.broker_id == 3:
        return UnregisterBrokerResponse()
    return UnregisterBrokerResponse(error_code=ErrorCode.BROKER_ID_NOT_REGISTERED, error_message="who is that?")


@pytest.fixture
def cluster() -> Iterator[StubCluster]:
    answers: Answers = {ApiKey.DESCRIBE_CLUSTER: (2, describe), ApiKey.UNREGISTER_BROKER: (0, unregister)}
    with stub_cluster(answers) as cluster:
        yield cluster


def run(cluster: StubCluster, *arguments: str) -> Result:
    brokers = [] if "--bootstrap-controller" in arguments else ["--bootstrap-server", cluster.bootstrap_servers]
    command = ["cluster", *arguments, *brokers]
    return CliRunner(catch_exceptions=False).invoke(cli, command)


def test_the_id(cluster: StubCluster) -> None:
    assert run(cluster, "cluster-id").output == "Cluster ID: MkU3OEVBNTcwNTJENDM2Qk\n"


def test_endpoints(cluster: StubCluster) -> None:
    assert run(cluster, "list-endpoints").output.splitlines() == [
        "ID         HOST      PORT       RACK          STATE      ENDPOINT_TYPE  ",
        "1          127.0.0.1 19092      null          unfenced   broker         ",
        "3          ::1       19093      in-the-cellar unfenced   broker         ",
    ]
    assert run(cluster, "list-endpoints", "--include-fenced-brokers").output.count(" fenced ") == 1


def test_endpoints_of_controllers(cluster: StubCluster) -> None:
    result = run(cluster, "list-endpoints", "--bootstrap-controller", cluster.bootstrap_controllers)
    assert result.output.splitlines() == [
        "ID         HOST      PORT       RACK       ENDPOINT_TYPE  ",
        "7          127.0.0.1 19094      null       controller     ",
    ]
    arguments = ("--include-fenced-brokers", "--bootstrap-controller", cluster.bootstrap_controllers)
    assert run(cluster, "list-endpoints", *arguments).exit_code == 2


def test_a_broker_is_unregistered(cluster: StubCluster) -> None:
    assert run(cluster, "unregister", "--id", "3").output == "Broker 3 is no longer registered.\n"
    refused = run(cluster, "unregister", "--id", "4")
    assert (refused.exit_code, refused.stderr) == (1, "Error: BROKER_ID_NOT_REGISTERED: who is that?\n")


def test_a_cluster_that_is_too_old_is_one_line() -> None:
    with stub_cluster({ApiKey.DESCRIBE_CLUSTER: (1, describe)}) as cluster:
        result = run(cluster, "list-endpoints", "--include-fenced-brokers")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith("Error: The cluster is too old for this: ")


@pytest.mark.interop
@pytest.mark.parametrize(
    "arguments",
    [
        ("cluster-id",),
        ("list-endpoints",),
        ("list-endpoints", "--include-fenced-brokers"),
        ("unregister", "--id", "3"),
    ],
    ids=" ".join,
)
def test_beside_apaches_tool(cluster: StubCluster, arguments: tuple[str, ...]) -> None:
    theirs = apache_tool(CLUSTER, *arguments, "--bootstrap-server", cluster.bootstrap_servers)
    assert run(cluster, *arguments).output == theirs
