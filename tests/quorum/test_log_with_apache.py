"""One directory, two kinds of node: Apache Kafka goes on with a metadata log that we trimmed, and we with its own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.zk_migration_state_record import ZkMigrationStateRecord
from kraft.metadata.image import DIRECTORY_UNASSIGNED
from kraft.quorum.log import MetadataLog
from kraft.raft.events import LeaderChange
from kraft.raft.messages import SnapshotId
from kraft.storage.snapshot import snapshot_name
from tests.support.apache_process import APACHE_3, APACHE_4, Apache
from tests.support.apache_tool import DUMP_LOG, apache_tool, metadata_shell
from tests.support.eventually import eventually
from tests.support.metadata_logs import append_records, content, fill, open_log, replayed, shape, snapshot_of, topic
from tests.support.node_process import NodeProcess

pytestmark = pytest.mark.interop

DUMPS = {APACHE_3: "kafka.tools.DumpLogSegments", APACHE_4: DUMP_LOG}
SNAPSHOT_TIMEOUT_S = 60.0
COMPLAINT = re.compile(r"isvalid: false|[Mm]ismatch|out of order|[Ee]rror|Exception")


@pytest.fixture(params=[APACHE_3, APACHE_4], ids=lambda kind: kind.version)
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NodeProcess]:
    settings = {"metadata.log.max.record.bytes.between.snapshots": "2000"}
    node = NodeProcess(tmp_path / "node", settings, kind=request.param)
    node.format()
    yield node
    node.kill()


@pytest.fixture
def log(node: NodeProcess) -> MetadataLog:
    """Twenty topics in two epochs, trimmed to the first of two snapshots."""
    log = open_log(node.log_directory)
    log.append_leader_change(LeaderChange(1, 1, (1,), (1,)), 1000)
    features = FeatureLevelRecord(name="metadata.version", feature_level=21)
    append_records(log, [features, ZkMigrationStateRecord()], 1, 1000)
    for number in range(20):
        if number == 10:
            log.append_leader_change(LeaderChange(2, 1, (1,), (1,)), 1010)
        partition = PartitionRecord(
            topic_id=topic(number).topic_id,
            partition_id=0,
            replicas=[1],
            isr=[1],
            leader=1,
            leader_epoch=0,
            partition_epoch=0,
            directories=[DIRECTORY_UNASSIGNED],
        )
        append_records(log, [topic(number), partition], 1 + number // 10, 1000 + number)
    log.trim(snapshot_of(log, 13))
    assert snapshot_of(log, 26) == SnapshotId(26, 2)
    assert shape(log) == (13, 1, 44, [(1, 13), (2, 23)], SnapshotId(26, 2))
    return log


def test_apaches_tools_read_our_files(log: MetadataLog, node: NodeProcess) -> None:
    """kafka-dump-log with its cluster-metadata decoder, and kafka-metadata-shell."""
    log.close()
    names = [name for name in sorted(os.listdir(log.directory)) if name.endswith((".log", ".checkpoint"))]
    files = ",".join(os.path.join(log.directory, name) for name in names)
    assert isinstance(node.kind, Apache)
    dumped = apache_tool(DUMPS[node.kind], "--cluster-metadata-decoder", "--files", files, kind=node.kind)
    assert COMPLAINT.search(dumped) is None
    assert "Snapshot end offset: 13, epoch: 1" in dumped
    assert 'SnapshotHeader {"version":0,"lastContainedLogTimestamp":1004}' in dumped
    assert dumped.count("SnapshotFooter") == 2
    assert '"name":"t19"' in dumped
    snapshot = os.path.join(log.directory, snapshot_name(SnapshotId(26, 2)))
    topics = sorted(f"t{number}" for number in range(11))
    command = ("ls", "image/topics/byName")
    listed = metadata_shell(snapshot, *command, until=lambda answer: answer.split() == topics, kind=node.kind)
    assert listed.split() == topics


def test_apache_goes_on_with_our_log_and_we_with_its(log: MetadataLog, node: NodeProcess) -> None:
    """It finds every topic behind our snapshot, appends, and writes a snapshot; after kill -9 we find all of it."""
    ours = content(log)
    log.close()
    node.start()
    client = KafkaAdminClient(bootstrap_servers=node.bootstrap_servers)
    found = {name for name in client.list_topics() if not name.startswith("__")}
    assert found == {f"t{number}" for number in range(20)}
    client.create_topics([NewTopic(f"new{number}", 1, 1) for number in range(20)])
    snapshots = Path(log.directory)
    eventually(lambda: len(list(snapshots.glob("*.checkpoint"))) > 2, SNAPSHOT_TIMEOUT_S)
    client.close()
    node.kill()
    log = open_log(node.log_directory)
    assert content(log).startswith(ours)
    assert log.snapshot is not None
    assert log.snapshot.end_offset > 44
    image = replayed(log, log.end_offset, log.load_snapshot(log.snapshot))
    assert set(image.topic_ids) >= found | {f"new{number}" for number in range(20)}
    topic_id = image.topic_ids["t7"]
    assert topic_id == UUID(int=1007)
    everything = replayed(log, log.end_offset, log.load_snapshot(SnapshotId(13, 1)))
    assert everything.topic_ids == image.topic_ids
    fill(log, log.last_epoch + 1, 3)
    log.close()
    node.start()
