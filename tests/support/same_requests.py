"""Two clusters on one ZooKeeper, one of Apache Kafka 3.9 and one of this project, which get the same requests."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import trio
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from kraft.rpc.client import connect
from kraft.wire.schema import Message
from tests.support.node_process import OURS
from tests.support.zookeeper_era import APACHE, LegacyCluster, legacy_cluster

CONTROLLER, OTHER = 1, 2
LIMIT_S = 60.0
ROOTS = ("/brokers/topics", "/config/topics", "/admin")
_TEXTS = ("error_message", "topic_id", "configs", "throttle_time_ms")


@attrs.frozen
class BothClusters:
    """Broker 1 is the controller of each. Requests go to it, or to broker 2."""

    apache: LegacyCluster
    ours: LegacyCluster
    client: KazooClient

    async def ask(self, message: Any, version: int, broker_id: int = CONTROLLER) -> tuple[Any, Any]:
        """The responses of both, without texts, ids and settings, and with the elements of arrays in one order."""
        both = []
        for cluster in (self.apache, self.ours):
            port = cluster.brokers[broker_id].ports[0]
            async with connect("127.0.0.1", port, "same requests") as connection:
                both.append(comparable(await connection.request(message, version, timeout_s=LIMIT_S)))
        return both[0], both[1]

    def znodes(self, name: str) -> dict[str, bytes]:
        """The data of the znodes for topics under a chroot, without the ids of topics."""
        found: dict[str, bytes] = {}

        def walk(path: str) -> None:
            with contextlib.suppress(NoNodeError):  # A controller deletes znodes meanwhile.
                data = self.client.get(path)[0] or b""
                found[path.removeprefix(name)] = re.sub(rb'"topic_id":"[^"]{22}"', b'"topic_id":""', data)
                for child in self.client.get_children(path):
                    walk(f"{path}/{child}")

        for root in ROOTS:
            walk(name + root)
        return found

    async def assert_same_znodes(self, after: str) -> None:
        """Wait until the znodes are the same to the byte."""
        with trio.move_on_after(LIMIT_S):
            while True:
                apache, ours = await trio.to_thread.run_sync(lambda: (self.znodes("/apache"), self.znodes("/ours")))
                if apache == ours:
                    return
                await trio.sleep(0.1)
        names = sorted(path for path in apache.keys() | ours.keys() if apache.get(path) != ours.get(path))
        raise AssertionError(
            "\n".join([after, *(f"{each}: {apache.get(each)!r}, {ours.get(each)!r}" for each in names)])
        )


def comparable(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(map(comparable, value), key=repr)
    if isinstance(value, Message):
        names = [each.name for each in value.FIELDS if each.name not in _TEXTS]
        return {name: comparable(getattr(value, name)) for name in names if not name.startswith("_")}
    return value


@contextlib.contextmanager
def both_clusters(directory: Path) -> Iterator[BothClusters]:
    """Two brokers each, of which broker 1 is the controller because it starts first."""
    with legacy_cluster(directory / "apache", zookeeper_session_timeout_ms="18000") as apache:
        ours = LegacyCluster(directory / "ours", apache.zookeeper, apache.settings)
        address = apache.zookeeper.address
        try:
            for node_id in (CONTROLLER, OTHER):
                apache.add(node_id, APACHE, zookeeper_connect=f"{address}/apache")
                ours.add(node_id, OURS, zookeeper_connect=f"{address}/ours")
            with apache.client() as client:
                yield BothClusters(apache, ours, client)
        finally:
            for broker in ours.brokers.values():
                broker.kill()
