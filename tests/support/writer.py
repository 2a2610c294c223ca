"""A producer that writes numbers, whatever happens, and remembers which ones the cluster acknowledged."""

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
    """A thread that writes the numbers from 0 on, round the partitions, with an idempotent producer and acks=all.

    ``pause_s`` is the time between two records. A value is the number, padded with spaces to ``size`` bytes.
    """

    def __init__(
        self, bootstrap_servers: str, topic: str, partitions: int, *, pause_s: float = PAUSE_S, size: int = 0
    ) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap_servers,
            "enable.idempotence": True,
            "linger.ms": 1,
            # With several, librdkafka answers an OUT_OF_ORDER_SEQUENCE_NUMBER during an election with a new epoch, and
            # sends a record again that the former leader had stored (confluentinc/librdkafka#4953).
            "max.in.flight.requests.per.connection": 1,
        }
        self._producer = ck.Producer({**CLIENT, **settings, "message.timeout.ms": 120_000})
        self._topic = topic
        self._partitions = partitions
        self._size = size
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer")
        self.pause_s = pause_s
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
        while not self._done.wait(self.pause_s):
            number = self.written
            self._producer.produce(
                self._topic,
                str(number).ljust(self._size),
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
