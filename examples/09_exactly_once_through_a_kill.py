"""Exactly once: a pipeline is killed (-9) between its last record and its commit, and another process goes on.

Each transaction has three receipts, and the offset after the three orders that they are for. The second process uses
the same transactional id: it fences the first one, aborts its open transaction, and begins at the committed offset.

Needs confluent-kafka (`pip install confluent-kafka`).
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_STORED, Consumer, Producer, TopicPartition

ORDERS, BATCH = 9, 3
CLIENT = {"broker.address.family": "v4", "log_level": "1", "fetch.wait.max.ms": 20}


def consumer(servers: str, isolation_level: str, topic: str, offset: int) -> Any:
    """A consumer of partition 0, without a group's rebalances: a dead one is removed only after its session timeout."""
    settings = {"group.id": "pipeline", "enable.auto.commit": False, "enable.partition.eof": True}
    own = {"bootstrap.servers": servers, "isolation.level": isolation_level, "auto.offset.reset": "earliest"}
    made = Consumer({**CLIENT, **settings, **own})
    made.assign([TopicPartition(topic, 0, offset)])
    return made


def poll(reader: Any, limit: int) -> list[Any]:
    """Return the next records, fewer than ``limit`` only at the end of what this reader may see."""
    records = []
    while len(records) < limit and (message := reader.poll(30)) is not None and not message.error():
        records.append(message)
    return records


def pipeline(servers: str) -> None:
    """Consume, transform, produce. After each step it waits for a line, so that it can be killed there."""
    producer = Producer({**CLIENT, "bootstrap.servers": servers, "transactional.id": "receipts"})
    producer.init_transactions()
    reader = consumer(servers, "read_committed", "orders", OFFSET_STORED)
    while orders := poll(reader, BATCH):
        producer.begin_transaction()
        for order in orders:
            producer.produce("receipts", f"R{order.value().decode()}")
        position = TopicPartition("orders", 0, orders[-1].offset() + 1)
        producer.send_offsets_to_transaction([position], reader.consumer_group_metadata())
        producer.flush()
        step(f"wrote the receipts of orders {orders[0].offset()} to {orders[-1].offset()}")
        producer.commit_transaction()
        step("committed them, and the offset after them")
    step("reached the end")
    reader.close()


def step(what: str) -> None:
    print(what, flush=True)
    sys.stdin.readline()


def read(servers: str, isolation_level: str) -> list[str]:
    """Return all receipts that a consumer with this isolation level sees."""
    reader = consumer(servers, isolation_level, "receipts", OFFSET_BEGINNING)
    found = [receipt.value().decode() for receipt in poll(reader, 2 * ORDERS)]
    reader.close()
    return found


def run(servers: str, name: str, *, kill_at_step: int | None = None) -> None:
    """Run a pipeline in a process of its own, up to its end or to the step at which it is killed."""
    command = [sys.executable, __file__, servers]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for number, line in enumerate(process.stdout, 1):
            print(f"{name} {line.strip()}")
            if number == kill_at_step:
                process.kill()
                print(f"{name} is killed")
                break
            process.stdin.write("\n")
            process.stdin.flush()
    for isolation_level in ("read_uncommitted", "read_committed"):
        print(f"    {isolation_level}: {' '.join(read(servers, isolation_level))}")


if len(sys.argv) > 1:
    pipeline(sys.argv[1])
else:
    from kraft.testing import EmbeddedCluster

    with EmbeddedCluster(topics={"orders": 1, "receipts": 1}) as cluster:
        servers = cluster.bootstrap_servers
        shop = Producer({**CLIENT, "bootstrap.servers": servers})
        for number in range(ORDERS):
            shop.produce("orders", str(number))
        shop.flush()
        run(servers, "first pipeline", kill_at_step=3)
        run(servers, "second pipeline")
        assert read(servers, "read_committed") == [f"R{number}" for number in range(ORDERS)]
        print("each order has one receipt")
