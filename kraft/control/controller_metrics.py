"""The metrics of a controller, active or on standby, under Kafka's names.

``kafka.controller:type=KafkaController`` describes the cluster as of this node's image (KIP-631).
``kafka.server:type=MetadataLoader`` and ``SnapshotEmitter`` describe how the node loads and writes metadata (KIP-835,
KIP-868). A gauge computes its value when it is read; the cost grows with topics, not with partitions.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from kraft.control.controller import Controller
from kraft.control.metadata import Metadata
from kraft.metadata.index import LEADERLESS, NOT_PREFERRED
from kraft.metrics import Registry
from kraft.quorum.driver import Quorum
from kraft.quorum.metrics import QuorumMetrics
from kraft.storage.snapshot import snapshot_name
from kraft.world.clock import Clock

_CONTROLLER = ("kafka.controller", "KafkaController")
_LOADER = ("kafka.server", "MetadataLoader")
_EMITTER = ("kafka.server", "SnapshotEmitter")


def declare_controller_metrics(
    registry: Registry, clock: Clock, quorum: Quorum, metadata: Metadata, controller: Controller, raft: QuorumMetrics
) -> None:
    """Declare the metrics of a node in the controller role. They live as long as ``registry``."""

    def partitions() -> int:
        return sum(len(topic.partitions) for topic in metadata.image.topics.values())

    def partitions_under(key: int) -> int:
        return sum(mask.bit_count() for mask in metadata.image.index.get(key, {}).values())

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
        "GlobalPartitionCount": partitions,
        "OfflinePartitionsCount": lambda: partitions_under(LEADERLESS),
        "PreferredReplicaImbalanceCount": lambda: partitions_under(NOT_PREFERRED),
        "FencedBrokerCount": lambda: brokers(fenced=True),
        "ActiveBrokerCount": lambda: brokers(fenced=False),
    }
    for name, read in gauges.items():
        registry.gauge(*_CONTROLLER, name, read)
    # An error in the metadata ends this node, so a node that is running had none.
    registry.gauge(*_CONTROLLER, "MetadataErrorCount", lambda: 0)


def declare_metadata_metrics(registry: Registry, clock: Clock, quorum: Quorum, metadata: Metadata) -> None:
    """Declare the metrics that every node has of its metadata and of its snapshots."""
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
    """The file of the newest snapshot; None if the log has no snapshot, or if it was deleted just now."""
    newest = quorum.log.snapshot
    if newest is None:
        return None
    try:
        return os.stat(os.path.join(quorum.log.directory, snapshot_name(newest)))
    except FileNotFoundError:
        return None
