"""Produce and consume with a real client library, against a real broker, in one process: the shape of a test.

Needs kafka-python (`pip install kafka-python`). With pytest, use the fixture `kraft_cluster` instead of the with
block.
"""

from __future__ import annotations

import warnings

warnings.filterwarnings("ignore", category=DeprecationWarning, module="kafka")

from kafka import KafkaConsumer, KafkaProducer  # noqa: E402

from kraft.testing import EmbeddedCluster  # noqa: E402

with EmbeddedCluster(topics={"greetings": 1}) as cluster:
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    for word in ("hello", "kafka", "world"):
        record = producer.send("greetings", word.encode()).get(timeout=10)
        print(f"produced {word!r} at offset {record.offset}")
    producer.close()

    consumer = KafkaConsumer(
        "greetings", bootstrap_servers=cluster.bootstrap_servers, group_id="readers", auto_offset_reset="earliest"
    )
    for _ in range(3):
        record = next(consumer)
        print(f"consumed {record.value.decode()!r} from offset {record.offset}")
    consumer.close()
