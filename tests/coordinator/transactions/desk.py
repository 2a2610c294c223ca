"""A coordinator of transactions without driver and sockets: the test sets the clock, and reads records and replies."""

from __future__ import annotations

from itertools import count
from typing import Any

from kraft.coordinator.core import Committed, CoordinatorDeadlineReached, CoordinatorRequest, StoredRecord
from kraft.coordinator.transactions.core import MarkersWritten, TransactionCoordinator, TransactionEvent
from kraft.coordinator.transactions.effects import TransactionEffects, TransactionMarkers
from kraft.coordinator.transactions.step import TransactionCoordinatorSettings, TransactionWorld
from kraft.coordinator.transactions.transaction import Transaction, TransactionPartition
from kraft.messages.add_partitions_to_txn_request import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction
from kraft.messages.end_txn_request import EndTxnRequest
from kraft.messages.end_txn_response import EndTxnResponse
from kraft.messages.init_producer_id_request import InitProducerIdRequest
from kraft.messages.init_producer_id_response import InitProducerIdResponse
from kraft.metadata.steps import finished
from kraft.wire.errors import ErrorCode, KafkaError

ID = "t"
TIMEOUT = 60_000
NO_PRODUCER = (-1, -1)
PARTITION = ("topic", 0)
FIRST_PRODUCER_ID = 1000


def init_request(
    producer: tuple[int, int] = NO_PRODUCER, *, transactional_id: str = ID, timeout: int = TIMEOUT
) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout,
        producer_id=producer[0],
        producer_epoch=producer[1],
    )


def add_request(
    producer: tuple[int, int],
    *partitions: TransactionPartition,
    transactional_id: str = ID,
    verify_only: bool = False,
) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer[0],
        producer_epoch=producer[1],
        verify_only=verify_only,
        topics=[AddPartitionsToTxnTopic(name=topic, partitions=[index]) for topic, index in partitions],
    )


def end_request(producer: tuple[int, int], *, transactional_id: str = ID, committed: bool = True) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer[0],
        producer_epoch=producer[1],
        committed=committed,
    )


class TransactionDesk:
    """A coordinator under test. ``written`` is the partition of ``__transaction_state``, ``markers`` what the driver
    has to send. ``answers`` maps tokens to replies.

    Appended records are committed at once. While ``is_followed`` is false they wait in ``uncommitted``. ``may_write``
    is true if enough replicas are in sync.
    """

    def __init__(self, *, transaction_version: int = 0, coordinator_epoch: int = 5) -> None:
        self.now = 1_000.0
        self.transaction_version = transaction_version
        self.coordinator_epoch = coordinator_epoch
        self.is_followed = True
        self.may_write = True
        self.has_producer_ids = True
        self.max_batch_bytes = 1_048_588
        self.written: list[StoredRecord] = []
        self.markers: list[TransactionMarkers] = []
        self.uncommitted: list[TransactionEffects] = []
        self.answers: dict[int, Any] = {}
        self._tokens = count(1)
        self._producer_ids = count(FIRST_PRODUCER_ID)
        self.core = self._core()

    def _core(self) -> TransactionCoordinator:
        return TransactionCoordinator(
            TransactionWorld(
                TransactionCoordinatorSettings(),
                self.coordinator_epoch,
                self._new_producer_id,
                lambda: self.transaction_version,
                lambda: self.may_write,
                lambda: self.max_batch_bytes,
            )
        )

    def _new_producer_id(self) -> int:
        if not self.has_producer_ids:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return next(self._producer_ids)

    def state(self, transactional_id: str = ID) -> Transaction:
        return self.core.entries[transactional_id].transaction

    def step(self, event: TransactionEvent) -> None:
        effects = self.core.step(self.now, event)
        self.written += [StoredRecord(each.key, each.value) for each in effects.append]
        if effects.append:
            assert not effects.markers, "markers before the Prepare record is committed"
            self.uncommitted.append(effects)
        else:
            self._answer(effects.replies_once_committed)
        self.markers += effects.markers
        self._answer(effects.replies)
        if self.is_followed:
            self.commit_all()

    def commit_all(self) -> None:
        """Commit all appended records."""
        while self.uncommitted:
            effects = self.uncommitted.pop(0)
            replayed = self.core.step(self.now, Committed(effects.append))
            assert not replayed.append
            self.markers += replayed.markers
            self._answer(effects.replies_once_committed)

    def _answer(self, replies: list[tuple[Any, Any]]) -> None:
        for token, answer in replies:
            assert token not in self.answers, "a second answer to one request"
            self.answers[token] = answer

    def reload(self) -> None:
        """Replace the coordinator by that of the next leader, which has all committed records."""
        uncommitted = sum(len(effects.append) for effects in self.uncommitted)
        del self.written[len(self.written) - uncommitted :]
        self.uncommitted.clear()
        self.markers.clear()
        self.coordinator_epoch += 1
        self.core = self._core()
        finished(self.core.load(self.written))
        effects = self.core.new_effects()
        finished(self.core.begin(self.now, effects))
        assert not effects.append
        self.markers += effects.markers

    def send(self, message: Any, version: int) -> int:
        """Send a request and return its token."""
        token = next(self._tokens)
        self.step(CoordinatorRequest(token, message, version))
        return token

    def ask(self, message: Any, version: int) -> Any:
        """Send a request that must get its reply at once, and return the reply."""
        return self.answers[self.send(message, version)]

    def init(
        self, producer: tuple[int, int] = NO_PRODUCER, *, version: int = 4, **fields: Any
    ) -> InitProducerIdResponse:
        response: InitProducerIdResponse = self.ask(init_request(producer, **fields), version)
        return response

    def producer(self, transactional_id: str = ID) -> tuple[int, int]:
        """Initialize a producer, and return its id and epoch."""
        response = self.init(transactional_id=transactional_id)
        assert response.error_code == ErrorCode.NONE
        return response.producer_id, response.producer_epoch

    def add(
        self, producer: tuple[int, int], *partitions: TransactionPartition, version: int = 3, **fields: Any
    ) -> dict[TransactionPartition, ErrorCode]:
        result = self.ask(add_request(producer, *partitions, **fields), version)
        return {
            (topic.name, each.partition_index): ErrorCode(each.partition_error_code)
            for topic in result.topic_results
            for each in topic.results_by_partition
        }

    def end(
        self, producer: tuple[int, int], *, committed: bool = True, version: int = 3, **fields: Any
    ) -> EndTxnResponse:
        response: EndTxnResponse = self.ask(end_request(producer, committed=committed, **fields), version)
        return response

    def write_markers(self, *partitions: TransactionPartition) -> None:
        """Report the markers of the oldest transaction that has some to send: those of ``partitions``, or all."""
        markers = self.markers[0]
        self.step(MarkersWritten(markers, partitions or markers.partitions))
        if not partitions:
            self.markers.remove(markers)

    def commit(self, producer: tuple[int, int], *partitions: TransactionPartition) -> None:
        """Commit a transaction of ``partitions`` to its end."""
        assert set(self.add(producer, *partitions).values()) == {ErrorCode.NONE}
        assert self.end(producer).error_code == ErrorCode.NONE
        self.write_markers()

    def pass_time(self, seconds: float) -> None:
        """Advance the time and step the core at each deadline. A deadline must not repeat at one instant."""
        until = self.now + seconds
        while self.core.deadline <= until:
            fired = self.core.deadline
            self.now = max(self.now, fired)
            self.step(CoordinatorDeadlineReached())
            assert self.core.deadline > self.now, "a deadline that repeats"
        self.now = until
