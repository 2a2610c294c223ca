"""The coordinator of transactions of a broker on real files in virtual time. The test plays the controller, the
follower and the leaders of the partitions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import attrs
import pytest
import trio
import trio.testing

from kraft.broker.leadership import FollowerFetched
from kraft.config.properties import from_mapping
from kraft.coordination.transactions import Transactions
from kraft.coordination.verification import TransactionVerification
from kraft.coordinator.transactions.records import decode_transaction
from kraft.coordinator.transactions.transaction import TransactionStatus
from kraft.messages.add_partitions_to_txn_request import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction
from kraft.messages.end_txn_request import EndTxnRequest
from kraft.messages.init_producer_id_request import InitProducerIdRequest
from kraft.messages.init_producer_id_response import InitProducerIdResponse
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.steps import finished
from kraft.metrics import Registry
from kraft.replication.partition import HostedPartition
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import TRANSACTION_TOPIC
from tests.coordination.desk import WORLD, VirtualClock, settle
from tests.coordination.marker_leaders import MarkerLeaders
from tests.support.held import TOPIC, WITHOUT_THREADS, Broker, broker_in, registration, topic

LEADER, FOLLOWER, ELSEWHERE = 1, 2, 2
FOLLOWER_EPOCH = 6
STATE_ID = UUID(int=5)
EMPTY, ONGOING = TransactionStatus.EMPTY, TransactionStatus.ONGOING
PREPARE_COMMIT, COMPLETE_COMMIT = TransactionStatus.PREPARE_COMMIT, TransactionStatus.COMPLETE_COMMIT
PREPARE_ABORT, COMPLETE_ABORT = TransactionStatus.PREPARE_ABORT, TransactionStatus.COMPLETE_ABORT


@attrs.define
class TransactionDesk:
    broker: Broker
    transactions: Transactions

    @property
    def partition(self) -> HostedPartition:
        return self.broker.replicas.partitions[TRANSACTION_TOPIC][0]

    @property
    def statuses(self) -> list[TransactionStatus | None]:
        """The status of each record of the log, None for a tombstone."""
        found: list[TransactionStatus | None] = []
        for each in self.partition.records():
            record = finished(decode_transaction(each.key, each.value))
            assert record is not None
            found.append(None if record.transaction is None else record.transaction.status)
        return found

    async def lead(self, *leaders: int) -> None:
        """Give the partition of ``__transaction_state`` leaders, one after the other. The broker sees only the last."""
        elected = (PartitionChangeRecord(partition_id=0, topic_id=STATE_ID, leader=each) for each in leaders)
        self.transactions.apply(await self.broker.hear(*elected))

    def follower_fetches(self) -> None:
        end = self.partition.log.log_end_offset
        self.partition.fetched(trio.current_time(), FollowerFetched(FOLLOWER, FOLLOWER_EPOCH, end, 0))

    async def ask(self, message: Any) -> Any:
        return await self.transactions.shard_of("x").request(message).wait()

    async def init(self, timeout_ms: int = 60_000) -> InitProducerIdResponse:
        response = await self.ask(InitProducerIdRequest("x", timeout_ms))
        assert isinstance(response, InitProducerIdResponse)
        return response

    async def begin(self, producer: InitProducerIdResponse, *partitions: int) -> None:
        """Add partitions of the topic to a transaction of the producer."""
        identity = producer.producer_id, producer.producer_epoch
        topics = [AddPartitionsToTxnTopic(TOPIC, list(partitions))]
        answer = await self.ask(AddPartitionsToTxnTransaction("x", *identity, verify_only=False, topics=topics))
        assert {each.partition_error_code for each in answer.topic_results[0].results_by_partition} == {0}

    async def commit(self, producer: InitProducerIdResponse) -> None:
        answer = await self.ask(EndTxnRequest("x", producer.producer_id, producer.producer_epoch, committed=True))
        assert answer.error_code == ErrorCode.NONE


@asynccontextmanager
async def coordinating(
    path: Path, leaders: MarkerLeaders, *replicas: int, **settings: str
) -> AsyncIterator[TransactionDesk]:
    """A broker that leads ``__transaction_state-0``, with all ``replicas`` in sync. Another one leads the topic."""
    broker = broker_in(path, LEADER, WITHOUT_THREADS)
    await broker.replicas.registered(5)
    config = from_mapping({**SETTINGS, **{name.replace("_", "."): each for name, each in settings.items()}}).config
    connect = cast(Any, leaders.connect)
    transactions = Transactions(config, broker.replicas, WORLD, count(100).__next__, connect, leaders.write_own)
    desk = TransactionDesk(broker, transactions)
    held = list(replicas or (LEADER,))
    state = PartitionRecord(
        partition_id=0,
        topic_id=STATE_ID,
        replicas=held,
        isr=held,
        leader=LEADER,
        leader_epoch=0,
        partition_epoch=0,
        directories=[UUID(int=100)] * len(held),
    )
    nodes = registration(LEADER, 5), registration(FOLLOWER, FOLLOWER_EPOCH)
    records = TopicRecord(name=TRANSACTION_TOPIC, topic_id=STATE_ID), state, *topic(2, leader=2, partitions=2)
    transactions.apply(await broker.hear(*nodes, *records))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(transactions.run)
        yield desk
        nursery.cancel_scope.cancel()
    for partition in broker.replicas.all():
        partition.log.abandon()


async def test_the_last_marker_completes_the_transaction(tmp_path: Path) -> None:
    """KIP-98, 5.3: the response to EndTxn follows the PREPARE_COMMIT record, and COMPLETE_COMMIT the markers."""
    leaders = MarkerLeaders(answers=trio.Event())
    async with coordinating(tmp_path, leaders) as desk:
        producer = await desk.init()
        await desk.begin(producer, 0, 1)
        await desk.commit(producer)
        await settle()
        assert desk.statuses == [EMPTY, ONGOING, PREPARE_COMMIT]
        leaders.answers.set()
        await settle()
        assert desk.statuses == [EMPTY, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT]
    assert [sent.partitions for sent in leaders.sent] == [{producer.producer_id: [(TOPIC, 0), (TOPIC, 1)]}]


async def test_the_next_coordinator_sends_the_markers_again(tmp_path: Path) -> None:
    """KIP-98, 5.3: a coordinator that finds PREPARE_COMMIT in its log continues. A late response to the one before
    completes nothing, and its markers have an older coordinator epoch, which partitions refuse.
    """
    leaders = MarkerLeaders(answers=trio.Event())
    async with coordinating(tmp_path, leaders) as desk:
        producer = await desk.init()
        await desk.begin(producer, 0)
        await desk.commit(producer)
        await settle()
        await desk.lead(ELSEWHERE)
        await desk.lead(LEADER)
        await settle()
        leaders.answers.set()
        await settle()
        assert desk.statuses == [EMPTY, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT]
        before, after = (sent.message.markers[0] for sent in leaders.sent)
        assert after.coordinator_epoch > before.coordinator_epoch
        assert (after.producer_id, after.transaction_result) == (producer.producer_id, True)
        await desk.begin(producer, 1)


async def test_a_coordinator_that_is_elected_again_has_a_new_epoch(tmp_path: Path) -> None:
    """``TransactionCoordinator.onElection``. This broker did not see the coordinator between its two elections, which
    sent markers, too. The partition refuses those of the first one for ever.
    """
    codes = {(TOPIC, 0): deque([ErrorCode.TRANSACTION_COORDINATOR_FENCED])}
    leaders = MarkerLeaders(codes, answers=trio.Event())
    async with coordinating(tmp_path, leaders) as desk:
        producer = await desk.init()
        await desk.begin(producer, 0)
        await desk.commit(producer)
        await settle()
        await desk.lead(ELSEWHERE, LEADER)
        await settle()
        leaders.answers.set()
        await settle()
        assert desk.statuses == [EMPTY, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT]
    assert [sent.message.markers[0].coordinator_epoch for sent in leaders.sent] == [0, 2]


async def test_a_newer_epoch_of_a_zookeeper_era_controller_is_no_election(tmp_path: Path) -> None:
    """``Partition.makeLeader`` of Kafka 3.9 returns true only for a new leader: the epoch rises with a smaller ISR."""
    async with coordinating(tmp_path, MarkerLeaders()) as desk:
        desk.broker.replicas.is_commanded = True
        shard, epoch = desk.transactions.shard_of("x"), desk.partition.state.leader_epoch
        await desk.lead(ELSEWHERE, LEADER)
        assert desk.partition.state.leader_epoch > epoch
        assert desk.transactions.shard_of("x") is shard


async def test_a_coordinator_that_resigned_completes_nothing(tmp_path: Path) -> None:
    """Only the leader of ``__transaction_state`` writes its records."""
    leaders = MarkerLeaders(answers=trio.Event())
    async with coordinating(tmp_path, leaders) as desk:
        producer = await desk.init()
        await desk.begin(producer, 0)
        await desk.commit(producer)
        await settle()
        await desk.lead(ELSEWHERE)
        leaders.answers.set()
        await settle()
        assert desk.statuses == [EMPTY, ONGOING, PREPARE_COMMIT]


async def test_a_lost_partition_refuses_what_waits_for_its_commit(tmp_path: Path) -> None:
    """``TransactionStateManager.appendTransactionToLog``: NOT_COORDINATOR, so that the producer looks for the next."""
    async with coordinating(tmp_path, MarkerLeaders(), LEADER, FOLLOWER) as desk:
        waiting = desk.transactions.shard_of("x").request(InitProducerIdRequest("x", 60_000))
        assert waiting.answer is None
        await desk.lead(ELSEWHERE)
        with pytest.raises(KafkaError) as refused:
            await waiting.wait()
        assert refused.value.code is ErrorCode.NOT_COORDINATOR
        with pytest.raises(KafkaError) as refused:
            desk.transactions.shard_of("x")
        assert refused.value.code is ErrorCode.NOT_COORDINATOR


async def test_a_loaded_partition_serves_once_it_is_committed(tmp_path: Path) -> None:
    """The records of the coordinator before may not be committed yet, and it may have answered from any of them."""
    async with coordinating(tmp_path, MarkerLeaders(), LEADER, FOLLOWER) as desk:
        slot = desk.transactions.shard_of("x").request(InitProducerIdRequest("x", 60_000))
        desk.follower_fetches()
        producer = await slot.wait()
        desk.transactions.shard_of("x").request(InitProducerIdRequest("x", 60_000))
        await desk.lead(ELSEWHERE)
        await desk.lead(LEADER)
        await settle()
        with pytest.raises(KafkaError) as refused:
            desk.transactions.shard_of("x")
        assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        desk.follower_fetches()
        await settle()
        slot = desk.transactions.shard_of("x").request(InitProducerIdRequest("x", 60_000))
        desk.follower_fetches()
        fenced = await slot.wait()
        assert (fenced.producer_id, fenced.producer_epoch) == (producer.producer_id, producer.producer_epoch + 2)


async def test_a_transaction_that_is_open_for_too_long_is_aborted(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """``transaction.timeout.ms``. The markers have the next epoch, so the producer writes nothing behind them."""
    leaders = MarkerLeaders()
    async with coordinating(tmp_path, leaders) as desk:
        producer = await desk.init(timeout_ms=5_000)
        await desk.begin(producer, 0)
        await trio.sleep(4.9)
        assert desk.statuses[-1] is ONGOING
        await trio.sleep(10.2)
        assert desk.statuses == [EMPTY, ONGOING, PREPARE_ABORT, COMPLETE_ABORT]
    [marker] = leaders.sent[0].message.markers
    assert (marker.transaction_result, marker.producer_epoch) == (False, producer.producer_epoch + 1)


async def test_an_id_that_nobody_uses_expires(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """``transactional.id.expiration.ms``, looked for at each cleanup interval; an open transaction never expires."""
    day_ms = 24 * 3600 * 1000
    settings = {"transactional_id_expiration_ms": str(day_ms), "transaction_max_timeout_ms": str(10 * day_ms)}
    async with coordinating(tmp_path, MarkerLeaders(), **settings) as desk:
        producer = await desk.init(timeout_ms=10 * day_ms)
        await desk.begin(producer, 0)
        await trio.sleep(2 * day_ms / 1000)
        assert desk.statuses == [EMPTY, ONGOING]
        await desk.commit(producer)
        await trio.sleep(day_ms / 1000 - 1)
        assert desk.statuses[-1] is COMPLETE_COMMIT
        await trio.sleep(3601)
        assert desk.statuses[-1] is None
        assert (await desk.init()).producer_id == producer.producer_id + 1


async def test_a_broker_asks_its_own_coordinator_without_a_request(tmp_path: Path) -> None:
    """KIP-890: the coordinator of the transactional id confirms a partition, or adds it, also if it is this broker."""
    leaders = MarkerLeaders()
    async with coordinating(tmp_path, leaders) as desk:
        connect = cast(Any, leaders.connect)
        config = from_mapping(SETTINGS).config
        verification = TransactionVerification(config, desk.broker.replicas, desk.transactions, connect, Registry())
        initialized = await desk.init()
        producer = initialized.producer_id, initialized.producer_epoch
        await desk.begin(initialized, 0)
        verdicts = await verification.verify("x", producer, {TOPIC: [0, 1]}, add=False)
        assert verdicts == {(TOPIC, 0): ErrorCode.NONE, (TOPIC, 1): ErrorCode.TRANSACTION_ABORTABLE}
        assert desk.statuses == [EMPTY, ONGOING], "a check changes nothing"
        assert await verification.verify("x", producer, {TOPIC: [1]}, add=True) == {(TOPIC, 1): ErrorCode.NONE}
        assert desk.statuses == [EMPTY, ONGOING, ONGOING]
        assert await verification.verify("x", (producer[0], 7), {TOPIC: [1]}, add=True) == {
            (TOPIC, 1): ErrorCode.PRODUCER_FENCED
        }
    assert not leaders.connections


async def test_an_own_coordinator_that_does_not_commit_is_given_up(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """``request.timeout.ms`` bounds the wait of a Produce for its coordinator."""
    leaders = MarkerLeaders()
    async with coordinating(tmp_path, leaders, LEADER, FOLLOWER) as desk:
        connect = cast(Any, leaders.connect)
        config = from_mapping(SETTINGS).config
        verification = TransactionVerification(config, desk.broker.replicas, desk.transactions, connect, Registry())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.init)
            await settle()
            desk.follower_fetches()
        started = trio.current_time()
        with pytest.raises(KafkaError) as caught:
            await verification.verify("x", (100, 0), {TOPIC: [0]}, add=True)
    assert caught.value.code in (ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert trio.current_time() - started == pytest.approx(config.network.request_timeout_ms / 1000)


async def test_a_transaction_begins_at_the_time_of_the_system_s_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Apache's ``TransactionCoordinator``: ``time.milliseconds()``, also after the clock was set. Another coordinator
    counts ``transaction.timeout.ms`` from it.
    """
    async with coordinating(tmp_path, MarkerLeaders()) as desk:
        producer = await desk.init()
        monkeypatch.setattr(VirtualClock, "now_ms", lambda _: 1_700_000_000_123)
        await desk.begin(producer, 0)
        *_, last = desk.partition.records()
        record = finished(decode_transaction(last.key, last.value))
        assert record is not None
        assert record.transaction is not None
        times = record.transaction.started_ms, record.transaction.updated_ms
        assert times == (1_700_000_000_123, 1_700_000_000_123)
