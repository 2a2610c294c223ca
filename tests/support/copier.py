"""A program that copies a partition exactly once: it consumes, produces, and commits its position, in transactions.

Coordinators and leaders may fail meanwhile. The program does what Kafka's documentation asks of it: it repeats a call
after a retriable error, aborts after an error that requires it, and starts again with a new producer after a fatal one.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import confluent_kafka as ck

from tests.support.eventually import eventually
from tests.support.librdkafka import Consumer
from tests.support.writer import CLIENT

LIMIT_S = 60.0
BATCH = 5
ABORTED_EVERY = 4
"""Every fourth transaction is aborted on purpose, with a record that no reader may see."""
GROUP = "copier"
"""The group, and the transactional id."""
ABORTED = b"aborted"
PRODUCER = {"linger.ms": 0, "transaction.timeout.ms": 300_000}
_CALL_S = 10.0


def insist(call: Callable[..., Any], *arguments: Any, limit_s: float = LIMIT_S) -> Any:
    """Repeat a call of a transaction while its error is retriable.

    Raises:
        KafkaException: another error, or the last one at ``limit_s``.
    """
    until = time.monotonic() + limit_s
    while True:
        try:
            return call(*arguments, _CALL_S)
        except ck.KafkaException as failed:
            if not failed.args[0].retriable() or time.monotonic() > until:
                raise


class Copier:
    """A thread that copies partition 0 of ``source`` to each of the first ``partitions`` of ``target``.

    It runs until the block ends, and then until all of ``source`` is copied, unless the block failed. ``copied`` is
    its position, and ``failures`` are errors that it survived.
    """

    def __init__(self, bootstrap_servers: str, source: str, target: str, partitions: int) -> None:
        self._settings: dict[str, Any] = {"bootstrap.servers": bootstrap_servers, **CLIENT}
        consumer = {"group.id": GROUP, "enable.auto.commit": False, "isolation.level": "read_committed"}
        self._consumer = Consumer({**self._settings, **consumer})
        self._source = source
        self._target = target
        self._partitions = partitions
        self._last = threading.Event()
        self._thread = threading.Thread(target=self._run, name="copier", daemon=True)
        self._end = 0
        self.copied = 0
        self.committed = 0
        self.aborted = 0
        self.failures: list[str] = []

    def __enter__(self) -> Copier:
        self._thread.start()
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if failure is not None:
            self._last.set()  # librdkafka may be in a call that takes long, so the thread is not joined
            return
        where = ck.TopicPartition(self._source, 0)
        with contextlib.closing(Consumer({**self._settings, "group.id": "unused"})) as consumer:
            _, self._end = consumer.get_watermark_offsets(where, LIMIT_S)
        self._last.set()
        self._thread.join(2 * LIMIT_S)
        assert self.copied >= self._end, (self.copied, self._end, self.failures)
        self._consumer.close()

    def wait_for_more(self, count: int) -> None:
        """Wait until ``count`` more transactions are committed."""
        target = self.committed + count
        eventually(lambda: self.committed >= target, LIMIT_S)

    def _run(self) -> None:
        while not self._is_done():
            try:
                self._copy()
            except ck.KafkaException as failed:
                self.failures.append(str(failed))

    def _is_done(self) -> bool:
        return self._last.is_set() and self.copied >= self._end

    def _copy(self) -> None:
        """Copy with one producer, until all is copied. Raises KafkaException after a fatal error."""
        producer = ck.Producer({**self._settings, **PRODUCER, "transactional.id": GROUP})
        insist(producer.init_transactions)
        self._rewind()
        messages: list[Any] = []
        while not self._is_done():
            messages = messages or self._consume()
            if not messages:
                continue
            try:
                self._transaction(producer, messages)
            except ck.KafkaException as failed:
                if not failed.args[0].txn_requires_abort():
                    raise
                self.failures.append(str(failed))
                insist(producer.abort_transaction)
            else:
                messages = []

    def _consume(self) -> list[Any]:
        messages = self._consumer.consume(BATCH, 0.1)
        self.failures += [str(each.error()) for each in messages if each.error() is not None]
        return [each for each in messages if each.error() is None]

    def _transaction(self, producer: Any, messages: list[Any]) -> None:
        """Copy the messages in a transaction, sometimes after one that is aborted on purpose."""
        position = messages[-1].offset() + 1
        if (self.committed + self.aborted) % ABORTED_EVERY == 0:
            self._fill(producer, [ABORTED], position)
            assert producer.flush(LIMIT_S) == 0
            insist(producer.abort_transaction)
            self.aborted += 1
        self._fill(producer, [each.value() for each in messages], position)
        insist(producer.commit_transaction)
        self.committed += 1
        self.copied = position

    def _fill(self, producer: Any, values: list[bytes], position: int) -> None:
        producer.begin_transaction()
        for value, partition in itertools.product(values, range(self._partitions)):
            producer.produce(self._target, value, partition=partition)
        offsets = [ck.TopicPartition(self._source, 0, position)]
        insist(producer.send_offsets_to_transaction, offsets, self._consumer.consumer_group_metadata())

    def _rewind(self) -> None:
        """Continue at the committed position of the group. Its coordinator may move meanwhile."""

        def committed() -> Any:
            with contextlib.suppress(ck.KafkaException):
                (found,) = self._consumer.committed([ck.TopicPartition(self._source, 0)], _CALL_S)
                return found
            return None

        self.copied = max(eventually(committed, LIMIT_S).offset, 0)
        self._consumer.assign([ck.TopicPartition(self._source, 0, self.copied)])


class OpenTransaction:
    """A transaction with one record, which the cluster has acknowledged, until :meth:`end`."""

    def __init__(self, bootstrap_servers: str, transactional_id: str, topic: str, value: bytes) -> None:
        settings = {"bootstrap.servers": bootstrap_servers, "transactional.id": transactional_id}
        self._producer = ck.Producer({**CLIENT, **PRODUCER, **settings})
        self.value = value
        insist(self._producer.init_transactions)
        self._producer.begin_transaction()
        failures: list[Any] = []
        self._producer.produce(topic, value, on_delivery=lambda error, _: failures.append(error) if error else None)
        assert self._producer.flush(LIMIT_S) == 0
        assert not failures

    def end(self, *, is_committed: bool) -> None:
        """Raises KafkaException if the coordinator refuses: it must know the transaction wherever it runs now."""
        insist(self._producer.commit_transaction if is_committed else self._producer.abort_transaction)
