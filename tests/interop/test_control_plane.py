"""KIP-291 on real nodes with a real ZooKeeper: the migration in two rolling rounds, and the forced control plane."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
import confluent_kafka as ck
import confluent_kafka.admin as cka
import pytest

from tests.interop.traffic import TIMEOUT_S, Traffic
from tests.simulation.virtual_legacy import CONTROL_PLANE_METRICS
from tests.support.apache_process import APACHE_3, Apache
from tests.support.apache_tool import JMX, TOPICS, apache_tool, apache_tool_complaint
from tests.support.eventually import eventually
from tests.support.node_process import OURS, free_ports
from tests.support.writer import Writer
from tests.support.zookeeper_era import APACHE, LegacyBroker, LegacyCluster, legacy_cluster

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]

NODES = (1, 2, 3)
TOPIC = "orders"
SETTINGS = {
    "replica_fetch_backoff_ms": "200",
    "replica_fetch_wait_max_ms": "200",
    "replica_lag_time_max_ms": "3000",
    "kraft_request_log": "file",
    "kraft_request_log_sample": "1",
}
NAME = "control.plane.listener.name"
FORCED = "control.plane.force.controller.requests.enable"
FROM_CONTROLLER = {"LeaderAndIsr", "UpdateMetadata", "StopReplica"}
TO_CONTROLLER = {"AlterPartition", "ControlledShutdown"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LegacyCluster]:
    """Three nodes of this project with one listener each, which do not run yet."""
    with legacy_cluster(tmp_path, **SETTINGS) as running:
        for node_id in NODES:
            broker = running.prepare(node_id, OURS)
            broker.settings = {**broker.settings, "kraft.request.log.dir": str(request_log(broker))}
        yield running


def request_log(broker: LegacyBroker) -> Path:
    return broker.directory / "requests"


@attrs.frozen
class Arrived:
    """A request of one node at another. The rounds are those of the two processes: 0 before the migration."""

    api: str
    listener: str
    plane: str
    sender_round: int
    receiver_round: int


def arrived(cluster: LegacyCluster) -> list[Arrived]:
    """The requests between controllers and brokers, from the request logs. A node's id is its client id."""
    lines = [line for broker in cluster.brokers.values() for line in lines_of(broker)]
    starts: dict[int, list[int]] = {node_id: [] for node_id in NODES}
    for node_id, start in sorted({(line["node"], line["start"]) for line in lines}):
        starts[node_id].append(start)
    found = []
    for line in lines:
        if line.get("api") in FROM_CONTROLLER | TO_CONTROLLER:
            received_ms = line["ms"] - line["totalMs"]
            of_sender = sum(start <= received_ms for start in starts[int(line["client"])]) - 1
            of_receiver = starts[line["node"]].index(line["start"])
            found.append(Arrived(line["api"], line["listener"], line["plane"], of_sender, of_receiver))
    return found


def lines_of(broker: LegacyBroker) -> Iterator[dict[str, object]]:
    for path in sorted(request_log(broker).iterdir()):
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                yield json.loads(line)


def in_sync(traffic: Traffic, nodes: tuple[int, ...] = NODES) -> None:
    """Wait until all nodes are in the ISR of each partition."""

    def all_are() -> bool:
        partitions = traffic.describe(TOPIC).values() if TOPIC in traffic.topics() else ()
        return bool(partitions) and all(each.isr == set(nodes) for each in partitions)

    eventually(all_are, TIMEOUT_S)


def roll(broker: LegacyBroker, settings: Mapping[str, str]) -> None:
    """Stop a broker, and start it with more settings."""
    assert broker.stop() == 0
    broker.settings = {**broker.settings, **settings}
    broker.start()


@pytest.mark.parametrize("forced", ["false", "true"])
def test_the_migration_in_two_rolling_rounds_loses_nothing(cluster: LegacyCluster, forced: str) -> None:
    """KIP-291: "2 rounds of rolling upgrades are needed". The first adds the endpoint, and "controller to brokers
    communication should still behave in the same way". "During rolling upgrade of the 2nd round, controller to brokers
    traffic will start using" the control plane: each sender by its own setting, each receiver by its own plane. Its
    extension sets ``forced`` in the second round, too, "if the control plane is required to force the validation".
    """
    for broker in cluster.brokers.values():
        broker.start()
    cluster.create_topic(TOPIC, (1, 2, 3), (2, 3, 1), (3, 1, 2), min_insync_replicas="2")
    traffic = Traffic(cluster.bootstrap_servers)
    in_sync(traffic)
    with Writer(cluster.bootstrap_servers, TOPIC, len(NODES)) as writer:
        for is_second in (False, True):
            for broker in cluster.brokers.values():
                own = {**broker.with_control_plane(), FORCED: forced}
                roll(broker, own if is_second else {key: own[key] for key in own.keys() - {NAME, FORCED}})
                in_sync(traffic)
                writer.wait_for_more(200)
        assert cluster.brokers[1].stop() == 0  # the ControlledShutdown of a broker after both rounds
        in_sync(traffic, (2, 3))
        writer.wait_for_more(200)
    assert writer.failures == []
    traffic.written[TOPIC] = [str(number) for number in range(writer.written)]
    traffic.assert_all_is_there(TOPIC)
    for broker in cluster.brokers.values():
        if broker.is_running:
            assert broker.stop() == 0

    seen = arrived(cluster)
    for each in seen:
        is_on_endpoint = each.sender_round == 2 and (forced == "false" or each.api != "AlterPartition")
        assert each.listener == ("CONTROLLER" if is_on_endpoint else "PLAINTEXT"), each
        assert each.plane == ("control" if is_on_endpoint and each.receiver_round == 2 else "data"), each
    for number in range(3):
        apis = {each.api for each in seen if each.sender_round == each.receiver_round == number}
        assert apis >= {"LeaderAndIsr", "UpdateMetadata", "AlterPartition", "ControlledShutdown"}, number


def test_a_forced_control_plane_serves_the_controller_and_no_client(
    cluster: LegacyCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """KIP-291's extension. A client that bootstraps there has the error in its log, and the node a line about it. ISR
    changes go to the inter-broker listener, ControlledShutdown over the control plane.
    """
    for broker in cluster.brokers.values():
        broker.settings = {**broker.settings, **broker.with_control_plane(), FORCED: "true"}
        broker.start()
    cluster.create_topic(TOPIC, (1, 2, 3), (2, 3, 1), (3, 1, 2), min_insync_replicas="2")
    traffic = Traffic(cluster.bootstrap_servers)
    in_sync(traffic)
    second = cluster.brokers[2]
    control_plane = f"127.0.0.1:{second.ports[1]}"
    client = cka.AdminClient({"bootstrap.servers": control_plane}, logger=logging.getLogger("client"))
    with pytest.raises(ck.KafkaException):
        client.list_topics(timeout=2)
    client.poll(0)
    assert "ApiVersionRequest failed: Broker: Policy violation" in caplog.text
    settings = tmp_path / "client.properties"
    settings.write_text("default.api.timeout.ms=2000\nrequest.timeout.ms=1000\n")
    options = ("--list", "--bootstrap-server", control_plane, "--command-config", str(settings))
    assert "Received error POLICY_VIOLATION from node" in apache_tool_complaint(TOPICS, *options)
    assert any("API_VERSIONS: this is the control plane" in line for line in second.output)
    traffic.write(TOPIC, 100)
    for broker in cluster.brokers.values():
        roll(broker, {})
        in_sync(traffic)
    traffic.assert_all_is_there(TOPIC)
    for broker in cluster.brokers.values():
        assert any("controlled shutdown succeeded" in line for line in broker.output)
        assert broker.stop() == 0
    served = {(each.api, each.plane) for each in arrived(cluster)}
    assert served | {("StopReplica", "control")} == {
        ("LeaderAndIsr", "control"),
        ("UpdateMetadata", "control"),
        ("StopReplica", "control"),  # may come too late for a broker that stops
        ("ControlledShutdown", "control"),
        ("AlterPartition", "data"),
    }


def test_apaches_broker_has_the_same_metrics(tmp_path: Path) -> None:
    """Apache Kafka 3.9 with ZooKeeper, over JMX: each metric of the proposal, and those that it narrows."""
    (port,) = free_ports(1)
    remote = ("port", str(port)), ("rmi.port", str(port)), ("authenticate", "false"), ("ssl", "false")
    options = tuple(f"-Dcom.sun.management.jmxremote.{name}={value}" for name, value in remote)
    assert isinstance(APACHE, Apache)
    with legacy_cluster(tmp_path) as running:
        broker = running.prepare(1, attrs.evolve(APACHE, jvm=(*APACHE.jvm, *options)))
        broker.settings = {**broker.settings, **broker.with_control_plane()}
        broker.start()
        url = f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{port}/jmxrmi"
        wanted = ("--object-name", "kafka.network:*", "--object-name", "kafka.server:type=KafkaRequestHandlerPool,*")
        page = apache_tool(JMX, "--jmx-url", url, "--one-time", *wanted, kind=APACHE_3)
    for metric in CONTROL_PLANE_METRICS:
        group, _, properties = metric.partition(":")
        for name in (properties, properties.replace("ControlPlane", "")):
            own = set(name.split(",")) - {"processor=0"}  # the planes share one count of processors
            assert any(found.startswith(f"{group}:") and own <= names_in(found) for found in page.split('"')), name


def names_in(attribute: str) -> set[str]:
    """The properties of the bean of an attribute: ``group:type=T,name=N:Value``."""
    return set(attribute.split(":")[1].split(",")) if attribute.count(":") == 2 else set()
