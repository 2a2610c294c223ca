"""The metrics of a controller with ZooKeeper, under Kafka's names.

``KafkaController`` describes the cluster as the controller knows it; a broker that is not the controller has 0
everywhere. ``ControllerEventManager`` and ``ControllerStats`` describe its decisions, and ``ControllerChannelManager``
the requests that wait for each broker. A gauge computes its value when it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kraft.metrics import Histogram, MetricName, Registry
from kraft.zookeeper.controller.cluster import LegacyCluster
from kraft.zookeeper.controller.core import LegacyController
from kraft.zookeeper.controller.effects import BrokerRequest
from kraft.zookeeper.controller.states import ControllerState

_GROUP = "kafka.controller"
_CONTROLLER = (_GROUP, "KafkaController")
_EVENTS = (_GROUP, "ControllerEventManager")
_STATS = (_GROUP, "ControllerStats")
_CHANNELS = (_GROUP, "ControllerChannelManager")
_OF_A_BROKER = ("QueueSize", "RequestRateAndQueueTimeMs")
_US_TO_MS = 0.001
_TIMERS = {
    ControllerState.BROKER_CHANGE: "LeaderElection",
    ControllerState.ALTER_PARTITION_REASSIGNMENT: "PartitionReassignment",
}
"""Timers that are older than their states, and keep their names (ControllerState.rateAndTimeMetricName)."""


class LegacyControllerMetrics:
    """The metrics of one broker. The driver reports what happens."""

    def __init__(self, registry: Registry, core: LegacyController, waiting_events: Callable[[], int]) -> None:
        self.clock = registry.clock
        self.state = ControllerState.IDLE
        self._registry = registry
        self._brokers: set[int] = set()
        self._core = core
        self._timers: dict[ControllerState, Histogram] = {
            each: self._timer(each) for each in ControllerState if each is not ControllerState.IDLE
        }
        self._queue_time = registry.histogram(*_EVENTS, "EventQueueTimeMs", scale=_US_TO_MS)
        self._unclean = registry.meter(*_STATS, "UncleanLeaderElectionsPerSec")
        registry.gauge(*_EVENTS, "EventQueueSize", waiting_events)
        registry.gauge(*_CHANNELS, "TotalQueueSize", lambda: sum(map(self._queue_size, self._brokers)))
        registry.gauge(*_CONTROLLER, "ActiveControllerCount", lambda: int(core.active is not None))
        registry.gauge(*_CONTROLLER, "ControllerState", lambda: self.state)
        for name, read in _GAUGES.items():
            registry.gauge(*_CONTROLLER, name, partial(self._of_cluster, read))

    def event_taken(self, state: ControllerState, waited_s: float) -> None:
        """A decision begins on an event, which waited for the decisions before it."""
        self.state = state
        self._queue_time.record(round(waited_s * 1e6))

    def event_done(self, took_s: float, unclean_elections: int) -> None:
        """The decision has ended, with all its operations on ZooKeeper."""
        timer = self._timers.get(self.state)
        if timer is not None:
            timer.record(round(took_s * 1e6))
        self._unclean.count += unclean_elections
        self.state = ControllerState.IDLE

    def request_sent(self, request: BrokerRequest) -> None:
        """A request leaves the queue of its broker, which has metrics from the first one on."""
        broker_id = request.broker_id
        timer = self._registry.histogram(*_CHANNELS, _OF_A_BROKER[1], scale=_US_TO_MS, **_tags(broker_id))
        timer.record(round(request.waited_s * 1e6))
        if broker_id not in self._brokers:
            self._brokers.add(broker_id)
            self._registry.gauge(*_CHANNELS, _OF_A_BROKER[0], partial(self._queue_size, broker_id), **_tags(broker_id))

    def broker_gone(self, broker_id: int) -> None:
        """The controller sends this broker nothing more."""
        self._brokers.discard(broker_id)
        for name in _OF_A_BROKER:
            self._registry.remove(MetricName(*_CHANNELS, name, tuple(_tags(broker_id).items())))

    def _queue_size(self, broker_id: int) -> int:
        queue = None if self._core.active is None else self._core.active.queues.get(broker_id)
        return 0 if queue is None else queue.requests

    def _timer(self, state: ControllerState) -> Histogram:
        name = _TIMERS.get(state, "".join(part.capitalize() for part in state.name.split("_")))
        return self._registry.histogram(*_STATS, f"{name}RateAndTimeMs", scale=_US_TO_MS)

    def _of_cluster(self, read: Callable[[LegacyCluster], int]) -> int:
        return 0 if self._core.active is None else read(self._core.active.cluster)


def _tags(broker_id: int) -> dict[str, str]:
    return {"broker-id": str(broker_id)}


_GAUGES: dict[str, Callable[[LegacyCluster], int]] = {
    "OfflinePartitionsCount": LegacyCluster.offline_partitions,
    "PreferredReplicaImbalanceCount": LegacyCluster.not_preferred,
    "GlobalTopicCount": lambda cluster: len(cluster.topics),
    "GlobalPartitionCount": lambda cluster: sum(len(each.partitions) for each in cluster.topics.values()),
    "TopicsToDeleteCount": lambda cluster: len(cluster.deletions),
    "ReplicasToDeleteCount": LegacyCluster.replicas_to_delete,
    "TopicsIneligibleToDeleteCount": lambda cluster: sum(bool(each.failed) for each in cluster.deletions.values()),
    "ReplicasIneligibleToDeleteCount": lambda cluster: sum(len(each.failed) for each in cluster.deletions.values()),
    "ActiveBrokerCount": lambda cluster: len(cluster.brokers),
    "FencedBrokerCount": lambda cluster: 0,  # a broker with ZooKeeper is registered or not
}
