"""Clusters, topics and records for the tests of Spark's sources and sinks."""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import confluent_kafka as ck
from confluent_kafka import admin as cka

from kraft.testing import EmbeddedCluster
from tests.support.cluster import BOTH, Member, running_cluster
from tests.support.eventually import eventually
from tests.support.node_process import OURS

LIMIT_S = 60.0
SETTINGS = {"log.retention.check.interval.ms": "300"}
"""A test of retention waits for it; a foreign cluster needs it too."""

_CLIENT = {"broker.address.family": "v4", "log_level": 1}
_names = itertools.count()


@attrs.frozen(kw_only=True)
class Record:
    """A record to produce. ``timestamp_ms`` 0 is the time of producing it."""

    partition: int = 0
    key: bytes | None = None
    value: bytes | None = None
    timestamp_ms: int = 0
    headers: list[tuple[str, bytes | None]] = attrs.Factory(list)


@attrs.frozen
class Brokers:
    """A cluster. ``replicas`` is the replication factor of the topics that it is given."""

    servers: str
    replicas: int = 1
    prefix: str = attrs.Factory(lambda: f"t{uuid.uuid4().hex[:6]}")
    admin: cka.AdminClient = attrs.field(init=False, repr=False)

    @admin.default
    def _connect(self) -> cka.AdminClient:
        return cka.AdminClient({"bootstrap.servers": self.servers, **_CLIENT})

    def name(self, stem: str) -> str:
        """Return a topic name that no other call returns."""
        return f"{self.prefix}.{next(_names)}.{stem}"

    def topic(self, stem: str, partitions: int = 1, **configs: str) -> str:
        """Create a topic and return its name. Underscores in the names of ``configs`` stand for dots."""
        name = self.name(stem)
        # Retention would delete the old timestamps of the tests.
        settings = {"retention.ms": "-1", **{key.replace("_", "."): value for key, value in configs.items()}}
        if self.replicas > 1:
            settings["min.insync.replicas"] = str(self.replicas - 1)
        new = cka.NewTopic(name, partitions, self.replicas, config=settings)
        self.admin.create_topics([new])[name].result(LIMIT_S)
        eventually(lambda: self._has_leaders(name, partitions), LIMIT_S)
        return name

    def _has_leaders(self, name: str, partitions: int) -> bool:
        """Whether every broker shows the partitions: a client may ask any of them, and none has the metadata first."""
        for server in self.servers.split(","):
            new_client = cka.AdminClient({"bootstrap.servers": server, **_CLIENT})  # it knows no other broker yet
            known = new_client.list_topics(timeout=LIMIT_S).topics.get(name)
            leaders = [] if known is None else [each.leader for each in known.partitions.values()]
            if len(leaders) != partitions or min(leaders) < 0:
                return False
        return True

    def leader(self, topic: str, partition: int) -> int:
        """Return the id of the broker that leads the partition."""

        def ask() -> int:
            known = self.admin.list_topics(timeout=LIMIT_S).topics.get(topic)
            return 0 if known is None else max(int(known.partitions[partition].leader), 0)

        return eventually(ask, LIMIT_S)

    def produce(self, topic: str, records: Iterable[Record], **settings: str) -> None:
        """Produce with acks=all in the order given, and wait for every acknowledgement."""
        options = {key.replace("_", "."): value for key, value in settings.items()}
        producer = ck.Producer({"bootstrap.servers": self.servers, "enable.idempotence": True, **_CLIENT, **options})
        failures: list[Any] = []
        for record in records:
            producer.produce(
                topic,
                record.value,
                record.key,
                record.partition,
                on_delivery=lambda error, _: failures.append(error) if error else None,
                timestamp=record.timestamp_ms,
                headers=record.headers,
            )
            producer.poll(0)
        assert producer.flush(LIMIT_S) == 0
        assert not failures

    def delete_before(self, topic: str, offset: int) -> None:
        """Delete the records of partition 0 below ``offset`` (KIP-107)."""
        wanted = ck.TopicPartition(topic, 0, offset)
        self.admin.delete_records([wanted])[wanted].result(LIMIT_S)

    def earliest(self, topic: str) -> int:
        """Return the log start offset of partition 0."""
        return self._offset(topic, cka.OffsetSpec.earliest())

    def latest(self, topic: str) -> int:
        """Return the high watermark of partition 0."""
        return self._offset(topic, cka.OffsetSpec.latest())

    def _offset(self, topic: str, spec: cka.OffsetSpec) -> int:
        partition = ck.TopicPartition(topic, 0)
        return int(self.admin.list_offsets({partition: spec})[partition].result(LIMIT_S).offset)

    def grow(self, topic: str, partitions: int) -> None:
        """Add partitions until there are ``partitions``, and wait until every broker shows them."""
        self.admin.create_partitions([cka.NewPartitions(topic, partitions)])[topic].result(LIMIT_S)
        eventually(lambda: self._has_leaders(topic, partitions), LIMIT_S)

    def alter(self, topic: str, setting: str, value: str) -> None:
        """Set one of the topic's configs."""
        entry = cka.ConfigEntry(setting, value, incremental_operation=cka.AlterConfigOpType.SET)
        resource = cka.ConfigResource(cka.ResourceType.TOPIC, topic, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(LIMIT_S)


@contextlib.contextmanager
def one_broker() -> Iterator[Brokers]:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        yield Brokers(cluster.bootstrap_servers)


@contextlib.contextmanager
def three_brokers(directory: Path) -> Iterator[Brokers]:
    """Three combined nodes, each in a process of its own."""
    settings = {key.replace(".", "_"): value for key, value in SETTINGS.items()}
    with running_cluster(directory, {number: Member(OURS, BOTH) for number in (1, 2, 3)}, **settings) as cluster:
        yield Brokers(cluster.bootstrap_servers, replicas=3)
