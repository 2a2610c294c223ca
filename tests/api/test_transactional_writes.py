"""Produce with transactional batches: the coordinator confirms a partition before the first of them (KIP-890)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from kraft.api.produce import at_broker
from kraft.api.transactional_writes import Unverified
from kraft.config.properties import from_mapping
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.produce_response import ProduceResponse
from kraft.records.control import EndTransactionMarker
from kraft.rpc.channel import ConnectionInfo, Parked, Request
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode, KafkaError
from tests.api.transactions import UNVERIFIED, Coordinator
from tests.support.held import TOPIC, TOPIC_ID, Broker, leader_in, serving, with_coordinators
from tests.support.talk import batch

PRODUCER, EPOCH = 4711, 3
PATIENT = {
    "add.partitions.to.txn.retry.backoff.ms": "1",
    "add.partitions.to.txn.retry.backoff.max.ms": "60000",
}
INFO = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")


@attrs.define
class Written:
    """A leader, and the coordinator that it asks."""

    broker: Broker
    coordinator: Coordinator
    settings: dict[str, str] = attrs.Factory(dict)

    async def write(
        self, *indexes: int, version: int = 9, sequence: int = 0, plain: Sequence[int] = (), **fields: Any
    ) -> list[ErrorCode]:
        """Produce one batch to each partition; those in ``plain`` do not belong to a transaction."""
        data = []
        for index in indexes or (0,):
            own = {"producer_id": PRODUCER, "producer_epoch": EPOCH, "base_sequence": sequence, "transactional": True}
            records = batch(b"a") if index in plain else batch(b"a", **{**own, **fields})
            data.append(PartitionProduceData(index, records))
        topic = TopicProduceData("" if version >= 13 else TOPIC, TOPIC_ID, partition_data=data)
        config = from_mapping({**SETTINGS, **self.settings}).config
        context = with_coordinators(serving(self.broker.replicas), verification=self.coordinator)
        context = attrs.evolve(context, config=config)
        reply = await at_broker(
            context, Request(0, version, 0, "t", b"", 0, INFO), ProduceRequest("id", 1, 1000, [topic])
        )
        response = await reply.wait() if isinstance(reply, Parked) else reply
        assert isinstance(response, ProduceResponse)
        return [ErrorCode(each.error_code) for each in response.responses[0].partition_responses]

    def end_at_once(self, epoch: int = EPOCH) -> None:
        self.broker.partition.append(EndTransactionMarker(False, 0).batch(PRODUCER, epoch, 0), 0)


@asynccontextmanager
async def leading(path: Path, partitions: int = 1) -> AsyncIterator[Written]:
    async with leader_in(path, partitions) as broker:
        await broker.replicas.make_ids_durable(broker.replicas.all())
        yield Written(broker, Coordinator())


async def test_only_the_first_batch_of_a_transaction_is_verified(tmp_path: Path) -> None:
    """KIP-890: while the partition has the transaction, no further check is needed. The next transaction begins with
    a check again."""
    async with leading(tmp_path) as leader:
        assert await leader.write() == [ErrorCode.NONE]
        assert await leader.write(sequence=1) == [ErrorCode.NONE]
        assert leader.coordinator.asked == [("id", (PRODUCER, EPOCH), {TOPIC: [0]}, False)]
        leader.end_at_once()
        assert await leader.write(sequence=2) == [ErrorCode.NONE]
        assert len(leader.coordinator.asked) == 2


async def test_only_partitions_without_the_transaction_are_verified(tmp_path: Path) -> None:
    async with leading(tmp_path, 4) as leader:
        await leader.write(1)
        codes = await leader.write(0, 1, 2, 3, 7, sequence=1, plain=[3])
        assert codes == [ErrorCode.NONE] * 4 + [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert leader.coordinator.asked[1][2] == {TOPIC: [0, 2]}


@pytest.mark.parametrize("version", [12, 13])
async def test_newer_clients_leave_it_to_the_broker_to_add_the_partition(tmp_path: Path, version: int) -> None:
    """KIP-890, part 2: from Produce 12 on the client sends no AddPartitionsToTxn."""
    async with leading(tmp_path) as leader:
        assert await leader.write(version=version) == [ErrorCode.NONE]
        assert leader.coordinator.asked == [("id", (PRODUCER, EPOCH), {TOPIC: [0]}, True)]


@pytest.mark.parametrize(
    ("code", "version", "expected"),
    [
        (ErrorCode.INVALID_TXN_STATE, 9, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, 10, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, 11, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 11, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 12, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.NOT_COORDINATOR, 12, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.PRODUCER_FENCED, 9, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 9, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    ],
)
async def test_a_refusal_appends_nothing(tmp_path: Path, code: ErrorCode, version: int, expected: ErrorCode) -> None:
    """``ReplicaManager.handleProduceAppend`` translates the errors that a producer would not retry."""
    async with leading(tmp_path) as leader:
        leader.settings = {"add.partitions.to.txn.retry.backoff.max.ms": "0"}
        leader.coordinator.code = code
        assert await leader.write(version=version) == [expected]
        assert len(leader.coordinator.asked) == 1
        assert leader.broker.values == []


@pytest.mark.parametrize(
    ("version", "asked", "code"), [(11, 1, ErrorCode.NOT_ENOUGH_REPLICAS), (12, 2, ErrorCode.NONE)]
)
async def test_a_partition_is_added_once_the_last_transaction_is_complete(
    tmp_path: Path, version: int, asked: int, code: ErrorCode
) -> None:
    """``ReplicaManager.handleProduceAppend``: "the produce request is expensive to retry". Each attempt has a
    ``VerificationGuard`` of its own, because the marker of the last transaction comes between two of them.
    """
    async with leading(tmp_path) as leader:
        coordinator = leader.coordinator

        def complete() -> None:
            coordinator.code = ErrorCode.NONE if len(coordinator.asked) == 2 else ErrorCode.CONCURRENT_TRANSACTIONS
            if len(coordinator.asked) == 1:
                leader.end_at_once()

        coordinator.meanwhile = complete
        leader.settings = PATIENT
        assert await leader.write(version=version) == [code]
        assert len(coordinator.asked) == asked


async def test_a_leader_that_is_deposed_while_it_waits_appends_nothing(tmp_path: Path) -> None:
    """``ReplicaManager.handleProduceAppend`` appends once the partition is added, and only a leader appends."""
    async with leading(tmp_path) as leader:
        coordinator, partition = leader.coordinator, leader.broker.partition

        def depose() -> None:
            coordinator.code = ErrorCode.NONE if len(coordinator.asked) == 2 else ErrorCode.CONCURRENT_TRANSACTIONS
            partition.follow(partition.state)

        coordinator.meanwhile = depose
        leader.settings = PATIENT
        assert await leader.write(version=12) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        assert len(coordinator.asked) == 2


async def test_a_partition_that_is_led_only_since_the_verification_of_another_is_sent_again(tmp_path: Path) -> None:
    """``ReplicaManager.handleProduceAppend`` appends only to partitions that it verified. INVALID_TXN_STATE would be
    fatal to the producer.
    """
    async with leading(tmp_path, 2) as leader:
        partition = leader.broker.replicas.partitions[TOPIC][1]
        leadership = partition.leadership
        partition.follow(partition.state)

        def lead() -> None:
            partition.leadership = leadership

        leader.coordinator.meanwhile = lead
        assert await leader.write(0, 1, version=12) == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]
        assert leader.coordinator.asked == [("id", (PRODUCER, EPOCH), {TOPIC: [0]}, True)]
        assert partition.log.log_end_offset == 0


def test_a_topic_whose_id_was_unknown_before_the_verification_is_sent_again() -> None:
    with pytest.raises(KafkaError) as refused:
        Unverified().check(TOPIC, 0)
    assert refused.value.code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(("version", "asked"), [(11, 0), (12, 1)])
async def test_a_partition_is_added_even_without_verification(tmp_path: Path, version: int, asked: int) -> None:
    """``ReplicaManager.maybeSendPartitionsToTransactionCoordinator``: the setting is about requests that only verify.
    A producer that added nothing depends on the broker.
    """
    async with leading(tmp_path) as leader:
        leader.settings = UNVERIFIED
        assert await leader.write(version=version) == [ErrorCode.NONE]
        assert len(leader.coordinator.asked) == asked


async def test_an_old_epoch_is_refused_without_the_coordinator(tmp_path: Path) -> None:
    """``UnifiedLog.maybeStartTransactionVerification`` rejects early "if the producer epoch is lower". The
    coordinator may have given the producer another id since, and would not know this one.
    """
    async with leading(tmp_path, 2) as leader:
        leader.end_at_once(EPOCH + 1)
        assert await leader.write(0, 1) == [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.NONE]
        assert leader.coordinator.asked == [("id", (PRODUCER, EPOCH), {TOPIC: [1]}, False)]


@pytest.mark.parametrize(("version", "code"), [(11, ErrorCode.NONE), (12, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)])
async def test_an_unknown_producer_begins_its_epoch_with_its_first_batch(
    tmp_path: Path, version: int, code: ErrorCode
) -> None:
    """``ProducerAppendInfo.checkSequence``: "reject non-zero sequences when there is no producer ID state" of a client
    whose transaction has an epoch of its own.
    """
    async with leading(tmp_path) as leader:
        assert await leader.write(version=version, sequence=1) == [code]


async def test_a_batch_does_not_overtake_one_that_the_producer_sends_again(tmp_path: Path) -> None:
    """``VerificationStateEntry``: "we also store the lowest seen sequence to block a higher sequence from being
    written in the case of the lower sequence needing retries".
    """
    async with leading(tmp_path) as leader:
        leader.coordinator.code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert await leader.write(version=11) == [ErrorCode.NOT_ENOUGH_REPLICAS]
        leader.coordinator.code = ErrorCode.NONE
        assert await leader.write(version=11, sequence=1) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
        assert await leader.write(version=11) == [ErrorCode.NONE]
        assert await leader.write(version=11, sequence=1) == [ErrorCode.NONE]


async def test_an_absent_coordinator_is_retried(tmp_path: Path) -> None:
    async with leading(tmp_path, 2) as leader:
        leader.coordinator.failure = ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await leader.write(0, 1, plain=[1]) == [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NONE]


async def test_a_transaction_that_ends_during_its_verification_stays_ended(tmp_path: Path) -> None:
    """``VerificationGuard``: a marker that is appended between the answer and the append ends the transaction, and the
    batch would begin one that nobody ends.
    """
    async with leading(tmp_path) as leader:
        leader.coordinator.meanwhile = leader.end_at_once
        assert await leader.write() == [ErrorCode.INVALID_TXN_STATE]
        assert leader.broker.values == []


@pytest.mark.parametrize(("transaction_version", "code"), [(1, ErrorCode.INVALID_TXN_STATE), (2, ErrorCode.NONE)])
async def test_the_marker_of_the_last_epoch_does_not_end_the_next_transaction(
    tmp_path: Path, transaction_version: int, code: ErrorCode
) -> None:
    """KIP-890: a producer goes on in the next epoch while the markers of its last transaction, which have that epoch,
    are written. The coordinator confirms the partition after the last of them. Older markers have the epoch of the
    transaction that they end, also where the partition has no batch of it.
    """
    async with leading(tmp_path) as leader:
        assert await leader.write(version=12, producer_epoch=EPOCH - 1) == [ErrorCode.NONE]
        marker = EndTransactionMarker(False, 0, transaction_version)

        def end() -> None:
            with suppress(StopIteration):  # it does not wait
                leader.broker.partition.append_marker(PRODUCER, EPOCH, marker).send(None)

        leader.coordinator.meanwhile = end
        assert await leader.write(version=12) == [code]


async def test_a_transaction_that_ends_before_a_longer_append_stays_ended(tmp_path: Path) -> None:
    """The same for a batch that waits behind another append."""
    async with leading(tmp_path) as leader, trio.open_nursery() as nursery:

        async def write() -> None:
            assert await leader.write() == [ErrorCode.INVALID_TXN_STATE]

        async with leader.broker.partition.appending():
            nursery.start_soon(write)
            await trio.testing.wait_all_tasks_blocked()
            leader.end_at_once()
    assert leader.broker.values == []


async def test_a_transaction_that_began_meanwhile_goes_on(tmp_path: Path) -> None:
    """The producer's second request may overtake the first one while its partition is verified."""
    async with leading(tmp_path) as leader:

        def begin() -> None:
            first = batch(b"first", producer_id=PRODUCER, producer_epoch=EPOCH, base_sequence=0, transactional=True)
            leader.broker.partition.append(bytearray(first), 0)

        leader.coordinator.meanwhile = begin
        assert await leader.write(sequence=1) == [ErrorCode.NONE]


async def test_batches_of_two_producers_are_refused(tmp_path: Path) -> None:
    """``ReplicaManager.handleProduceAppend``: "Transactional records contained more than one producer ID"."""
    async with leading(tmp_path, 2) as leader:
        records = [
            batch(b"a", producer_id=each, producer_epoch=0, base_sequence=0, transactional=True) for each in (1, 2)
        ]
        data = [PartitionProduceData(index, each) for index, each in enumerate(records)]
        message = ProduceRequest("id", 1, 1000, [TopicProduceData(TOPIC, partition_data=data)])
        answer = await at_broker(serving(leader.broker.replicas), Request(0, 9, 0, "t", b"", 0, INFO), message)
        assert isinstance(answer, ProduceResponse)
        codes = [each.error_code for each in answer.responses[0].partition_responses]
        assert codes == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2


async def test_a_batch_that_waits_is_refused_if_its_open_transaction_ends_meanwhile(tmp_path: Path) -> None:
    """``UnifiedLog.analyzeAndValidateProducerState``: verified or in an ongoing transaction, at the append. Otherwise
    the batch would begin a transaction that no coordinator ends."""
    async with leading(tmp_path) as leader, trio.open_nursery() as nursery:
        assert await leader.write() == [ErrorCode.NONE]
        codes: list[ErrorCode] = []

        async def write() -> None:
            codes.extend(await leader.write(sequence=1))

        async with leader.broker.partition.appending():
            nursery.start_soon(write)
            await trio.testing.wait_all_tasks_blocked()
            leader.end_at_once()
        await trio.testing.wait_all_tasks_blocked()
        assert codes == [ErrorCode.INVALID_TXN_STATE]
        assert leader.broker.partition.log.producers.first_unstable_offset is None


async def test_a_transaction_may_end_while_another_partition_is_verified(tmp_path: Path) -> None:
    async with leading(tmp_path, 2) as leader:
        assert await leader.write(0) == [ErrorCode.NONE]
        leader.coordinator.meanwhile = leader.end_at_once
        assert await leader.write(0, 1, sequence=1) == [ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE]
        assert leader.coordinator.asked[1][2] == {TOPIC: [1]}
