"""kraft.zookeeper.controller_metrics: KafkaController, ControllerEventManager, ControllerStats and
ControllerChannelManager under Kafka's names.
"""

from __future__ import annotations

from kraft.config.listeners import Endpoint
from kraft.messages.update_metadata_request import UpdateMetadataRequest
from kraft.metrics import Gauge, Histogram, Meter, Registry
from kraft.zookeeper.controller.effects import BrokerRequest
from kraft.zookeeper.controller.states import ControllerState
from kraft.zookeeper.controller_metrics import LegacyControllerMetrics
from kraft.zookeeper.operations import Create
from kraft.zookeeper.znodes.admin import delete_topic_path
from tests.support.legacy_cluster import LegacyClusterModel


def gauges(registry: Registry) -> dict[str, float]:
    """The gauges of KafkaController by name."""
    return {
        name.name: metric.value
        for name, metric in registry
        if name.type == "KafkaController" and isinstance(metric, Gauge)
    }


def histogram(registry: Registry, text: str) -> Histogram:
    metric = registry.get(f"kafka.controller:type={text}")
    assert isinstance(metric, Histogram)
    return metric


def test_the_controller_counts_the_cluster_and_the_other_brokers_count_nothing() -> None:
    """KafkaController.updateMetrics; all are 0 after onControllerResignation."""
    cluster = LegacyClusterModel(3)
    registries = {}
    for broker_id, broker in cluster.brokers.items():
        registries[broker_id] = Registry()
        LegacyControllerMetrics(registries[broker_id], broker.core, lambda: 0)
    cluster.start(1, 2, 3)
    cluster.create_topic("t", (2, 3), (3, 2), (3,))
    cluster.create_topic("deleted", (3, 2))
    cluster.stop(3)
    cluster.tree.perform(None, Create(delete_topic_path("deleted")))
    cluster.settle()
    assert gauges(registries[1]) == {
        "ActiveControllerCount": 1,
        "ControllerState": 0,
        "OfflinePartitionsCount": 1,
        "PreferredReplicaImbalanceCount": 2,
        "GlobalTopicCount": 2,
        "GlobalPartitionCount": 4,
        "TopicsToDeleteCount": 1,
        "ReplicasToDeleteCount": 1,
        "TopicsIneligibleToDeleteCount": 0,
        "ReplicasIneligibleToDeleteCount": 0,
        "ActiveBrokerCount": 2,
        "FencedBrokerCount": 0,
    }
    cluster.stop(1)
    assert set(gauges(registries[1]).values()) == {0}
    assert gauges(registries[2])["ActiveControllerCount"] == 1


def test_a_decision_is_timed_under_the_name_of_its_state() -> None:
    """ControllerEventManager and ControllerState: the timer of broker changes is LeaderElectionRateAndTimeMs."""
    registry = Registry()
    metrics = LegacyControllerMetrics(registry, LegacyClusterModel(1).brokers[1].core, lambda: 7)
    metrics.event_taken(ControllerState.BROKER_CHANGE, 0.25)
    assert gauges(registry)["ControllerState"] == ControllerState.BROKER_CHANGE
    metrics.event_done(0.5, 3)
    assert gauges(registry)["ControllerState"] == ControllerState.IDLE
    timer = histogram(registry, "ControllerStats,name=LeaderElectionRateAndTimeMs")
    assert (timer.count, timer.total) == (1, 500_000)
    waited = histogram(registry, "ControllerEventManager,name=EventQueueTimeMs")
    assert (waited.count, waited.total) == (1, 250_000)
    unclean = registry.get("kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec")
    assert isinstance(unclean, Meter)
    assert unclean.count == 3
    size = registry.get("kafka.controller:type=ControllerEventManager,name=EventQueueSize")
    assert isinstance(size, Gauge)
    assert size.value == 7


def test_an_unclean_election_is_counted_once() -> None:
    """PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection marks the rate for a leader outside the ISR."""
    cluster = LegacyClusterModel(3, allows_unclean_elections=True)
    cluster.start(1, 2, 3)
    cluster.create_topic("t", (3, 2))
    cluster.stop(2)
    cluster.stop(3)
    cluster.start(2)
    assert cluster.state("t").leader == 2
    assert cluster.unclean_elections == 1
    cluster.stop(2)
    cluster.start(2)
    assert cluster.state("t").leader == 2
    assert cluster.unclean_elections == 1


def test_each_broker_has_a_queue_until_it_is_gone() -> None:
    """ControllerChannelManager: "QueueSize" and "RequestRateAndQueueTimeMs" with the tag broker-id."""
    cluster = LegacyClusterModel(2)
    registry = Registry()
    cluster.start(1, 2)
    metrics = LegacyControllerMetrics(registry, cluster.brokers[1].core, lambda: 0)
    cluster.brokers[2].holds_responses = True
    cluster.create_topic("t", (2,))
    cluster.now = 1.5
    cluster.brokers[2].holds_responses = False
    cluster.settle()
    times = [request.waited_s for request in cluster.brokers[2].received]
    assert times[-2:] == [0.0, 1.5], "the UpdateMetadata waited for the response to the LeaderAndIsr"
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "host", 9092)
    metrics.request_sent(BrokerRequest(2, 1, endpoint, 1, UpdateMetadataRequest(), 8, 1.5))
    timer = histogram(registry, "ControllerChannelManager,name=RequestRateAndQueueTimeMs,broker-id=2")
    assert (timer.count, timer.total) == (1, 1_500_000)
    cluster.brokers[2].holds_responses = True
    cluster.create_topic("later", (2,))
    for name in ("QueueSize,broker-id=2", "TotalQueueSize"):
        size = registry.get(f"kafka.controller:type=ControllerChannelManager,name={name}")
        assert isinstance(size, Gauge)
        assert size.value == 1
    metrics.broker_gone(2)
    assert not [name for name, _ in registry if name.tags]
