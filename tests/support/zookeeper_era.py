"""A real ZooKeeper, and the brokers of a cluster that keeps its metadata there: Apache Kafka 3.9 and this project's.

Apache's jars contain ZooKeeper, so the two have one directory of jars.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from kraft.zookeeper.znodes.cluster import config_path, encode_config
from kraft.zookeeper.znodes.controllers import CONTROLLER, ControllerZnode, decode_controller
from kraft.zookeeper.znodes.topics import ReplicaAssignment, TopicAssignment, encode_topic, topic_path
from tests.support.apache_process import APACHE_3
from tests.support.node_process import Kind, NodeProcess
from tests.support.zookeeper_process import ZooKeeperEnsemble, ZooKeeperProcess


@attrs.define
class LegacyBroker(NodeProcess):
    """A broker without ``process.roles``: of this project, or Apache's, which may be the controller."""

    node_id: int = 0
    zookeeper_connect: str = ""

    def format(self) -> None:
        """Write the properties. A broker with ZooKeeper formats its directory itself."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.properties_path.write_text("".join(f"{key}={value}\n" for key, value in self.properties().items()))

    def properties(self) -> dict[str, str]:
        return {
            "broker.id": str(self.node_id),
            "zookeeper.connect": self.zookeeper_connect,
            "zookeeper.session.timeout.ms": "6000",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.ports[0]}",
            "log.dirs": str(self.log_directory),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "3",
            "group.initial.rebalance.delay.ms": "0",
            "controlled.shutdown.retry.backoff.ms": "500",
            **self.settings,
        }

    def with_control_plane(self) -> dict[str, str]:
        """The settings of KIP-291."""
        client, control = self.ports
        return {
            "listeners": f"PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{control}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "control.plane.listener.name": "CONTROLLER",
        }


@attrs.define
class LegacyCluster:
    """A ZooKeeper and brokers by id. The test starts and stops each as it likes."""

    directory: Path
    zookeeper: ZooKeeperProcess | ZooKeeperEnsemble
    settings: Mapping[str, str] = attrs.Factory(dict)
    brokers: dict[int, LegacyBroker] = attrs.Factory(dict)
    chroot: str = ""

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(broker.bootstrap_servers for broker in self.brokers.values())

    def add(self, node_id: int, kind: Kind, **settings: str) -> LegacyBroker:
        """Start a broker. Settings: dots written as underscores."""
        broker = self.prepare(node_id, kind, **settings)
        broker.start()
        return broker

    def prepare(self, node_id: int, kind: Kind, **settings: str) -> LegacyBroker:
        """Add a broker that is not running."""
        own = {key.replace("_", "."): value for key, value in settings.items()}
        broker = LegacyBroker(
            self.directory / f"broker-{node_id}",
            {**self.settings, **own},
            kind=kind,
            node_id=node_id,
            zookeeper_connect=self.zookeeper.address + self.chroot,
        )
        self.brokers[node_id] = broker
        return broker

    def create_topic(self, topic: str, *replicas: tuple[int, ...], **configs: str) -> None:
        """Create the znodes of a topic, as ``kafka-topics --zookeeper`` did. A controller takes it in by its watch."""
        values = {key.replace("_", "."): value for key, value in configs.items()}
        assigned = {index: ReplicaAssignment(each) for index, each in enumerate(replicas)}
        with self.client() as client:
            client.create(config_path("topics", topic), encode_config(values), makepath=True)
            client.create(topic_path(topic), encode_topic(TopicAssignment(uuid.uuid4(), assigned)))

    @contextlib.contextmanager
    def client(self) -> Iterator[KazooClient]:
        """A session with ZooKeeper."""
        client = KazooClient(self.zookeeper.address + self.chroot)
        client.start(CLIENT_TIMEOUT_S)
        try:
            yield client
        finally:
            client.stop()
            client.close()

    def controller(self) -> ControllerZnode | None:
        """The data of /controller; None while no broker is elected."""
        with self.client() as client, contextlib.suppress(NoNodeError):
            return decode_controller(client.get(CONTROLLER)[0])
        return None


CLIENT_TIMEOUT_S = 30.0
APACHE: Kind = attrs.evolve(APACHE_3, ready_mark=r"\[KafkaServer id=\d+\] started")
"""Its broker and controller in one class, whose last line at the start is another one than that of a KRaft node."""


@contextlib.contextmanager
def legacy_cluster(directory: Path, servers: int = 1, **settings: str) -> Iterator[LegacyCluster]:
    """A cluster with a running ZooKeeper and no broker yet; all its processes are gone when the block ends."""
    shared = {key.replace("_", "."): value for key, value in settings.items()}
    single = servers == 1
    zookeeper = ZooKeeperProcess(directory / "zookeeper") if single else ZooKeeperEnsemble.of(directory, servers)
    cluster = LegacyCluster(directory, zookeeper, shared)
    try:
        cluster.zookeeper.start()
        yield cluster
    finally:
        for broker in cluster.brokers.values():
            broker.kill()
        cluster.zookeeper.kill()
