"""What a controller measures, active or on standby, under Kafka's names.

``kafka.controller:type=KafkaController`` describes the cluster as this node's metadata have it (KIP-631),
``kafka.server:type=MetadataLoader`` and ``SnapshotEmitter`` how it came to them (KIP-835, KIP-868). Everything is read
when somebody asks. Counting partitions looks again only at topics that are not what they were at the last reading.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from uuid import UUID

import attrs

from kraft.metadata.image import Image, Topic
from kraft.metrics import Registry
from kraft.node.clock import Clock
from kraft.node.controller import Controller
from kraft.node.metadata import Metadata
from kraft.node.quorum import Quorum
from kraft.node.quorum_metrics import QuorumMetrics
from kraft.storage.snapshot import snapshot_name

_CONTROLLER = ("kafka.controller", "KafkaController")
_LOADER = ("kafka.server", "MetadataLoader")
_EMITTER = ("kafka.server", "SnapshotEmitter")


@attrs.frozen
class Counts:
    """Partitions of a topic, or of all: how many there are, have no leader, are not led by their first replica."""

    partitions: int = 0
    offline: int = 0
    not_preferred: int = 0


class PartitionCounts:
    """The counts of an image, which remembers those of each topic."""

    def __init__(self) -> None:
        self._topics: object = None
        self._by_topic: dict[UUID, tuple[Topic, Counts]] = {}
        self._sum = Counts()

    def of(self, image: Image) -> Counts:
        """The sums over all topics of ``image``."""
        if image.topics is not self._topics:
            known, self._by_topic = self._by_topic, {}
            for topic_id, topic in image.topics.items():
                former = known.get(topic_id)
                same = former is not None and former[0] is topic
                self._by_topic[topic_id] = former if same and former is not None else (topic, _count(topic))
            counts = [counts for _, counts in self._by_topic.values()]
            self._sum = Counts(
                sum(each.partitions for each in counts),
                sum(each.offline for each in counts),
                sum(each.not_preferred for each in counts),
            )
            self._topics = image.topics
        return self._sum


def _count(topic: Topic) -> Counts:
    partitions = topic.partitions.values()
    offline = sum(1 for each in partitions if each.leader < 0)
    preferred = sum(1 for each in partitions if each.replicas and each.leader == each.replicas[0])
    return Counts(len(partitions), offline, len(partitions) - preferred)


def declare_controller_metrics(
    registry: Registry, clock: Clock, quorum: Quorum, metadata: Metadata, controller: Controller, raft: QuorumMetrics
) -> None:
    """Declare the metrics of a node in the controller role. They live as long as ``registry``."""
    counts = PartitionCounts()

    def brokers(*, fenced: bool) -> int:
        return sum(1 for broker in metadata.image.brokers.values() if broker.fenced == fenced)

    def lag_ms() -> int:
        image = metadata.image
        return 0 if controller.is_active or image.offset < 0 else max(0, clock.now_ms() - image.timestamp_ms)

    gauges: dict[str, Callable[[], int]] = {
        "ActiveControllerCount": lambda: int(controller.is_active),
        "NewActiveControllersCount": lambda: raft.new_leaders,
        "LastAppliedRecordOffset": lambda: (quorum.end_offset if controller.is_active else metadata.next_offset) - 1,
        "LastCommittedRecordOffset": lambda: quorum.high_watermark - 1,
        "LastAppliedRecordTimestamp": lambda: metadata.image.timestamp_ms,
        "LastAppliedRecordLagMs": lag_ms,
        "GlobalTopicCount": lambda: len(metadata.image.topics),
        "GlobalPartitionCount": lambda: counts.of(metadata.image).partitions,
        "OfflinePartitionsCount": lambda: counts.of(metadata.image).offline,
        "PreferredReplicaImbalanceCount": lambda: counts.of(metadata.image).not_preferred,
        "FencedBrokerCount": lambda: brokers(fenced=True),
        "ActiveBrokerCount": lambda: brokers(fenced=False),
    }
    for name, read in gauges.items():
        registry.gauge(*_CONTROLLER, name, read)
    registry.counter(*_CONTROLLER, "MetadataErrorCount")


def declare_metadata_metrics(registry: Registry, clock: Clock, quorum: Quorum, metadata: Metadata) -> None:
    """Declare what every node measures of the metadata that it loads and of the snapshots that it has."""
    started_ms = clock.now_ms()

    def age_ms() -> int:
        found = _newest_snapshot(quorum)
        return clock.now_ms() - (started_ms if found is None else int(found.st_mtime * 1000))

    def size() -> int:
        found = _newest_snapshot(quorum)
        return 0 if found is None else found.st_size

    registry.gauge(*_LOADER, "CurrentMetadataVersion", lambda: metadata.image.metadata_version)
    registry.gauge(*_LOADER, "CurrentControllerId", lambda: -1 if quorum.leader_id is None else quorum.leader_id)
    registry.gauge(*_LOADER, "HandleLoadSnapshotCount", lambda: metadata.snapshots_loaded)
    registry.gauge(*_EMITTER, "LatestSnapshotGeneratedBytes", size)
    registry.gauge(*_EMITTER, "LatestSnapshotGeneratedAgeMs", age_ms)


def _newest_snapshot(quorum: Quorum) -> os.stat_result | None:
    """The file of the newest snapshot; None if there is none, or if it was deleted this moment."""
    newest = quorum.log.snapshot
    if newest is None:
        return None
    try:
        return os.stat(os.path.join(quorum.log.directory, snapshot_name(newest)))
    except FileNotFoundError:
        return None
