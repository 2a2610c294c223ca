"""Combined nodes in virtual time: brokers, controllers and clients in one run, which a seed repeats."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from kraft.client.consumer import Consumer
from kraft.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.quorum import flusher
from kraft.records.compression import Compression
from kraft.rpc.client import Connection
from kraft.simulation import virtual_time
from kraft.simulation.virtual_cluster import CLIENT_PORT, PORT, Costs
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION
from tests.simulation.virtual_brokers import Brokers, batch_of, brokers, create_topic, produce

ROOT = Path(__file__).parents[2]
SCRIPT = "import sys; from tests.simulation.test_virtual_brokers import run; print(run(sys.argv[1], 1))"


async def _produce_and_consume(directory: Path, seed: int, count: int) -> list[bytes | None]:
    async with brokers(directory, seed, count) as cluster, cluster.client() as client:
        await create_topic(client, "t", list(cluster.nodes))
        await produce(client, "t", 0, batch_of([b"one"]))
        await produce(client, "t", 0, batch_of([b"a" * 100_000], Compression.GZIP))
        consumer = Consumer(client, "t")
        await consumer.start(0, partitions=[0])
        read: list[bytes | None] = []
        while len(read) < 2:
            read += [each.record.value for each in await consumer.poll(1.0)]
        brokers_seen = await client.brokers()
        assert brokers_seen == list(range(1, count + 1))
        return read


@pytest.mark.parametrize("count", [1, 3])
def test_a_client_reads_from_combined_nodes_what_it_wrote(tmp_path: Path, count: int) -> None:
    """Topics are created through the active controller, with real files and a network in memory."""
    read = virtual_time.run(_produce_and_consume, tmp_path, 1, count, seed=1)
    assert read == [b"one", b"a" * 100_000]


async def _seconds(directory: Path, seed: int) -> float:
    await _produce_and_consume(directory, seed, 3)
    return trio.current_time()


def run(directory: str, seed: int) -> str:
    """A digest of the metadata log, of the partitions, and of the virtual time that their writing took."""
    seconds = virtual_time.run(_seconds, Path(directory), seed, seed=seed)
    digest = hashlib.sha256(f"{seconds}".encode())
    for path in sorted(Path(directory).glob("*/*/*.log")):
        digest.update(f"{path.relative_to(directory)}".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@pytest.mark.no_cover
def test_a_seed_writes_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    """The canary of whole nodes: metadata, records and times are those of the seed, whatever the hash seed."""
    here = [run(str(tmp_path / name), seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "d")],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
        timeout=100,
    )
    assert here[0] == here[1] == ran.stdout.strip() != here[2]
    assert list((tmp_path / "a").glob(f"*/{CLUSTER_METADATA_PARTITION}/*.log"))


async def _wait_beside_work(directory: Path) -> dict[str, float]:
    """The seconds of a request that works, and of others that begin a moment later."""
    costs = Costs(request_s=lambda request: 1.5 if request.client_id == "works" else 0.0)
    took_s: dict[str, float] = {}

    async def ask(cluster: Brokers, name: str, node_id: int, port: int) -> None:
        host = cluster.nodes[node_id].host
        transport = await cluster.network.dial(name)(host, port)
        connection = Connection(transport, name, 100)
        await trio.sleep(0 if name == "works" else 0.1)
        began = trio.current_time()
        await connection.handshake()
        took_s[name] = trio.current_time() - began

    async with brokers(directory, 1, costs=costs) as cluster:
        async with trio.open_nursery() as clients:
            clients.start_soon(ask, cluster, "works", 1, CLIENT_PORT)
            clients.start_soon(ask, cluster, "controller of the same node", 1, PORT)
            clients.start_soon(ask, cluster, "other node", 2, PORT)
    return took_s


def test_a_request_that_works_holds_the_whole_node_and_no_other(tmp_path: Path) -> None:
    """Costs: "seconds of work on a node". Both planes of a node share its event loop."""
    took_s = virtual_time.run(_wait_beside_work, tmp_path, seed=1)
    assert 1.5 < took_s["works"] < 1.6
    assert 1.3 < took_s["controller of the same node"] < 1.5
    assert took_s["other node"] < 0.02


async def _created_through(directory: Path, flush_s: float) -> tuple[bool, float]:
    """Create a topic through the slower follower, whose flushes take ``flush_s``. Return whether it shows the topic at
    once, and how long its response took.
    """
    async with brokers(directory, 1) as cluster, cluster.client() as client:
        leader = cluster.node(1).parts.quorum.leader_id
        assert leader is not None
        slow = leader % len(cluster.nodes) + 1
        await create_topic(client, "earlier", list(cluster.nodes))
        cluster.nodes[slow].disk_s = flush_s
        topic = CreatableTopic("t", -1, -1, [CreatableReplicaAssignment(0, [leader])])
        began = trio.current_time()
        created = await client.request(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), slow)
        took_s = trio.current_time() - began
        assert created.topics[0].error_code == 0
        request = MetadataRequest([MetadataRequestTopic(name="t")], allow_auto_topic_creation=False)
        shown = await client.request(request, slow)
        return shown.topics[0].error_code == 0, took_s


@pytest.mark.parametrize(("flush_s", "is_shown", "least_s", "most_s"), [(0.2, True, 0.2, 0.3), (1.5, False, 0.5, 0.6)])
def test_a_broker_shows_the_change_that_it_forwarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flush_s: float, is_shown: bool, least_s: float, most_s: float
) -> None:
    """``BrokerContext.change``: the leader and the quicker follower commit the topic before the slower one has it. The
    response waits for the slower one, for half a second at most.
    """
    monkeypatch.setattr(flusher, "_QUICK_S", 0.0)
    shown, took_s = virtual_time.run(_created_through, tmp_path, flush_s, seed=1)
    assert shown == is_shown
    assert least_s < took_s < most_s
