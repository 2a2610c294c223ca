"""ISR changes with a controller that accepts, rejects or does not answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Any, cast

import attrs
import pytest
import trio
import trio.testing

from kraft.broker.leadership import FollowerFetched
from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.alter_partition_response import AlterPartitionResponse, PartitionData, TopicData
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.metrics import Registry
from kraft.replication import isr
from kraft.replication.isr import InSyncReplicas
from kraft.replication.metrics import declare_replica_metrics
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.clock import Clock
from tests.support.eventually import until
from tests.support.held import TOPIC_ID, Broker, broker_in, registration, topic
from tests.support.steps import steps_of_tasks
from tests.support.talk import batch

LEADER, FOLLOWER = 1, 2
EPOCHS = {LEADER: 11, FOLLOWER: 12}


@attrs.define
class Channel:
    """A controller whose responses the test writes, in this order."""

    answers: list[AlterPartitionResponse | KafkaError] = attrs.Factory(list)
    asked: list[AlterPartitionRequest] = attrs.Factory(list)
    slow: trio.Event | None = None
    registry: Registry = attrs.Factory(Registry)

    def measured(self, name: str) -> float:
        value: float = self.registry.get(f"kafka.server:type=ReplicaManager,name={name}").value
        return value

    async def request(self, message: AlterPartitionRequest, version: int) -> Any:
        assert version == 3
        self.asked.append(message)
        await trio.lowlevel.checkpoint()
        if self.slow is not None:
            await self.slow.wait()
        answer = self.answers.pop(0)
        if isinstance(answer, KafkaError):
            raise answer
        return answer


def settled(*members: int, partition_epoch: int = 1) -> AlterPartitionResponse:
    data = PartitionData(isr=list(members), leader_id=LEADER, partition_epoch=partition_epoch)
    return AlterPartitionResponse(topics=[TopicData(topic_id=TOPIC_ID, partitions=[data])])


def refused(code: ErrorCode) -> AlterPartitionResponse:
    return AlterPartitionResponse(topics=[TopicData(topic_id=TOPIC_ID, partitions=[PartitionData(error_code=code)])])


@asynccontextmanager
async def leading(
    tmp_path: Path, channel: Channel, lag_max_s: float = 30.0, partitions: int = 1
) -> AsyncIterator[Broker]:
    """A broker that leads, with a follower that is out of sync."""
    broker = broker_in(tmp_path, LEADER)
    broker.replicas.lag_max_s = lag_max_s
    await broker.replicas.registered(EPOCHS[LEADER])
    registrations = [registration(node_id, epoch) for node_id, epoch in EPOCHS.items()]
    out_of_sync = [
        PartitionChangeRecord(partition_id=index, topic_id=TOPIC_ID, isr=[LEADER]) for index in range(partitions)
    ]
    await broker.hear(*registrations, *topic(LEADER, FOLLOWER, leader=LEADER, partitions=partitions))
    await broker.hear(*out_of_sync)
    async with trio.open_nursery() as nursery:
        isrs = InSyncReplicas(broker.replicas, Clock(), cast(Any, channel), channel.registry)
        nursery.start_soon(isrs.run, name="in-sync replicas")
        yield broker
        nursery.cancel_scope.cancel()


def fetch(broker: Broker) -> None:
    event = FollowerFetched(FOLLOWER, EPOCHS[FOLLOWER], broker.partition.log.log_end_offset, 0)
    broker.partition.fetched(broker.replicas.world.clock.now_s(), event)


def in_sync(broker: Broker) -> tuple[int, ...]:
    assert broker.partition.leadership is not None
    return broker.partition.leadership.isr


async def test_a_proposal_has_the_epochs_of_all_members(tmp_path: Path) -> None:
    """KIP-903: the controller must not mistake a restarted broker for the one that had caught up."""
    channel = Channel([settled(LEADER, FOLLOWER, partition_epoch=2)])
    async with leading(tmp_path, channel) as broker:
        fetch(broker)
        await until(lambda: in_sync(broker) == (LEADER, FOLLOWER))
    (request,) = channel.asked
    assert (request.broker_id, request.broker_epoch) == (LEADER, EPOCHS[LEADER])
    (data,) = request.topics[0].partitions
    assert {each.broker_id: each.broker_epoch for each in data.new_isr_with_epochs} == EPOCHS
    assert (data.leader_epoch, data.partition_epoch, data.leader_recovery_state) == (0, 1, 0)


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(KafkaError(ErrorCode.REQUEST_TIMED_OUT), id="no answer"),
        pytest.param(AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH), id="refused as a whole"),
        pytest.param(AlterPartitionResponse(), id="an answer without the partition"),
        pytest.param(refused(ErrorCode.UNKNOWN_SERVER_ERROR), id="the partition failed"),
    ],
)
async def test_an_uncertain_request_is_sent_again(
    tmp_path: Path, trouble: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isr, "_RETRY_S", 0.001)
    channel = Channel([trouble, settled(LEADER, FOLLOWER, partition_epoch=2)])
    async with leading(tmp_path, channel) as broker:
        fetch(broker)
        await until(lambda: in_sync(broker) == (LEADER, FOLLOWER))
    first, second = channel.asked
    assert first == second
    assert channel.measured("FailedIsrUpdatesPerSec") == 1


async def test_an_outdated_proposal_waits_for_the_metadata(tmp_path: Path) -> None:
    channel = Channel([refused(ErrorCode.INVALID_UPDATE_VERSION), settled(LEADER, FOLLOWER, partition_epoch=3)])
    async with leading(tmp_path, channel) as broker:
        fetch(broker)
        await until(lambda: len(channel.asked) == 1)
        fetch(broker)
        assert in_sync(broker) == (LEADER,)
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[LEADER]))
        fetch(broker)
        await until(lambda: in_sync(broker) == (LEADER, FOLLOWER))
    assert channel.asked[1].topics[0].partitions[0].partition_epoch == 2


async def test_a_lagging_replica_is_detected_without_a_fetch(tmp_path: Path) -> None:
    channel = Channel([settled(LEADER, FOLLOWER, partition_epoch=2), settled(LEADER, partition_epoch=3)])
    async with leading(tmp_path, channel, lag_max_s=0.02) as broker:
        declare_replica_metrics(channel.registry, broker.replicas, 900_000)
        assert channel.measured("UnderReplicatedPartitions") == channel.measured("AtMinIsrPartitionCount") == 1
        fetch(broker)
        await until(lambda: in_sync(broker) == (LEADER, FOLLOWER))
        assert channel.measured("UnderReplicatedPartitions") == channel.measured("UnderMinIsrPartitionCount") == 0
        assert channel.measured("PartitionCount") == channel.measured("LeaderCount") == 1
        broker.partition.append(bytearray(batch(b"a")), 1000)
        assert broker.partition.high_watermark == 0
        await until(lambda: in_sync(broker) == (LEADER,))
        assert broker.partition.high_watermark == 1
    assert channel.measured("IsrExpandsPerSec") == channel.measured("IsrShrinksPerSec") == 1


async def test_a_partition_without_leadership_proposes_nothing(tmp_path: Path) -> None:
    channel = Channel()
    async with leading(tmp_path, channel) as broker:
        fetch(broker)
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=FOLLOWER))
        await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
        await trio.testing.wait_all_tasks_blocked()
    assert channel.asked == []


async def test_an_answer_to_a_former_leadership_is_not_taken(tmp_path: Path) -> None:
    """An unclean election came in between: the former decision no longer holds (Partition.submitAlterPartition drops a
    response if the state is not the proposed one).
    """
    channel = Channel([settled(LEADER, FOLLOWER, partition_epoch=2)], slow=trio.Event())
    async with leading(tmp_path, channel) as broker:
        fetch(broker)
        await until(lambda: len(channel.asked) == 1)
        for leader in (FOLLOWER, LEADER):
            await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=leader, isr=[leader]))
        assert channel.slow is not None
        channel.slow.set()
        await trio.testing.wait_all_tasks_blocked()
        leadership = broker.partition.leadership
        assert leadership is not None
        assert (leadership.isr, leadership.partition_epoch, leadership.pending) == ((LEADER,), 3, None)


@attrs.define
class Accepting(Channel):
    """A controller that accepts each proposal."""

    async def request(self, message: AlterPartitionRequest, version: int) -> Any:
        self.asked.append(message)
        await trio.lowlevel.checkpoint()
        return AlterPartitionResponse(topics=[self._accepted(topic) for topic in message.topics])

    def _accepted(self, topic: Any) -> TopicData:
        return TopicData(
            topic_id=topic.topic_id,
            partitions=[
                PartitionData(partition_index=data.partition_index, isr=[LEADER, FOLLOWER], partition_epoch=2)
                for data in topic.partitions
            ],
        )


async def test_many_proposals_go_in_several_requests_and_let_other_tasks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """``MAX_ELEMENTS``: a controller closes the connection of a request that has more. The leader would propose the
    same again, for ever.
    """
    monkeypatch.setattr(isr, "_PROPOSED_AT_ONCE", 50)
    monkeypatch.setattr(isr, "_SLICE_PROPOSALS", 10)
    channel, count = Accepting(), 120
    caplog.set_level("INFO", "kraft.replicas")
    async with leading(tmp_path, channel, partitions=count) as broker, steps_of_tasks("in-sync replicas") as steps:
        for partition in broker.replicas.all():
            partition.fetched(0.0, FollowerFetched(FOLLOWER, EPOCHS[FOLLOWER], 0, 0))
        leaderships = [each.leadership for each in broker.replicas.all()]
        await until(lambda: all(each is not None and each.isr == (LEADER, FOLLOWER) for each in leaderships))
    proposed = [[data.partition_index for data in each.topics[0].partitions] for each in channel.asked]
    assert [len(each) for each in proposed] == [50, 50, 20]
    assert sorted(chain.from_iterable(proposed)) == list(range(count))
    assert steps.count >= 3 * count // 10, "to encode the requests, to read the responses, and to settle them"
    lines = [each.getMessage() for each in caplog.records if "the controller decided" in each.getMessage()]
    assert lines == [f"the controller decided on the ISR of {size} partitions and rejected 0" for size in (50, 50, 20)]
