"""Our nodes and Apache Kafka 4.3's at the newest metadata.version of that line, as controllers and as brokers."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

from tests.interop.mixed import LIMIT_S, TIMEOUTS, end_leader, name_of
from tests.interop.traffic import Traffic
from tests.support.apache_process import APACHE_4
from tests.support.apache_tool import FEATURES, apache_tool
from tests.support.cluster import BOTH, BROKER, Cluster, Member, members, running_cluster
from tests.support.node_process import OURS, Kind, Ours, environment
from tests.support.quorum_view import assert_equal_logs
from tests.support.topic_creator import TopicCreator, assert_topics_are_there

pytestmark = pytest.mark.interop

NEWEST = {"group.version": "1", "metadata.version": "4.3-IV0", "share.version": "1", "transaction.version": "2"}
OLDEST = dict.fromkeys(NEWEST, "0") | {"metadata.version": "3.9-IV0"}
UPGRADED = (
    "group.version was upgraded to 1.\n"
    "metadata.version was upgraded to 30.\n"
    "share.version was upgraded to 1.\n"
    "transaction.version was upgraded to 2.\n"
)
FINALIZED = re.compile(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)")
CREATED_BETWEEN_KILLS = 5
MOST_KILLS = 12


def kraft(*arguments: str) -> str:
    command = [sys.executable, "-m", "kraft", *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def levels(cluster: Cluster) -> list[dict[str, str]]:
    """The finalized levels of the raised features that each broker names, by its own kind of tool."""
    said = []
    for broker in cluster.brokers:
        servers = ("--bootstrap-server", cluster.nodes[broker].bootstrap_servers)
        is_ours = isinstance(cluster.members[broker].kind, Ours)
        described = kraft("features", *servers, "describe") if is_ours else apache_tool(FEATURES, *servers, "describe")
        found = dict(FINALIZED.findall(described))
        said.append({name: found[name] for name in NEWEST})
    return said


@pytest.mark.parametrize("voters", [[OURS, OURS, APACHE_4], [OURS, APACHE_4, APACHE_4]], ids=["two of ours", "one"])
def test_a_mixed_cluster_goes_to_the_newest_level(tmp_path: Path, voters: Sequence[Kind]) -> None:
    """KIP-778: the cluster is upgraded while it runs. Controllers of both kinds then lead, and write equal logs."""
    with running_cluster(tmp_path, members(voters, [OURS, APACHE_4]), **TIMEOUTS) as cluster:
        traffic = Traffic(cluster.bootstrap_servers)
        traffic.create("before", replication_factor=2)
        traffic.write("before", 20)
        assert levels(cluster) == [OLDEST, OLDEST]
        features = ("group.version=1", "share.version=1", "transaction.version=2")
        wanted = ("--metadata", "4.3", *(option for each in features for option in ("--feature", each)))
        assert kraft("features", "--bootstrap-server", cluster.bootstrap_servers, "upgrade", *wanted) == UPGRADED

        brokers = [cluster.nodes[broker].bootstrap_servers for broker in cluster.brokers]
        won: set[str] = set()
        with TopicCreator(brokers, pause_s=0.1) as creator:
            for number in range(MOST_KILLS):
                creator.wait_for_more(CREATED_BETWEEN_KILLS, LIMIT_S)
                won.add(end_leader(cluster, creator, is_kill=number % 2 == 0).elected)
                if won == {name_of(kind) for kind in voters} and number >= 3:
                    break
        assert won == {name_of(kind) for kind in voters}
        for broker in cluster.brokers:
            cluster.nodes[broker].stop()
            cluster.start(broker)
        assert levels(cluster) == [NEWEST, NEWEST]
        assert_topics_are_there(creator, brokers, LIMIT_S)
        traffic.create("after", partitions=4, replication_factor=2)
        traffic.write("after", 20)
        for topic in ("before", "after"):
            traffic.assert_all_is_there(topic)
        assert_equal_logs(cluster, LIMIT_S)


def test_our_broker_joins_a_cluster_that_apache_formatted(tmp_path: Path) -> None:
    """KIP-584: a broker registers if it supports all finalized levels. Apache's format finalizes two features, by
    default, that these nodes do not support.
    """
    without = ("eligible.leader.replicas.version=0", "streams.version=0")
    apache = attrs.evolve(APACHE_4, release="4.3", features=without)
    nodes = {1: Member(apache, BOTH), 2: Member(Ours(release="4.3"), BROKER)}
    with running_cluster(tmp_path, nodes) as cluster:
        assert levels(cluster) == [NEWEST, NEWEST]
        traffic = Traffic(cluster.bootstrap_servers)
        traffic.create("shared", partitions=4, replication_factor=2)
        traffic.write("shared", 20)
        traffic.assert_all_is_there("shared")
