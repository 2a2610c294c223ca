"""Brokers with ZooKeeper in virtual time: their planes, their metrics, and the end of both."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from kraft.api import metadata
from kraft.client.cluster import open_cluster
from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.controlled_shutdown_request import ControlledShutdownRequest
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.metadata_response import MetadataResponse
from kraft.messages.registry import ApiKey
from kraft.messages.update_metadata_request import UpdateMetadataRequest
from kraft.metadata.steps import finished
from kraft.metrics import Histogram, Meter
from kraft.metrics.prometheus import render
from kraft.rpc.client import Disconnected, connect
from kraft.rpc.trace import RequestCompleted
from kraft.simulation import virtual_time
from kraft.simulation.virtual_cluster import Costs
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.znodes.brokers import broker_path
from kraft.zookeeper.znodes.topics import decode_state, state_path, topic_path
from tests.simulation.virtual_brokers import batch_of, produce
from tests.simulation.virtual_legacy import (
    CONTROL_PLANE_METRICS,
    CONTROL_PORT,
    DATA_PORT,
    LegacyBrokers,
    legacy_brokers,
)
from tests.simulation.virtual_world import until

NODES = (1, 2, 3)


async def created(cluster: LegacyBrokers, topic: str) -> None:
    """Create a topic, whose partition 0 node 1 leads, and so on. Return once each node has its replicas."""
    cluster.zookeeper.create_topic(topic, (1, 2, 3), (2, 3, 1), (3, 1, 2))
    await until("each node has the topic", lambda: all(hosted(cluster, node_id, topic) for node_id in NODES))


def hosted(cluster: LegacyBrokers, node_id: int, topic: str) -> bool:
    broker = cluster.nodes[node_id].running.broker
    assert broker is not None
    known = broker.image.topic(topic)
    return known is not None and len(known.partitions) == len(NODES) == len(broker.replicas.partitions.get(topic, {}))


async def _write(directory: Path) -> dict[tuple[str, str], set[int]]:
    """Write to three partitions. Return the requests by node and plane."""
    seen: dict[tuple[str, str], set[int]] = {}

    def note(event: RequestCompleted) -> None:
        seen.setdefault((event.head.plane, event.head.listener), set()).add(event.head.api_key)

    async with legacy_brokers(directory) as cluster:
        for node in cluster.nodes.values():
            node.running.trace.subscribe(RequestCompleted, note)
        await created(cluster, "t")
        servers = ",".join(f"{node.host}:{DATA_PORT}" for node in cluster.nodes.values())
        async with open_cluster(servers, "client", dial=cluster.network.dial("client")) as client:
            for index in range(len(NODES)):
                await produce(client, "t", index, batch_of([b"one"]))
    return seen


def test_the_requests_of_the_controller_have_a_plane_and_clients_and_followers_another(tmp_path: Path) -> None:
    """ "The two new threads are exclusively for requests from the controller and do not handle data plane requests"."""
    seen = virtual_time.run(_write, tmp_path)
    to_controller = {ApiKey.API_VERSIONS, ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS}
    from_controller = {ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA}
    assert set(seen) == {("control", "CONTROLLER"), ("data", "PLAINTEXT")}
    assert from_controller <= seen["control", "CONTROLLER"] <= from_controller | to_controller
    assert {ApiKey.PRODUCE, ApiKey.FETCH} <= seen["data", "PLAINTEXT"]
    assert not seen["data", "PLAINTEXT"] & from_controller


async def _metrics(directory: Path, has_control_plane: bool) -> tuple[set[str], str]:
    """Return the names of all metrics of a broker, and its page of metrics."""
    async with legacy_brokers(directory, count=1, has_control_plane=has_control_plane) as cluster:
        registry = cluster.nodes[1].running.registry
        return {str(name) for name, _ in registry}, finished(render(registry)).decode()


def test_the_metrics_of_the_proposal_have_kafkas_names(tmp_path: Path) -> None:
    """ "new metrics to show the size of the new control plane request and response queues", the idle ratios of its
    network thread and of its handler, and "the number of expired connections that were disconnected on the control
    plane". They are served where all metrics of the node are.
    """
    names, page = virtual_time.run(_metrics, tmp_path, True)
    assert names >= CONTROL_PLANE_METRICS
    assert names >= {name.replace("ControlPlane", "") for name in CONTROL_PLANE_METRICS}
    for metric in ("requestqueuesize", "responsequeuesize"):
        assert f"kafka_network_requestchannel_controlplane{metric} 0.0" in page
    assert "kafka_server_kafkarequesthandlerpool_controlplanerequesthandleravgidlepercent" in page


def test_without_the_setting_there_is_no_metric_of_a_control_plane(tmp_path: Path) -> None:
    """ "if the config is not set ... there will be no dedicated acceptor, network processor, or request handler"."""
    names, _ = virtual_time.run(_metrics, tmp_path, False)
    assert not [name for name in names if "ControlPlane" in name]


async def _busy(directory: Path) -> dict[str, float]:
    """Return the metrics of both planes while 30 requests of clients work for a second each."""

    def work_s(request: Any) -> float:
        return 1.0 if request.connection.listener == "PLAINTEXT" and request.client_id == "load" else 0.0

    async with legacy_brokers(directory, count=1, costs=Costs(work_s), num_io_threads="1") as cluster:
        registry, dial = cluster.nodes[1].running.registry, cluster.network.dial("load")

        async def load() -> None:
            async with connect("node-1", DATA_PORT, "load", timeout_s=1000, dial=dial) as connection:
                await connection.request(MetadataRequest(topics=[]), 9)

        await trio.sleep(1)  # the broker has connected to its own control plane
        async with trio.open_nursery() as clients:
            for _ in range(30):
                clients.start_soon(load)
            await trio.sleep(20)
            found = {str(name): metric.value for name, metric in registry if not isinstance(metric, Histogram | Meter)}
            clients.cancel_scope.cancel()
        return found


def test_the_metrics_of_the_data_plane_leave_the_control_plane_out(tmp_path: Path) -> None:
    """RequestQueueSize shows "the size of the data request queue only", and the idle ratios "only cover the threads for
    data plane".
    """
    found = virtual_time.run(_busy, tmp_path)
    queue = "kafka.network:type=RequestChannel,name={}RequestQueueSize"
    handlers = "kafka.server:type=KafkaRequestHandlerPool,name={}RequestHandlerAvgIdlePercent"
    assert found[queue.format("")] > 1
    assert found[queue.format("ControlPlane")] == 0
    assert found[handlers.format("")] < 0.2
    assert found[handlers.format("ControlPlane")] > 0.9


async def _stopped(directory: Path) -> tuple[float, float, float]:
    """Stop a broker whose client has a Fetch in flight. Return when that had its response, when the data plane ended,
    and when the control plane did.
    """
    # A broker that gives its leaderships away answers the Fetch at once.
    settings = {"controlled_shutdown_enable": "false"}
    async with legacy_brokers(directory, **settings) as cluster, trio.open_nursery() as tasks:
        await created(cluster, "t")
        dial, ended_at = cluster.network.dial("client"), {DATA_PORT: 0.0, CONTROL_PORT: 0.0}
        answered_at = 0.0

        async def fetch() -> None:
            nonlocal answered_at
            partition = FetchPartition(partition=1, fetch_offset=0, partition_max_bytes=1)
            request = FetchRequest(max_wait_ms=3_000, min_bytes=1, topics=[FetchTopic("t", partitions=[partition])])
            async with connect("node-2", DATA_PORT, "client", dial=dial) as connection:
                await connection.request(request, 12)
            answered_at = trio.current_time()

        async def watch(port: int) -> None:
            """Note when a connection is closed that had responses before. An old epoch of the controller changes
            nothing.
            """
            versions = {int(UpdateMetadataRequest.API_KEY): (8, 8), int(MetadataRequest.API_KEY): (9, 9)}
            request = MetadataRequest(topics=[]) if port == DATA_PORT else UpdateMetadataRequest(controller_epoch=0)
            with suppress(Disconnected):
                async with connect("node-2", port, "client", dial=dial, versions=versions) as connection:
                    while True:
                        await connection.request(request)
                        await trio.sleep(0.05)
            ended_at[port] = trio.current_time()

        tasks.start_soon(fetch)
        for port in ended_at:
            tasks.start_soon(watch, port)
        await trio.sleep(1)
        await cluster.nodes[2].stop()
        tasks.cancel_scope.deadline = trio.current_time() + 10
    return answered_at, ended_at[DATA_PORT], ended_at[CONTROL_PORT]


def test_the_control_plane_serves_the_controller_until_clients_have_their_responses(tmp_path: Path) -> None:
    """Kafka's shutdown ends the data plane's acceptors and handlers first (SocketServer.stopProcessingRequests and
    KafkaServer.shutdown).
    """
    answered_at, data_ended_at, control_ended_at = virtual_time.run(_stopped, tmp_path)
    assert data_ended_at + 1 < answered_at <= control_ended_at


async def _one_is_forced(directory: Path) -> set[tuple[int, str]]:
    """Restart a broker, while the controller alone has a forced control plane. Return the senders of AlterPartition,
    with the listener.
    """
    seen = set()

    def note(event: RequestCompleted) -> None:
        if event.head.api_key == ApiKey.ALTER_PARTITION:
            seen.add((int(event.head.client_id or ""), event.head.listener))

    forced = {"control.plane.force.controller.requests.enable": "true"}
    async with legacy_brokers(directory, first=forced) as cluster:
        await created(cluster, "t")
        cluster.nodes[1].running.trace.subscribe(RequestCompleted, note)
        await cluster.restart(3)
        await until(
            "broker 3 is in each ISR", lambda: all(len(isr(cluster, index)) == len(NODES) for index in range(3))
        )
    return seen


def isr(cluster: LegacyBrokers, index: int) -> tuple[int, ...]:
    znode = cluster.zookeeper.tree.znodes[state_path("t", index)]
    return decode_state("t", index, znode.data, znode.version).isr


def test_isr_changes_find_a_controller_whose_plane_alone_is_forced(tmp_path: Path) -> None:
    """While the extension is switched on broker by broker, a broker learns from the refusal which planes are forced."""
    assert (2, "PLAINTEXT") in virtual_time.run(_one_is_forced, tmp_path)


async def _late(directory: Path) -> int:
    """Let the requests of clients take longer than the pause between two checks of the leaders' balance."""
    costs = Costs(lambda request: 3.0 if request.client_id == "load" else 0.0)
    async with legacy_brokers(directory, count=1, costs=costs, leader_imbalance_check_interval_seconds="1") as cluster:
        dial = cluster.network.dial("load")
        async with connect("node-1", DATA_PORT, "load", timeout_s=1000, dial=dial) as connection:
            for number in range(5):
                cluster.zookeeper.create_topic(f"t{number}", (1,))
                await connection.request(MetadataRequest(topics=[]), 9)
        return cluster.zookeeper.controller()


def test_a_controller_that_is_late_for_its_deadline_goes_on(tmp_path: Path) -> None:
    """Work of the data plane holds the event loop of both, and the deadline of the balance passes meanwhile."""
    assert virtual_time.run(_late, tmp_path) == 1


async def _automatic(directory: Path, node_id: int, replication_factor: str) -> ErrorCode:
    """Ask a broker for a topic that does not exist, and return the error of the first answer."""
    async with legacy_brokers(directory, default_replication_factor=replication_factor) as cluster:
        node = cluster.nodes[node_id]
        async with connect(node.host, DATA_PORT, "client", dial=cluster.network.dial("client")) as client:
            response = await client.request(MetadataRequest(topics=[MetadataRequestTopic(name="new")]))
    assert isinstance(response, MetadataResponse)
    return ErrorCode(response.topics[0].error_code)


@pytest.mark.parametrize(
    ("node_id", "replication_factor", "code"),
    [
        (1, "1", "LEADER_NOT_AVAILABLE"),
        (1, "4", "INVALID_REPLICATION_FACTOR"),
        (2, "1", "UNKNOWN_TOPIC_OR_PARTITION"),
        (2, "4", "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_the_controllers_broker_says_what_becomes_of_a_topic_that_it_creates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node_id: int, replication_factor: str, code: str
) -> None:
    """createTopicsInZk of Kafka's DefaultAutoTopicCreationManager has the error of the creation, or
    LEADER_NOT_AVAILABLE for none. Other brokers send CreateTopics, and say UNKNOWN_TOPIC_OR_PARTITION."""
    if code == "LEADER_NOT_AVAILABLE":
        monkeypatch.setattr(metadata, "CREATION_WAIT_S", 0)
    assert virtual_time.run(_automatic, tmp_path, node_id, replication_factor) == ErrorCode[code]


async def _proposal_beside_a_creation(directory: Path) -> bool:
    """Create a topic while broker 2 shuts down, which gets no leaderships. Return whether the controller responds to
    AlterPartition meanwhile.
    """
    async with legacy_brokers(directory, count=2, num_partitions="2") as cluster:
        node, tree = cluster.nodes[1].running, cluster.zookeeper.tree
        assert node.broker is not None
        shutdown = ControlledShutdownRequest(broker_id=2, broker_epoch=tree.znodes[broker_path(2)].created_zxid)
        assert (await node.controller.answer(shutdown, 3)).error_code == ErrorCode.NONE
        creation = node.broker.auto_topics.create(["new"])
        await until("the topic is created", lambda: topic_path("new") in tree.znodes)
        proposal = AlterPartitionRequest(broker_id=1, broker_epoch=node.broker.replicas.broker_epoch)
        with trio.move_on_after(10):
            await node.broker.channel.request(proposal, 3)
            return creation is not None and not creation.answered.is_set()
    return False


def test_isr_changes_do_not_wait_for_the_leaders_of_a_topic_that_is_created(tmp_path: Path) -> None:
    """KafkaServer has a NodeToControllerChannelManager for AlterPartition alone. The response to CreateTopics comes
    after 30 s if a partition gets no leader, and a connection has its responses in order."""
    assert virtual_time.run(_proposal_beside_a_creation, tmp_path)
