"""The node as a whole: planes that do not wait for each other, retention, restarts, disks that fail."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from kraft.api import list_groups
from kraft.api.context import BrokerContext
from kraft.config.broker import NodeConfig
from kraft.config.features import DEFAULT_METADATA_LEVEL
from kraft.config.properties import from_mapping
from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.list_groups_response import ListGroupsResponse
from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.metadata.levels import DIRECTORIES
from kraft.node.node import Node
from kraft.node.tree import render
from kraft.replication.replicas import Replicas
from kraft.rpc.channel import Reply, Request
from kraft.rpc.client import Disconnected, connect
from kraft.rpc.loop_watch import PAUSE_S
from kraft.rpc.trace import LoopHeld, RequestArrived
from kraft.storage.errors import StorageError
from kraft.storage.format import format_directories
from kraft.storage.node_directories import open_directories
from kraft.testing import embedded_node
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.steps import StepSampler
from tests.support.cluster_id import CLUSTER_ID
from tests.support.eventually import eventually_async
from tests.support.node_process import free_ports
from tests.support.nodes import connected, connected_to_controller, node_in
from tests.support.talk import EARLIEST, batch, create, end_offset, list_offset, produce, topic_id_of, values

SMALL_QUEUE = {"num.io.threads": "1", "queued.max.requests": "1"}


async def until(ask: Callable[[], bool]) -> None:
    """Let the other tasks run until it is so."""
    with trio.fail_after(30):
        while not ask():
            await trio.lowlevel.checkpoint()


async def test_the_controller_answers_while_the_data_plane_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """KIP-291: controller requests have a queue of their own, so a data plane whose handlers are all busy and whose
    queue is full does not hold them up."""
    release = trio.Event()
    handling: list[Request] = []

    async def stuck(broker: BrokerContext, request: Request, message: ListGroupsRequest) -> Reply:
        handling.append(request)
        await release.wait()
        return ListGroupsResponse()

    monkeypatch.setattr(list_groups, "at_broker", stuck)
    answered: list[str] = []

    async with embedded_node(settings=SMALL_QUEUE) as node, trio.open_nursery() as nursery:
        host, port = node.bootstrap_servers.split(":")

        async def ask(name: str) -> None:
            async with connect(host, int(port), client_id=name) as connection:
                connected_clients.append(name)
                await connection.request(ListGroupsRequest())
            answered.append(name)

        connected_clients: list[str] = []
        async with connected(node) as late:
            for number in range(4):
                nursery.start_soon(ask, f"client {number}")
            await until(lambda: bool(handling))
            async with connected_to_controller(node) as controller:
                for _ in range(30):
                    response = await controller.request(DescribeClusterRequest(endpoint_type=2), 1)
                    assert response.error_code == 0
                created = await controller.request(CreateTopicsRequest(topics=[CreatableTopic("orders", 1, 1)]))
                assert created.topics[0].error_code == 0
            assert (answered, len(handling)) == ([], 1), (
                "one is handled, one is queued, the others wait in their sockets"
            )
            with trio.move_on_after(0.1) as gave_up:
                await late.request(ApiVersionsRequest())
            assert gave_up.cancelled_caught
        release.set()
        await until(lambda: len(answered) == len(connected_clients) > 0)


async def test_each_listener_has_its_own_processors_and_each_plane_its_handlers() -> None:
    """Kafka's ControllerServer gives the controller's listeners acceptors of the data plane and ``num.io.threads``
    handlers; ``listener.name.<name>.num.network.threads`` is for one listener.
    """
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0,INTERNAL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "num.network.threads": "2",
        "listener.name.internal.num.network.threads": "4",
        "num.io.threads": "5",
    }
    async with embedded_node(settings=settings):
        tasks = [line.strip("│├└─ ") for line in render().splitlines()]
    listeners = Counter(task.split()[-1] for task in tasks if task.startswith("processor"))
    assert listeners == {"PLAINTEXT": 2, "INTERNAL": 4, "CONTROLLER": 2}
    handlers = Counter(task for task in tasks if task.startswith("handler"))
    assert handlers == {f"handler {number}": 2 for number in range(5)}


async def test_metrics_have_kafkas_names() -> None:
    """KIP-1207: of a node with both roles, ``ControllerRequestHandlerAvgIdlePercent`` is that of the controller."""
    (port,) = free_ports(1)
    settings = {"kraft.metrics.listener": f"127.0.0.1:{port}"}
    async with embedded_node(topics={"orders": 1}, settings=settings) as node, connected(node) as broker:
        await produce(broker, "orders", batch(b"a"))

        text = (await scrape(port)).lower()
    for name in (
        "kafka_network_requestchannel_requestqueuesize",
        "kafka_network_requestchannel_responsequeuesize",
        "kafka_network_socketserver_networkprocessoravgidlepercent",
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent",
        "kafka_network_socketserver_expiredconnectionskilledcount",
        "kafka_network_requestmetrics_totaltimems",
        "kafka_network_requestmetrics_requestspersec",
        "kafka_network_requestchannel_controllerrequestqueuesize",
        "kafka_server_kafkarequesthandlerpool_controllerrequesthandleravgidlepercent",
    ):
        assert name in text, name
    assert 'request="produce"' in text


async def scrape(port: int) -> str:
    """The response to Prometheus."""

    def ask() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
            text: str = response.read().decode()
            return text

    return await trio.to_thread.run_sync(ask)


async def test_metrics_are_served_while_there_is_no_quorum(tmp_path: Path) -> None:
    """Two of the three voters do not run, so the node does not get ready; this is when one looks at its metrics."""
    metrics, *controllers = free_ports(4)
    voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(controllers, 1))
    listeners = f"PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{controllers[0]}"
    own = {"controller.quorum.voters": voters, "listeners": listeners, "log.dirs": str(tmp_path)}
    config = from_mapping({**SETTINGS, **own, "kraft.metrics.listener": f"127.0.0.1:{metrics}"}).config
    format_directories(config, CLUSTER_ID, DEFAULT_METADATA_LEVEL, ignore_formatted=False)
    with open_directories(config) as directories:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Node(config, directories).run)

            async def served() -> str:
                try:
                    return await scrape(metrics)
                except urllib.error.URLError:
                    return ""

            assert "kafka_server_raft_metrics_current_leader -1.0" in await eventually_async(served)
            nursery.cancel_scope.cancel()


async def test_retention_by_size_takes_old_segments_away(tmp_path: Path) -> None:
    """``retention.bytes``, ``log.retention.check.interval.ms``, ``file.delete.delay.ms``."""
    settings = {"log.retention.check.interval.ms": "20", "log.segment.delete.delay.ms": "0"}
    configs = {"segment.bytes": "1048576", "retention.bytes": "1048576", "file.delete.delay.ms": "0"}
    async with node_in(tmp_path, settings) as node:
        await create(node.broker, "orders", configs=configs)
        for _ in range(40):
            assert (await produce(node.broker, "orders", batch(b"a" * 100_000))).error_code == 0
        with trio.fail_after(30):
            # Ten batches fill a segment; two segments together are the first to be no larger than allowed.
            while (start := (await list_offset(node.broker, "orders", EARLIEST)).offset) < 20:
                await trio.lowlevel.checkpoint()
        assert await end_offset(node.broker, "orders") == 40
        assert await values(node.broker, "orders", start)
        gone = tmp_path / "orders-0" / "00000000000000000000.log"
        await until(lambda: not gone.exists() and not list(gone.parent.glob("*.deleted")))
        node.kill()
    async with node_in(tmp_path, settings) as node:
        assert (await list_offset(node.broker, "orders", EARLIEST)).offset >= start


async def test_retention_by_time(tmp_path: Path) -> None:
    """``retention.ms``: by the timestamps of the records; the active segment goes as well."""
    settings = {"log.retention.check.interval.ms": "20"}
    async with node_in(tmp_path, settings) as node:
        await create(node.broker, "orders", configs={"retention.ms": "60000", "file.delete.delay.ms": "0"})
        assert (await produce(node.broker, "orders", batch(b"old", timestamp=1_600_000_000_000))).error_code == 0
        with trio.fail_after(30):
            while (await list_offset(node.broker, "orders", EARLIEST)).offset != 1:
                await trio.lowlevel.checkpoint()
        assert (await produce(node.broker, "orders", batch(b"new"))).base_offset == 1
        assert await values(node.broker, "orders", 1) == [b"new"]


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
async def test_everything_is_there_after_a_restart(tmp_path: Path, kill: bool) -> None:
    producer = {"producer_id": 77, "producer_epoch": 0}
    async with node_in(tmp_path) as node:
        topic_id = await create(node.broker, "orders", 2, {"max.message.bytes": "500"})
        for n in range(30):
            await produce(node.broker, "orders", batch(b"%d" % n, base_sequence=n, **producer))
        if kill:
            node.kill()
    async with node_in(tmp_path) as node:
        assert await values(node.broker, "orders") == [b"%d" % n for n in range(30)]
        assert await topic_id_of(node.broker, "orders") == topic_id
        again = await produce(node.broker, "orders", batch(b"29", base_sequence=29, **producer))
        assert (again.error_code, again.base_offset) == (0, 29), "the idempotent producer is remembered"
        assert (await produce(node.broker, "orders", batch(b"a" * 600))).error_code == 10
        assert await end_offset(node.broker, "orders") == 30


@pytest.mark.parametrize(("interval", "appends_when_idle"), [("0", False), ("500", True)])
async def test_the_journal_has_the_last_record_if_a_leader_is_never_silent(
    tmp_path: Path, interval: str, appends_when_idle: bool
) -> None:
    """``wrote_ms`` dates the end of a killed leader's term. Without ``metadata.max.idle.interval.ms`` a quiet cluster
    may have appended nothing for hours.
    """
    for _ in range(2):
        async with node_in(tmp_path, {"metadata.max.idle.interval.ms": interval}):
            pass
    lines = [json.loads(line) for line in (tmp_path / "quorum-journal.jsonl").read_text().splitlines()]
    again = [line for line in lines if line["kind"] == "start"][-1]
    assert (again["wrote_ms"] is not None) is appends_when_idle


async def test_an_upgraded_cluster_knows_the_directories_of_its_brokers(tmp_path: Path) -> None:
    """BrokerRegistrationTracker of Apache Kafka registers again once metadata.version has directories (KIP-858)."""
    settings = {"broker.heartbeat.interval.ms": "50"}
    config = from_mapping({**SETTINGS, "log.dirs": str(tmp_path)}).config
    format_directories(config, CLUSTER_ID, DIRECTORIES - 1, ignore_formatted=False)
    async with node_in(tmp_path, settings) as running:
        assert running.node.broker is not None
        replicas = running.node.broker.replicas
        epoch, own = replicas.broker_epoch, (running.node.directories[0].directory_id,)
        assert replicas.image.brokers[1].log_dirs == ()
        update = FeatureUpdateKey("metadata.version", DIRECTORIES, upgrade_type=1)
        response = await running.broker.request(UpdateFeaturesRequest(feature_updates=[update]))
        assert response.error_code == ErrorCode.NONE
        await until(lambda: replicas.image.brokers[1].log_dirs == own)
        assert (replicas.image.brokers[1].epoch, replicas.image.brokers[1].fenced) == (epoch, False)


async def test_a_deleted_record_stays_deleted_after_a_stop(tmp_path: Path) -> None:
    async with node_in(tmp_path) as node:
        await create(node.broker, "orders")
        for n in range(5):
            await produce(node.broker, "orders", batch(b"%d" % n))
        topics = [DeleteRecordsTopic("orders", [DeleteRecordsPartition(0, 3)])]
        await node.broker.request(DeleteRecordsRequest(topics=topics, timeout_ms=1000))
    async with node_in(tmp_path) as node:
        assert (await list_offset(node.broker, "orders", EARLIEST)).offset == 3


async def test_no_task_uses_the_logs_while_they_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in ``LogManager.shutdown``: a closed log refuses a flush, and that would end the node."""
    close = Replicas.close
    running: set[str] = set()

    async def watched(replicas: Replicas) -> None:
        running.update(line.strip("│├└─ ") for line in render().splitlines())
        await close(replicas)

    monkeypatch.setattr(Replicas, "close", watched)
    async with node_in(tmp_path) as node:
        await create(node.broker, "orders", configs={"flush.ms": "1"})
    assert "quorum" in running
    appending = {"coordinators", "fetchers", "publisher"}
    assert running.isdisjoint({"maintenance", "compaction", "moves between directories", *appending})


def failing_below(directory: Path) -> Callable[[int], None]:
    """An fdatasync that fails for the files of one node, not for those of one that other tests share."""
    sound = os.fdatasync

    def fdatasync(fd: int) -> None:
        if Path(f"/proc/self/fd/{fd}").readlink().is_relative_to(directory):
            raise OSError(5, "Input/output error")
        sound(fd)

    return fdatasync


async def test_a_failed_fsync_of_a_topic_stops_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel may report the error once and forget it. A node that continues has lost acknowledged records without
    notice.
    """

    stopped = pytest.RaisesExc(StorageError, match="orders-0.*durable.*Input/output error")
    with pytest.RaisesGroup(stopped, flatten_subgroups=True):
        async with node_in(tmp_path) as node:
            await create(node.broker, "orders", configs={"flush.messages": "1"})
            monkeypatch.setattr(os, "fdatasync", failing_below(tmp_path))
            with contextlib.suppress(Disconnected):  # the node may end before it answers
                for _ in range(2):
                    assert (await produce(node.broker, "orders", batch(b"a"))).error_code == 56
            await trio.sleep_forever()


async def test_a_failed_fsync_of_the_metadata_stops_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = pytest.RaisesExc(OSError, match="Input/output error.*__cluster_metadata-0")
    with pytest.RaisesGroup(stopped, flatten_subgroups=True):
        async with node_in(tmp_path) as node:
            monkeypatch.setattr(os, "fdatasync", failing_below(tmp_path))
            request = CreateTopicsRequest(topics=[CreatableTopic("orders", 1, 1)])
            with contextlib.suppress(Disconnected):
                await node.broker.request(request, timeout_s=30)
                raise AssertionError("answered what is not on disk")
            await trio.sleep_forever()


def broker_without_controller(directory: Path, **others: str) -> NodeConfig:
    """The configuration of a broker whose controller is absent. Its directory is formatted."""
    (port,) = free_ports(1)
    settings = {
        **SETTINGS,
        "process.roles": "broker",
        "node.id": "2",
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "controller.quorum.voters": f"1@127.0.0.1:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(directory),
        **{name.replace("_", "."): value for name, value in others.items()},
    }
    config = from_mapping(settings).config
    format_directories(config, CLUSTER_ID, DEFAULT_METADATA_LEVEL, ignore_formatted=False)
    return config


async def test_a_broker_that_finds_no_controller_can_be_stopped(tmp_path: Path) -> None:
    """And it does not leave logs marked as clean that it never opened, while its metadata log may have been written."""
    config = broker_without_controller(tmp_path)
    (tmp_path / ".kafka_cleanshutdown").touch()
    with open_directories(config) as directories, trio.fail_after(20):
        node = Node(config, directories)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node.run)
            await trio.sleep(0.3)
            node.stopping.set()
    assert not (tmp_path / ".kafka_cleanshutdown").exists()


async def test_a_broker_that_finds_no_controller_gives_up(tmp_path: Path) -> None:
    """initial.broker.registration.timeout.ms: "A broker that could not register for this long gives up."
    ``BrokerLifecycleManager.StartupEvent`` schedules it before the broker waits for metadata.
    """
    config = broker_without_controller(tmp_path, initial_broker_registration_timeout_ms="300")
    gave_up = pytest.RaisesExc(KafkaError, match="no controller was found within initial.broker.registration.timeout")
    with open_directories(config) as directories, trio.fail_after(20):
        with pytest.RaisesGroup(gave_up, flatten_subgroups=True):
            await Node(config, directories).run()


@pytest.mark.parametrize("limit_s", [0.0, 60.0])
async def test_a_stop_is_clean_only_if_the_metadata_log_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit_s: float
) -> None:
    """Quorum.run: without ``shut_down`` it "leaves the files as they are, as after a kill -9". The driver may be busy
    for the whole time that a stop allows.
    """
    monkeypatch.setattr("kraft.node.node._RESIGNATION_LIMIT_S", limit_s)
    async with node_in(tmp_path):
        pass
    assert (tmp_path / ".kafka_cleanshutdown").exists() == (limit_s > 0)


async def test_a_step_that_holds_the_event_loop_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A planted step of a connection's task lasts until the watch has looked at it for longer than a tenth of a
    second.
    """
    looked = threading.Semaphore(0)
    look = StepSampler.look

    def look_and_say(sampler: StepSampler, *arguments: float) -> float:
        looked.release()
        return look(sampler, *arguments)

    def hold(event: RequestArrived) -> None:
        if event.head.client_id == "slow":
            began_at = time.perf_counter()
            while time.perf_counter() - began_at < 2 * PAUSE_S or len(looks) < 5:
                assert looked.acquire(timeout=30)
                looks.append(time.perf_counter())

    looks: list[float] = []
    events: list[LoopHeld] = []
    monkeypatch.setattr(StepSampler, "look", look_and_say)
    async with node_in(tmp_path) as node:
        node.node.trace.subscribe(RequestArrived, hold)
        node.node.trace.subscribe(LoopHeld, events.append)
        broker = node.bound.broker["PLAINTEXT"]
        while looked.acquire(blocking=False):
            pass
        async with connect(broker.host, broker.port, client_id="slow") as connection:
            await connection.request(ListGroupsRequest())
        await until(lambda: any(event.head is not None and event.head.client_id == "slow" for event in events))
    assert "client 'slow' at 127.0.0.1" in caplog.text
    assert node.node.registry.get("kraft.server:type=EventLoop,name=EventLoopMaxPauseMs").value > PAUSE_S * 1000
    assert node.node.watch.longest is not None
