"""Share groups (KIP-932) with Apache's own share consumer and tool, on a broker of ours."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka import admin as cka

from tests.support.apache_process import APACHE_4
from tests.support.apache_tool import CONSOLE_SHARE_CONSUMER, FEATURES, SHARE_GROUPS, apache_tool
from tests.support.cluster import Cluster, members, running_cluster
from tests.support.eventually import eventually
from tests.support.node_process import OURS

pytestmark = pytest.mark.interop

LIMIT_S = 120.0
RECORDS = 40
TOPIC = "orders"
GROUP = "shares"
SETTINGS = {
    "offsets_topic_num_partitions": "1",
    "group_share_heartbeat_interval_ms": "500",
    "group_share_min_heartbeat_interval_ms": "500",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A controller and a broker. The topic has one partition with records."""
    with running_cluster(tmp_path, members(controllers=[OURS], brokers=[OURS]), **SETTINGS) as cluster:
        apache_tool(
            FEATURES, "--bootstrap-server", cluster.bootstrap_servers, "upgrade", "--feature", "share.version=1"
        )
        admin = cka.AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([cka.NewTopic(TOPIC, 1, replication_factor=1)])[TOPIC].result(LIMIT_S)
        write(cluster, 0, RECORDS)
        yield cluster


def write(cluster: Cluster, first: int, end: int) -> None:
    producer = ck.Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for number in range(first, end):
        producer.produce(TOPIC, str(number).encode())
    assert producer.flush(LIMIT_S) == 0


def tool(cluster: Cluster, *options: str) -> str:
    return apache_tool(SHARE_GROUPS, "--bootstrap-server", cluster.bootstrap_servers, *options)


def described(cluster: Cluster, *options: str) -> list[list[str]]:
    """Return the lines of a description, without its head, as words."""
    lines = [line.split() for line in tool(cluster, "--describe", "--group", GROUP, *options).splitlines()]
    return [words for words in lines if words and words[0] == GROUP]


def lag(cluster: Cluster) -> str:
    return described(cluster, "--offsets")[0][-1]


@contextmanager
def console(cluster: Cluster, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A share consumer that acknowledges each record that it prints."""
    where = ("--bootstrap-server", cluster.bootstrap_servers, "--topic", TOPIC, "--group", GROUP)
    command = APACHE_4.java(CONSOLE_SHARE_CONSUMER, *where, *options)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read(cluster: Cluster, count: int) -> set[int]:
    """Return ``count`` records that a new member reads."""
    with console(cluster, "--max-messages", str(count), "--timeout-ms", str(round(LIMIT_S * 1000))) as process:
        out, _ = process.communicate(timeout=2 * LIMIT_S)
    return {int(line) for line in out.splitlines() if line.isdigit()}


def test_a_share_group_is_read_reset_and_deleted(cluster: Cluster) -> None:
    """kafka-console-share-consumer reads, and kafka-share-groups lists, describes, resets and deletes."""
    reset = tool(cluster, "--reset-offsets", "--group", GROUP, "--topic", TOPIC, "--to-earliest", "--execute")
    assert [GROUP, TOPIC, "0", "0"] in [line.split() for line in reset.splitlines()]
    assert read(cluster, RECORDS) == set(range(RECORDS))
    assert [line.split() for line in tool(cluster, "--list", "--state").splitlines()][1:] == [[GROUP, "Empty"]]
    assert lag(cluster) == "0"
    tool(cluster, "--reset-offsets", "--group", GROUP, "--topic", TOPIC, "--to-earliest", "--execute")
    assert described(cluster, "--offsets") == [[GROUP, TOPIC, "0", "0", str(RECORDS)]]
    tool(cluster, "--delete-offsets", "--group", GROUP, "--topic", TOPIC)
    assert described(cluster, "--offsets") == []
    tool(cluster, "--delete", "--group", GROUP)
    assert tool(cluster, "--list").split() == []


def test_two_members_share_a_partition(cluster: Cluster) -> None:
    """KIP-932: the number of members is not bounded by the number of partitions."""
    tool(cluster, "--reset-offsets", "--group", GROUP, "--topic", TOPIC, "--to-earliest", "--execute")
    with console(cluster), console(cluster):
        eventually(lambda: [words[-1] for words in described(cluster, "--members")] == [f"{TOPIC}:0"] * 2, LIMIT_S)
        state = described(cluster, "--state")[0]
        assert state[-2:] == ["Stable", "2"]
