"""Our nodes and Apache Kafka 4.3's at the newest metadata.version of that line, as controllers and as brokers."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.interop.mixed import LIMIT_S, TIMEOUTS, end_leader, name_of
from tests.interop.traffic import Traffic
from tests.support.apache_process import APACHE_4
from tests.support.apache_tool import FEATURES, apache_tool
from tests.support.cluster import Cluster, members, running_cluster
from tests.support.node_process import OURS, Kind, environment
from tests.support.quorum_view import assert_equal_logs
from tests.support.topic_creator import TopicCreator, assert_topics_are_there

pytestmark = pytest.mark.interop

NEWEST = "4.3-IV0"
FINALIZED = re.compile(r"Feature: metadata\.version\s.*FinalizedVersionLevel: (\S+)")
CREATED_BETWEEN_KILLS = 5
MOST_KILLS = 12


def kraft(*arguments: str) -> str:
    command = [sys.executable, "-m", "kraft", *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def levels(cluster: Cluster) -> set[str]:
    """The finalized level that each broker names, by its own kind of tool."""
    said = set()
    for broker in cluster.brokers:
        servers = ("--bootstrap-server", cluster.nodes[broker].bootstrap_servers)
        is_ours = cluster.members[broker].kind is OURS
        described = kraft("features", *servers, "describe") if is_ours else apache_tool(FEATURES, *servers, "describe")
        found = FINALIZED.search(described)
        assert found is not None, described
        said.add(found[1])
    return said


@pytest.mark.parametrize("voters", [[OURS, OURS, APACHE_4], [OURS, APACHE_4, APACHE_4]], ids=["two of ours", "one"])
def test_a_mixed_cluster_goes_to_the_newest_level(tmp_path: Path, voters: Sequence[Kind]) -> None:
    """KIP-778: the cluster is upgraded while it runs. Controllers of both kinds then lead, and write equal logs."""
    with running_cluster(tmp_path, members(voters, [OURS, APACHE_4]), **TIMEOUTS) as cluster:
        traffic = Traffic(cluster.bootstrap_servers)
        traffic.create("before", replication_factor=2)
        traffic.write("before", 20)
        assert levels(cluster) == {"3.9-IV0"}
        wanted = ("--metadata", "4.3", "--feature", "group.version=1")
        upgrade = kraft("features", "--bootstrap-server", cluster.bootstrap_servers, "upgrade", *wanted)
        assert upgrade == "group.version was upgraded to 1.\nmetadata.version was upgraded to 30.\n"

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
        assert levels(cluster) == {NEWEST}
        assert_topics_are_there(creator, brokers, LIMIT_S)
        traffic.create("after", partitions=4, replication_factor=2)
        traffic.write("after", 20)
        for topic in ("before", "after"):
            traffic.assert_all_is_there(topic)
        assert_equal_logs(cluster, LIMIT_S)
