"""A producer in a thread of its own, which writes while nodes are killed."""

from __future__ import annotations

import threading
from typing import Any

import confluent_kafka as ck

from tests.support.eventually import eventually

LIMIT_S = 60.0
PAUSE_S = 0.005
CLIENT = {
    "broker.address.family": "v4",
    "log_level": "1",
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 200,
    "topic.metadata.refresh.interval.ms": 1000,
}


class Writer:
    """A thread that writes the numbers from 0 on, round the partitions, with an idempotent producer and acks=all."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int) -> None:
        self._topic = topic
        self._partitions = partitions
        settings: dict[str, Any] = {"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "linger.ms": 1}
        self._producer = ck.Producer({**CLIENT, **settings, "message.timeout.ms": 120_000})
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer")
        self.written = 0
        self.acknowledged: set[int] = set()
        self.failures: list[str] = []

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(LIMIT_S)
        self._producer.flush(LIMIT_S)

    def _run(self) -> None:
        while not self._done.wait(PAUSE_S):
            number = self.written
            self._producer.produce(
                self._topic,
                str(number),
                partition=number % self._partitions,
                on_delivery=lambda error, _, number=number: self._delivered(number, error),
            )
            self.written += 1
            self._producer.poll(0)

    def _delivered(self, number: int, error: Any) -> None:
        if error is None:
            self.acknowledged.add(number)
        else:
            self.failures.append(f"{number}: {error}")

    def wait_for_more(self, count: int) -> None:
        target = len(self.acknowledged) + count
        eventually(lambda: len(self.acknowledged) >= target, LIMIT_S)
