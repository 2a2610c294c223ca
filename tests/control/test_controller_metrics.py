"""The metrics of a controller, from images and a stand-in for the quorum."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast
from uuid import UUID

import attrs
import pytest

from kraft.control.controller_metrics import declare_controller_metrics, declare_metadata_metrics
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.register_broker_record import RegisterBrokerRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.delta import replay
from kraft.metadata.image import Image
from kraft.metrics import Registry
from kraft.raft.messages import SnapshotId
from kraft.storage.snapshot import snapshot_name
from kraft.world.clock import Clock

TOPIC = UUID(int=7)
CONTROLLER = "kafka.controller:type=KafkaController,name="


def image_of(*records: object, after: Image | None = None) -> Image:
    image, _ = replay(after or Image(), records, 9, 1, 1_000)
    return image


def topic(partitions: int, *, leader: int = 1, topic_id: UUID = TOPIC, name: str = "t") -> list[object]:
    return [
        TopicRecord(name=name, topic_id=topic_id),
        *(
            PartitionRecord(partition_id=index, topic_id=topic_id, replicas=[1, 2], isr=[1, 2], leader=leader)
            for index in range(partitions)
        ),
    ]


@attrs.define
class Log:
    directory: str
    snapshot: SnapshotId | None = None


@attrs.define
class Parts:
    """The parts of a node from which the metrics are read."""

    log: Log
    image: Image = attrs.Factory(Image)
    end_offset: int = 12
    high_watermark: int = 11
    next_offset: int = 10
    leader_id: int | None = 3
    is_active: bool = False
    snapshots_loaded: int = 1
    new_leaders: int = 4
    now: int = 5_000

    def now_ms(self) -> int:
        return self.now


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return Parts(Log(str(tmp_path)))


@pytest.fixture
def registry(parts: Parts) -> Registry:
    registry, any_part = Registry(), cast(Any, parts)
    declare_controller_metrics(registry, cast(Clock, parts), any_part, any_part, any_part, any_part)
    declare_metadata_metrics(registry, cast(Clock, parts), any_part, any_part)
    return registry


def test_topics_and_partitions(registry: Registry, parts: Parts) -> None:
    parts.image = image_of(*topic(3), *topic(2, leader=-1, topic_id=UUID(int=8), name="u"))
    names = ("GlobalTopicCount", "GlobalPartitionCount", "OfflinePartitionsCount", "PreferredReplicaImbalanceCount")
    assert [registry.get(CONTROLLER + name).value for name in names] == [2, 5, 2, 2]


def test_brokers_are_fenced_or_active(registry: Registry, parts: Parts) -> None:
    parts.image = image_of(
        *(RegisterBrokerRecord(broker_id=broker, broker_epoch=broker, fenced=True) for broker in (1, 2, 3)),
        BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=2, fenced=-1),
    )
    assert registry.get(CONTROLLER + "FencedBrokerCount").value == 2
    assert registry.get(CONTROLLER + "ActiveBrokerCount").value == 1


def test_a_standby_lags_and_the_active_controller_does_not(registry: Registry, parts: Parts) -> None:
    parts.image = image_of(*topic(1))
    names = ("ActiveControllerCount", "LastAppliedRecordOffset", "LastAppliedRecordLagMs", "LastCommittedRecordOffset")
    assert [registry.get(CONTROLLER + name).value for name in names] == [0, 9, 4_000, 10]
    parts.is_active = True
    assert [registry.get(CONTROLLER + name).value for name in names] == [1, 11, 0, 10]
    assert registry.get(CONTROLLER + "LastAppliedRecordTimestamp").value == 1_000
    assert registry.get(CONTROLLER + "NewActiveControllersCount").value == 4


def test_the_loader_and_the_newest_snapshot(registry: Registry, parts: Parts, tmp_path: Path) -> None:
    parts.image = image_of(FeatureLevelRecord(name="metadata.version", feature_level=21))
    loader, emitter = "kafka.server:type=MetadataLoader,name=", "kafka.server:type=SnapshotEmitter,name="
    names = ("CurrentMetadataVersion", "CurrentControllerId", "HandleLoadSnapshotCount")
    assert [registry.get(loader + name).value for name in names] == [21, 3, 1]
    parts.now += 30
    assert registry.get(emitter + "LatestSnapshotGeneratedBytes").value == 0
    assert registry.get(emitter + "LatestSnapshotGeneratedAgeMs").value == 30
    parts.log.snapshot = SnapshotId(9, 1)
    path = tmp_path / snapshot_name(parts.log.snapshot)
    path.write_bytes(bytes(77))
    parts.now = int(path.stat().st_mtime * 1000) + 50
    assert registry.get(emitter + "LatestSnapshotGeneratedBytes").value == 77
    assert registry.get(emitter + "LatestSnapshotGeneratedAgeMs").value == 50
    path.unlink()
    assert registry.get(emitter + "LatestSnapshotGeneratedBytes").value == 0
