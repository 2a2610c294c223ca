"""Partitions on three brokers that are killed, paused and stopped while a producer writes: nothing that was
acknowledged is lost, nothing is there twice, and the replicas end as the same bytes.

The order of faults is drawn from a seed, which is printed; ``KRAFT_REPLICATION_SEED=N`` draws another.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import confluent_kafka as ck
from confluent_kafka import admin as cka

from tests.support.cluster import BOTH, QUICK_FAILOVER, Cluster, Member, running_cluster
from tests.support.eventually import eventually
from tests.support.librdkafka import Consumer
from tests.support.node_process import OURS
from tests.support.replica_logs import assert_equal_replicas
from tests.support.writer import CLIENT, Writer

SEED = int(os.environ.get("KRAFT_REPLICATION_SEED", "903"))
CYCLES = 7
TOPIC = "orders"
PARTITIONS = 3
LIMIT_S = 60.0
FAULT_S = (0.0, 5.0)
"""A fault lasts some of this: from a hiccup to longer than a lease."""


def killed(cluster: Cluster, victim: int, lasts_s: float) -> None:
    cluster.nodes[victim].kill()
    _last(lasts_s)
    cluster.start(victim)


def paused(cluster: Cluster, victim: int, lasts_s: float) -> None:
    """It comes back with all its beliefs, and the requests that came meanwhile."""
    cluster.nodes[victim].pause()
    _last(lasts_s)
    cluster.nodes[victim].resume()


def stopped(cluster: Cluster, victim: int, lasts_s: float) -> None:
    assert cluster.nodes[victim].stop() == 0
    _last(lasts_s)
    cluster.start(victim)


def _last(seconds: float) -> None:
    until = time.monotonic() + seconds
    eventually(lambda: time.monotonic() >= until, seconds + 1)


FAULTS: tuple[Callable[[Cluster, int, float], None], ...] = (killed, paused, stopped)


def in_sync(admin: cka.AdminClient) -> list[set[int]]:
    partitions = admin.list_topics(TOPIC, timeout=LIMIT_S).topics[TOPIC].partitions
    return [set(each.isrs) for each in partitions.values()]


def read(bootstrap_servers: str) -> list[list[int]]:
    """The numbers in each partition."""
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": "unused", "enable.partition.eof": True}
    consumer = Consumer({**CLIENT, **settings, "enable.auto.commit": False})
    consumer.assign([ck.TopicPartition(TOPIC, number, ck.OFFSET_BEGINNING) for number in range(PARTITIONS)])
    found: list[list[int]] = [[] for _ in range(PARTITIONS)]
    ended: set[int] = set()

    def all_ended() -> bool:
        for message in consumer.consume(1000, 0.1):
            if message.error() is None:
                found[message.partition()].append(int(message.value()))
            elif message.error().code() == ck.KafkaError._PARTITION_EOF:
                ended.add(message.partition())
        return len(ended) == PARTITIONS

    eventually(all_ended, LIMIT_S)
    consumer.close()
    return found


def test_nothing_acknowledged_is_lost_or_there_twice(tmp_path: Path) -> None:
    print(f"KRAFT_REPLICATION_SEED={SEED}")
    chance = random.Random(SEED)
    with running_cluster(tmp_path, {number: Member(OURS, BOTH) for number in (1, 2, 3)}, **QUICK_FAILOVER) as cluster:
        everyone = set(cluster.brokers)
        admin = cka.AdminClient({"bootstrap.servers": cluster.bootstrap_servers, **CLIENT})
        topic = cka.NewTopic(TOPIC, PARTITIONS, len(everyone), config={"min.insync.replicas": "2"})
        admin.create_topics([topic])[TOPIC].result(LIMIT_S)
        with Writer(cluster.bootstrap_servers, TOPIC, PARTITIONS) as writer:
            for cycle in range(CYCLES):
                writer.wait_for_more(10)
                fault, victim = FAULTS[cycle % len(FAULTS)], chance.choice(sorted(everyone))
                lasts_s = chance.uniform(*FAULT_S)
                struck = time.monotonic()
                fault(cluster, victim, lasts_s)
                eventually(lambda: all(each == everyone for each in in_sync(admin)), LIMIT_S)
                whole_s = time.monotonic() - struck
                print(f"{fault.__name__} {victim} for {lasts_s:.1f} s: whole after {whole_s:.1f} s")
        assert not writer.failures
        assert len(writer.acknowledged) == writer.written
        expected = [list(range(number, writer.written, PARTITIONS)) for number in range(PARTITIONS)]
        assert read(cluster.bootstrap_servers) == expected, "each once, and in order"
        assert_equal_replicas(cluster, [(TOPIC, number) for number in range(PARTITIONS)], LIMIT_S)
        print(f"{writer.written} records")
        assert not [node_id for node_id, node in cluster.nodes.items() if "Traceback" in "".join(node.output)]
