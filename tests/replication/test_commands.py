"""The requests of a ZooKeeper-era controller, applied to the logs of one broker."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from uuid import UUID

import attrs
import pytest
import trio
import trio.testing

from kraft.config.properties import from_mapping
from kraft.messages.update_metadata_request import (
    UpdateMetadataTopicState,
)
from kraft.metadata.image import ResourceType
from kraft.records.record import Record, encode_batch
from kraft.replication.commands import ControllerCommands
from kraft.replication.compaction import Compaction
from kraft.replication.maintenance import Maintenance
from kraft.replication.replicas import Replicas
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.uuids import ZERO_UUID
from tests.replication.commanded import (
    BROKER_EPOCH,
    CONTROLLER,
    OTHER,
    US,
    Broker,
    leader_and_isr,
    stop_replica,
    update_metadata,
)
from tests.support.freed import errors_freed
from tests.support.held import TOPIC, TOPIC_ID, broker_in
from tests.support.steps import steps_of_tasks
from tests.support.talk import batch


async def refusal(broker: Broker, **epochs: int) -> set[ErrorCode]:
    """Send all three requests with these epochs, and return the errors that refuse them."""
    codes = set()
    for send in (
        lambda: broker.commands.lead_and_follow(leader_and_isr(**epochs)),
        lambda: broker.commands.update_metadata(update_metadata(US, **epochs)),
        lambda: broker.commands.stop_replicas(stop_replica(9, delete=True, **epochs)),
    ):
        with pytest.raises(KafkaError) as refused:
            await send()
        codes.add(refused.value.code)
    return codes


async def test_requests_for_an_earlier_registration_change_nothing(broker: Broker) -> None:
    """KIP-380: a broker that restarted quickly must not apply a request that was meant for its previous generation."""
    await broker.lead(epoch=1)
    assert await refusal(broker, broker_epoch=BROKER_EPOCH - 1) == {ErrorCode.STALE_BROKER_EPOCH}
    assert broker.partition.is_leader
    assert not broker.replicas.image.brokers


async def test_a_refused_request_is_freed_at_once(broker: Broker) -> None:
    with errors_freed(KafkaError):
        with pytest.raises(KafkaError, match="STALE_BROKER_EPOCH"):
            await broker.lead(broker_epoch=BROKER_EPOCH - 1)
        await trio.lowlevel.checkpoint()  # Trio's loop has the result until a task's next step


async def test_a_request_may_name_a_newer_registration_or_none(broker: Broker) -> None:
    """KIP-380: the controller may see the new znode before the broker does; -1 is no broker epoch."""
    assert await broker.lead(epoch=1, broker_epoch=BROKER_EPOCH + 1) is ErrorCode.NONE
    assert await broker.lead(epoch=2, broker_epoch=-1) is ErrorCode.NONE


async def test_requests_of_an_earlier_controller_change_nothing(broker: Broker) -> None:
    """Two brokers may think that they are the controller. The one with the lower epoch is refused by all brokers that
    the other one has reached, by whichever request.
    """
    await broker.commands.update_metadata(update_metadata(US, controller_epoch=6))
    assert await refusal(broker, controller_epoch=5) == {ErrorCode.STALE_CONTROLLER_EPOCH}
    assert TOPIC not in broker.replicas.partitions
    assert await broker.lead(controller_epoch=6) is ErrorCode.NONE


async def test_a_request_waits_until_the_broker_knows_its_epoch(
    broker: Broker, nursery: trio.Nursery, autojump_clock: object
) -> None:
    """The controller may send its first requests as soon as the znode exists."""
    starting = ControllerCommands(broker.replicas, broker.coordinators, broker.topic_configs)
    broker.replicas.broker_epoch = -1
    nursery.start_soon(starting.run)
    with trio.move_on_after(60) as waited:
        await starting.lead_and_follow(leader_and_isr(broker_epoch=BROKER_EPOCH - 1))
    assert waited.cancelled_caught
    starting.registered(BROKER_EPOCH)
    with pytest.raises(KafkaError, match="STALE_BROKER_EPOCH"):
        await starting.lead_and_follow(leader_and_isr(broker_epoch=BROKER_EPOCH - 1))


async def test_roles_follow_the_leader_epoch(broker: Broker) -> None:
    """``ReplicaManager.becomeLeaderOrFollower``: only a newer leader epoch changes a role."""
    assert await broker.lead(US, epoch=4) is ErrorCode.NONE
    assert broker.partition.is_leader
    assert await broker.lead(OTHER, epoch=4) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert await broker.lead(OTHER, epoch=3) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert broker.partition.is_leader
    assert await broker.lead(OTHER, epoch=5) is ErrorCode.NONE
    assert not broker.partition.is_leader
    assert list(broker.replicas.followed()) == [(OTHER, broker.partition)]
    assert (broker.coordinators.gained, broker.coordinators.lost) == ([f"{TOPIC}-0"], [f"{TOPIC}-0"])


async def test_a_partition_without_a_leader_is_not_followed(broker: Broker) -> None:
    for epoch, leader in enumerate((-1, -2)):
        assert await broker.lead(leader, epoch) is ErrorCode.NONE
        assert not list(broker.replicas.followed())


async def test_a_broker_that_is_no_replica_refuses_the_partition(broker: Broker) -> None:
    assert await broker.lead(OTHER, replicas=(OTHER,)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not broker.replicas.partitions


async def test_a_log_of_another_topic_id_keeps_its_role(broker: Broker) -> None:
    """KIP-516: the topic was deleted and created again while this broker was away."""
    await broker.lead(epoch=0)
    assert await broker.lead(epoch=9, topic_id=UUID(int=8)) is ErrorCode.INCONSISTENT_TOPIC_ID
    assert broker.partition.state.leader_epoch == 0
    assert await broker.lead(epoch=9, topic_id=ZERO_UUID) is ErrorCode.INVALID_REQUEST


async def test_metadata_gives_no_roles_and_roles_no_metadata(broker: Broker) -> None:
    """UpdateMetadata informs clients; a broker leads only after LeaderAndIsr, also if that comes second."""
    await broker.commands.update_metadata(update_metadata(US, OTHER))
    assert sorted(broker.replicas.image.brokers) == [US, OTHER]
    assert broker.replicas.known_leader(TOPIC, 0) == (US, 0)
    assert not broker.replicas.partitions
    await broker.lead(epoch=1)
    assert broker.replicas.known_leader(TOPIC, 0) == (US, 0)
    assert broker.commands.leader_id == CONTROLLER


async def test_a_broker_that_is_no_longer_alive_leaves_the_image(broker: Broker) -> None:
    await broker.commands.update_metadata(update_metadata(US, OTHER))
    await broker.commands.update_metadata(update_metadata(US))
    assert sorted(broker.replicas.image.brokers) == [US]


async def test_a_topic_has_its_settings_from_the_first_request_on(broker: Broker) -> None:
    """No request has settings. LeaderAndIsr comes before UpdateMetadata when a topic is created."""
    broker.configs[TOPIC] = {"min.insync.replicas": "2"}
    await broker.lead()
    assert broker.partition.log.config.min_insync_replicas == 2
    await broker.commands.update_metadata(update_metadata(US))
    await broker.commands.set_config(ResourceType.TOPIC, TOPIC, {"retention.ms": "5000"})
    assert broker.partition.log.config.min_insync_replicas == 1
    assert broker.replicas.image.config(ResourceType.TOPIC, TOPIC) == {"retention.ms": "5000"}


async def test_a_topic_that_is_created_again_has_its_own_settings(broker: Broker) -> None:
    """While this broker had no session, the topic was deleted and created again. No request mentions the deletion."""
    broker.configs[TOPIC] = {"min.insync.replicas": "2", "retention.ms": "5000"}
    await broker.commands.update_metadata(update_metadata(US, leader=OTHER))
    broker.commands.registered(BROKER_EPOCH)
    broker.configs[TOPIC] = {"min.insync.replicas": "2", "cleanup.policy": "compact"}
    await broker.lead(topic_id=UUID(int=9))
    assert broker.partition.log.config.cleanup_policy == {"compact"}
    await broker.commands.update_metadata(update_metadata(US, topic_id=UUID(int=9)))
    assert broker.config_reads == 2
    assert broker.replicas.image.config(ResourceType.TOPIC, TOPIC) == broker.configs[TOPIC]
    assert (broker.partition.log.config.cleanup_policy, broker.partition.log.config.min_insync_replicas) == (
        {"compact"},
        2,
    )


async def test_a_topic_that_is_created_again_with_equal_settings_keeps_them(broker: Broker) -> None:
    """The removal of the earlier topic removes its settings, in the same request."""
    broker.configs[TOPIC] = {"min.insync.replicas": "2"}
    await broker.commands.update_metadata(update_metadata(US))
    await broker.commands.update_metadata(update_metadata(US, topic_id=UUID(int=9)))
    assert broker.replicas.image.config(ResourceType.TOPIC, TOPIC) == broker.configs[TOPIC]


async def test_the_settings_of_all_new_topics_are_read_at_once_and_of_known_ones_never(broker: Broker) -> None:
    """ZooKeeper is far away, and may be gone: a request without new topics does not wait for it."""
    request = update_metadata(US)
    (state,) = request.topic_states[0].partition_states
    for number in range(1, 100):
        topic_id = UUID(int=1_000 + number)
        request.topic_states.append(UpdateMetadataTopicState(f"topic-{number}", topic_id, [state]))
    broker.configs["topic-99"] = {"retention.ms": "5000"}
    await broker.commands.update_metadata(request)
    assert broker.replicas.image.config(ResourceType.TOPIC, "topic-99") == {"retention.ms": "5000"}
    assert broker.config_reads == 1
    await broker.commands.update_metadata(request)
    assert broker.config_reads == 1


async def test_a_stopped_replica_keeps_its_log(broker: Broker) -> None:
    await broker.lead(epoch=3)
    broker.partition.append(bytearray(batch(b"a")), 0)
    assert await broker.stop(2, delete=False) is ErrorCode.FENCED_LEADER_EPOCH
    assert broker.partition.is_leader
    assert await broker.stop(3, delete=False) is ErrorCode.NONE
    assert not broker.partition.is_leader
    assert broker.partition.log.log_end_offset == 1
    assert await broker.lead(OTHER, epoch=4) is ErrorCode.NONE


async def test_the_metadata_of_a_deleted_topic_is_removed_with_its_offsets(broker: Broker) -> None:
    await broker.commands.update_metadata(update_metadata(US))
    await broker.commands.update_metadata(update_metadata(US, leader=-2))
    assert broker.replicas.image.topic(TOPIC) is None
    assert broker.coordinators.deleted == [TOPIC]


async def test_topics_that_were_deleted_before_a_registration_are_forgotten(broker: Broker) -> None:
    """While this broker had no session, they were deleted. One of them was created again meanwhile, and stays."""
    await broker.commands.update_metadata(update_metadata(US))
    known = dict(broker.commands.topics)
    broker.commands.registered(BROKER_EPOCH)
    await broker.commands.update_metadata(update_metadata(US, topic_id=UUID(int=9)))
    await broker.commands.forget_topics(known)
    assert dict(broker.commands.topics) == {TOPIC: UUID(int=9)}
    assert broker.coordinators.deleted == [TOPIC]
    await broker.commands.forget_topics(broker.commands.topics)
    assert broker.replicas.image.topic(TOPIC) is None
    assert broker.coordinators.deleted == [TOPIC, TOPIC]


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 1, 2), (2, 1, 0), (1, 2)])
async def test_a_topic_and_deleted_ones_of_its_name_come_in_one_request(broker: Broker, order: tuple[int, ...]) -> None:
    """``_topic``: "A controller that merges the changes for a slow broker may send a topic and a deleted one of the
    same name together, in any order"."""
    await broker.commands.update_metadata(update_metadata(US))
    new = update_metadata(US, topic_id=UUID(int=9)).topic_states
    deleted = update_metadata(US, leader=-2).topic_states
    another = update_metadata(US, leader=-2, topic_id=UUID(int=8)).topic_states
    states = [(*new, *deleted, *another)[each] for each in order]
    await broker.commands.update_metadata(update_metadata(US, OTHER).evolve(topic_states=states))
    topic = broker.replicas.image.topic(TOPIC)
    assert (None if topic is None else topic.id) == (UUID(int=9) if 0 in order else None)
    assert sorted(broker.replicas.image.brokers) == [US, OTHER]
    assert broker.coordinators.deleted == [TOPIC]


async def test_logs_on_disk_wait_for_their_roles(broker: Broker, nursery: trio.Nursery, tmp_path: Path) -> None:
    """After a start a broker opens every log, and no log is set aside: only the controller knows what is deleted."""
    await broker.lead(epoch=2)
    broker.partition.append(bytearray(batch(b"a", b"b")), 0)
    await broker.replicas.close()
    again = Broker(broker_in(tmp_path, US).replicas)
    await again.replicas.load(None)
    assert again.partition.log.log_end_offset == 2
    assert not again.partition.is_leader
    assert not list(again.replicas.followed())
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        again.replicas.leader_of(TOPIC, 0)
    nursery.start_soon(again.commands.run)
    assert await again.lead(epoch=2) is ErrorCode.NONE
    assert again.partition.is_leader


@pytest.mark.parametrize("policy", ["delete", "compact"])
async def test_no_record_is_removed_before_the_first_role(broker: Broker, tmp_path: Path, policy: str) -> None:
    """``LogManager.startup``: "fetchTopicConfigOverrides", before any log is opened. Here the settings come with the
    first LeaderAndIsr: a controller that cannot reach this broker sends it late. Until then the defaults of this broker
    would decide which records of the topic go.
    """
    broker.configs[TOPIC] = {"retention.ms": "-1"}
    await broker.lead(epoch=2)
    for value in (b"a", b"b"):
        broker.partition.append(bytearray(encode_batch([Record(0, 1_000, b"key", value)])), 1_000)
        broker.partition.log.roll()
    broker.partition.high_watermark = 2
    await broker.replicas.close()
    again = Broker(broker_in(tmp_path, US).replicas, broker.configs)
    again.replicas.static_values = {"log.cleanup.policy": policy}
    await again.replicas.load(None)
    config = from_mapping(SETTINGS).config
    cleaner = Compaction(config, again.replicas.world, again.replicas, trio.Event())
    assert not await cleaner.clean_one()
    await Maintenance(config, again.replicas.world, again.replicas).delete_old_segments()
    assert (again.partition.log.log_start_offset, len(again.partition.log.segments)) == (0, 3)


async def test_a_request_that_no_cluster_can_mean_is_refused(broker: Broker) -> None:
    with pytest.raises(KafkaError, match="INVALID_REQUEST"):
        await broker.commands.update_metadata(update_metadata(US, topic_id=ZERO_UUID))
    assert not broker.replicas.image.brokers


async def test_other_tasks_run_while_the_metadata_of_a_large_cluster_is_taken_in(broker: Broker) -> None:
    """A broker that starts gets all partitions in one UpdateMetadata. 5,000 of them would hold the loop for 100 ms."""
    request = update_metadata(US, OTHER)
    (topic,) = request.topic_states
    (state,) = topic.partition_states
    topic.partition_states = [state.evolve(partition_index=index) for index in range(5_000)]
    async with steps_of_tasks("UpdateMetadata") as steps:
        await broker.commands.update_metadata(request)
    assert steps.count >= 10
    assert len(broker.replicas.image.topics[TOPIC_ID].partitions) == 5_000


async def test_the_metadata_of_a_topic_that_has_a_role_here_does_not_wait_for_zookeeper(broker: Broker) -> None:
    """LeaderAndIsr comes first, and has had the settings read. ZooKeeper may be gone in between; its clients would not
    find the topic here. Another registration reads again, because announcements may be missed before it."""
    await broker.lead()
    assert broker.config_reads == 1
    await broker.commands.update_metadata(update_metadata(US))
    assert broker.config_reads == 1
    broker.commands.registered(BROKER_EPOCH)
    await broker.commands.update_metadata(update_metadata(US, topic_id=UUID(int=9)))
    assert broker.config_reads == 2


@attrs.define(eq=False)
class SlowMethod:
    """A method of Replicas that waits for ``goes_on``, and then fails with ``error`` if there is one."""

    method: Callable[..., Awaitable[object]]
    error: Exception | None = None
    began: trio.Event = attrs.Factory(trio.Event)
    goes_on: trio.Event = attrs.Factory(trio.Event)

    async def run(self, *arguments: object) -> object:
        self.began.set()
        await self.goes_on.wait()
        if self.error is not None:
            raise self.error
        return await self.method(*arguments)


@attrs.define
class Slow:
    broker: Broker
    monkeypatch: pytest.MonkeyPatch

    async def close_during(
        self, method: str, send: Callable[[], Awaitable[object]], error: Exception | None = None
    ) -> None:
        """Send a request, and close its connection while the method of Replicas runs. Return once nothing of the
        request is under way. ``Parked``: a connection that ends cancels the wait for the response.
        """
        slow = SlowMethod(getattr(self.broker.replicas, method), error)
        with self.monkeypatch.context() as patched:
            patched.setattr(Replicas, method, lambda _, *arguments: slow.run(*arguments))
            await close(send, slow.began.wait)
            slow.goes_on.set()
            await self.broker.commands.set_config(ResourceType.TOPIC, TOPIC, {})  # after the request


async def close(send: Callable[[], Awaitable[object]], when: Callable[[], Awaitable[object]]) -> None:
    async with trio.open_nursery() as connection:
        connection.start_soon(send)
        await when()
        connection.cancel_scope.cancel()


@pytest.fixture
def slow(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Slow:
    return Slow(broker, monkeypatch)


async def test_roles_are_given_as_a_whole_although_the_connection_closes(broker: Broker, slow: Slow) -> None:
    """A handler thread of Kafka finishes LeaderAndIsr. A repeated request has STALE_CONTROLLER_EPOCH for the partitions
    that have their role, so it starts no coordinator."""
    await slow.close_during("coordinating", broker.lead)
    assert broker.partition.is_leader
    assert broker.coordinators.gained == [f"{TOPIC}-0"]
    assert await broker.lead() is ErrorCode.STALE_CONTROLLER_EPOCH


async def test_a_deletion_is_finished_although_the_connection_closes(
    broker: Broker, slow: Slow, tmp_path: Path
) -> None:
    """A handler thread of Kafka finishes StopReplica. A directory that kept its name would be the log of the next topic
    of that name."""
    await broker.lead(epoch=7)
    await slow.close_during("_delete", partial(broker.stop, -2, delete=True))
    assert TOPIC not in broker.replicas.partitions
    assert not (tmp_path / f"{TOPIC}-0").exists()
    assert broker.coordinators.lost == [f"{TOPIC}-0"]


async def test_metadata_is_taken_as_a_whole_although_the_connection_closes(broker: Broker, slow: Slow) -> None:
    """A handler thread of Kafka finishes UpdateMetadata. The image has no topic any more for a repeated request, which
    would not delete the committed offsets."""
    await broker.commands.update_metadata(update_metadata(US))
    deletion = update_metadata(US, leader=-2)
    await slow.close_during("_retune", partial(broker.commands.update_metadata, deletion))
    assert broker.replicas.image.topic(TOPIC) is None
    assert broker.coordinators.deleted == [TOPIC]


async def test_a_request_that_has_not_begun_ends_with_its_connection(broker: Broker, slow: Slow) -> None:
    """``_finished``: at most one request is applied without a caller, however often a controller connects anew."""

    async def two() -> None:
        async with trio.open_nursery() as connections:
            connections.start_soon(broker.lead)
            await trio.testing.wait_all_tasks_blocked()
            connections.start_soon(broker.lead, OTHER, 1)

    await slow.close_during("coordinating", two)
    assert broker.partition.is_leader


async def test_a_request_that_nobody_waits_for_is_logged(
    broker: Broker, slow: Slow, caplog: pytest.LogCaptureFixture
) -> None:
    """An error has no connection that logs it, and does not end the broker."""
    caplog.set_level(logging.INFO, "kraft.commands")
    await slow.close_during("coordinating", broker.lead)
    await slow.close_during("coordinating", partial(broker.lead, OTHER, 1), OSError("disk error"))
    assert [each.message for each in caplog.records] == [
        "LeaderAndIsrRequest of controller 3 ended after its connection had closed",
        "LeaderAndIsrRequest of controller 3 failed after its connection had closed",
    ]
    assert "disk error" in caplog.text
    assert await broker.lead(epoch=2) is ErrorCode.NONE


async def test_the_broker_stops_although_a_request_waits(broker: Broker) -> None:
    """``run``: "until cancelled". A request may wait for ZooKeeper for ever."""
    stopping = ControllerCommands(broker.replicas, broker.coordinators, broker.topic_configs)
    async with trio.open_nursery() as tasks:
        tasks.start_soon(stopping.run)
        await close(partial(stopping.lead_and_follow, leader_and_isr()), trio.testing.wait_all_tasks_blocked)
        tasks.cancel_scope.cancel()
    assert TOPIC not in broker.replicas.partitions
