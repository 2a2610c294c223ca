"""One directory, two implementations: each starts on the directory of the other, and installs the other's snapshots."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from tests.interop.traffic import Traffic
from tests.support.apache_process import APACHE_3, APACHE_4, Apache
from tests.support.cluster import BOTH, Cluster, Member, members, running_cluster
from tests.support.eventually import eventually
from tests.support.node_process import OURS, Kind
from tests.support.quorum_view import (
    METADATA_TOPIC,
    MetadataLogFiles,
    assert_equal_logs,
    wait_for_leader,
)

pytestmark = pytest.mark.interop

TOPIC = "orders"
PARTITIONS = 2
RECORDS = 100
GROUP = "readers"
TIMEOUT_S = 60.0
TRIM_TIMEOUT_S = 150.0
"""Apache Kafka looks for snapshots to delete once a minute."""
SMALL_SNAPSHOTS = {
    "metadata_log_max_record_bytes_between_snapshots": "3000",
    "metadata_max_retention_bytes": "1000",
}
LINES = (APACHE_3, APACHE_4)
LOADED_SNAPSHOT = r"(?:kraft.metadata: loaded|after downloading) snapshot \w+.(?:end_)?offset=(\d+)"
"""The log lines of our node and of Apache's about a leader's snapshot; our node also logs its own at its start."""


def metadata_directory(cluster: Cluster, node_id: int) -> Path:
    return cluster.nodes[node_id].log_directory / f"{METADATA_TOPIC}-0"


def snapshots(cluster: Cluster, node_id: int) -> list[int]:
    """The end offsets of the snapshots that the node has."""
    return sorted(int(path.name[:20]) for path in metadata_directory(cluster, node_id).glob("*.checkpoint"))


@pytest.mark.parametrize("apache", LINES, ids=lambda kind: kind.version)
def test_a_node_goes_on_where_the_other_ended(tmp_path: Path, apache: Apache) -> None:
    """On the same ``log.dirs``, after SIGTERM and after ``kill -9``; each finds what all before it have left."""
    turns: list[tuple[Kind, bool]] = [(OURS, False), (apache, True), (OURS, True), (apache, False), (OURS, False)]
    with running_cluster(tmp_path, {1: Member(OURS, BOTH)}, **SMALL_SNAPSHOTS) as cluster:
        node, traffic = cluster.nodes[1], Traffic(cluster.bootstrap_servers)
        traffic.create(TOPIC, PARTITIONS, retention_ms="1000000000")
        made = {TOPIC}
        for turn, (kind, is_killed_then) in enumerate(turns):
            if turn:
                cluster.become(1, kind)
                cluster.start(1)
                eventually(lambda: made <= traffic.topics(), TIMEOUT_S)
                traffic.assert_all_is_there(TOPIC)
                assert traffic.config(TOPIC, "retention.ms") == "1000000000"
            for number in range(10):
                made.add(f"turn-{turn}-{number}")
                traffic.create(f"turn-{turn}-{number}")
            traffic.write(TOPIC, RECORDS)
            read = traffic.read_in_group(TOPIC, GROUP, RECORDS)
            assert sorted(read, key=int) == traffic.written[TOPIC][-RECORDS:], "the group goes on where it was"
            eventually(lambda: snapshots(cluster, 1), TIMEOUT_S)
            node.kill() if is_killed_then else node.stop()


def kind_names(kinds: list[Kind]) -> str:
    return "-".join(kind.version if isinstance(kind, Apache) else "ours" for kind in kinds)


@pytest.fixture(
    params=[[apache, OURS, OURS] for apache in LINES] + [[OURS, apache, apache] for apache in LINES], ids=kind_names
)
def mixed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """Voter 1 is the only one of its implementation: while it is down, the leader is of the other one."""
    with running_cluster(tmp_path, members(request.param, [OURS]), **SMALL_SNAPSHOTS) as cluster:
        yield cluster


def test_a_wiped_voter_takes_a_snapshot_from_the_other_kind(mixed: Cluster) -> None:
    """KIP-630: a follower with an empty log fetches the leader's snapshot, and can lead with its content."""
    cluster, traffic = mixed, Traffic(mixed.bootstrap_servers)
    for number in range(20):
        traffic.create(f"topic-{number}")
    cluster.nodes[1].kill()
    shutil.rmtree(cluster.nodes[1].log_directory)
    leader = wait_for_leader(cluster).leader_id
    eventually(lambda: snapshots(cluster, leader), TIMEOUT_S)
    assert_starts_with_a_snapshot(cluster, traffic, 0)


def test_a_voter_that_was_away_takes_a_snapshot_from_the_other_kind(mixed: Cluster) -> None:
    """KIP-630: a follower whose end offset lies before the start of the leader's log fetches a snapshot."""
    cluster, traffic = mixed, Traffic(mixed.bootstrap_servers)
    for number in range(20):
        traffic.create(f"topic-{number}")
    cluster.nodes[1].kill()
    end_offset = MetadataLogFiles.read(cluster.nodes[1].log_directory).end_offset
    for number in range(20, 40):
        traffic.create(f"topic-{number}")
    rest = [voter for voter in cluster.voters if voter != 1]
    eventually(lambda: all(min(snapshots(cluster, each), default=0) > end_offset for each in rest), TRIM_TIMEOUT_S)
    assert_starts_with_a_snapshot(cluster, traffic, end_offset)


def assert_starts_with_a_snapshot(cluster: Cluster, traffic: Traffic, end_offset: int) -> None:
    """Start voter 1, whose log ends at ``end_offset``: it loads a leader's snapshot of more, and its state is whole."""
    node = cluster.nodes[1]
    said_before = len(node.output)
    cluster.start(1)
    traffic.create("later")
    assert_equal_logs(cluster)
    assert MetadataLogFiles.read(cluster.nodes[1].log_directory).start_offset > end_offset
    lead_by(cluster, 1)
    for name in ("topic-0", "later"):
        with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
            traffic.create(name)
    traffic.create("last")
    assert_equal_logs(cluster)
    loaded = re.findall(LOADED_SNAPSHOT, "".join(node.output[said_before:]))
    assert max(map(int, loaded), default=0) > end_offset, "its own log would have begun as late once it was trimmed"


def lead_by(cluster: Cluster, voter: int) -> None:
    """Stop leaders until it is this voter's turn."""
    for _ in range(20):
        leader = wait_for_leader(cluster)
        if leader.leader_id == voter:
            return
        cluster.nodes[leader.leader_id].stop()
        wait_for_leader(cluster, above_epoch=leader.epoch)
        cluster.start(leader.leader_id)
    raise AssertionError(f"{voter} never came to lead")
