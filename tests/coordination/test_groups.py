"""Loading partitions of ``__consumer_offsets``, and the offsets of topics deleted in the meantime."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
import trio
import trio.testing

from kraft.api import heartbeat, list_groups, offset_fetch
from kraft.coordination.group_metrics import declare_load_times
from kraft.coordinator.groups.records import CommittedOffset, OffsetRecord, decode_offset
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kraft.messages.offset_fetch_response import OffsetFetchResponse
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.metadata.update_metadata import LEADER_DURING_DELETE
from kraft.metrics import Registry
from kraft.records.record import Record, encode_batch
from kraft.storage.log import Log
from kraft.wire.errors import ErrorCode
from kraft.wire.internal_topics import OFFSETS_TOPIC
from kraft.wire.uuids import ZERO_UUID
from tests.coordination.desk import (
    FOLLOWER,
    GROUP,
    LEADER,
    LEADER_EPOCH,
    OFFSETS_ID,
    TOPIC_IDS,
    Coordinator,
    Desk,
    VirtualClock,
    commanded_desk_in,
    desk_in,
    settle,
    topic_records,
)
from tests.support.rounds import Rounds


def fail(*_: object) -> None:
    raise OSError("no space")


def write_commits(desk: Coordinator, count: int, topic: str = "t", topic_id: UUID = ZERO_UUID) -> None:
    """Write the log of a previous leader: commits for the first ``count`` partitions."""
    for base in range(0, count, 1000):
        commits = [
            OffsetRecord(GROUP, topic, partition, CommittedOffset(partition, -1, "", 0, topic_id=topic_id))
            for partition in range(base, min(base + 1000, count))
        ]
        records = [Record(i, 0, each.key, each.value, ()) for i, each in enumerate(commits)]
        desk.partition.append(bytearray(encode_batch(records)), 0)


async def commit_and_load_again(desk: Desk) -> None:
    """Commit offset 7 for the topic ``t``, and let the coordinator lead anew."""
    assert await desk.commit(7) == ErrorCode.NONE
    await desk.change(leader=-1)
    await desk.change(leader=LEADER)
    await settle()


def stored_topic_id(desk: Coordinator) -> UUID:
    """Return the topic id in the last record of the log."""
    *_, last = desk.partition.records()
    assert last.value is not None
    return decode_offset(last.value).topic_id


def shard_tasks() -> list[trio.lowlevel.Task]:
    """Return the tasks of the partition in the whole program."""
    found, tasks = [], [trio.lowlevel.current_root_task()]
    while tasks:
        task = tasks.pop()
        assert task is not None
        tasks += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
        if task.name == f"{OFFSETS_TOPIC}-0":
            found.append(task)
    return found


class TestLoading:
    async def test_other_tasks_run_meanwhile(self, tmp_path: Path) -> None:
        """A follower without a response for ``controller.quorum.fetch.timeout.ms`` elects another controller."""
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            write_commits(desk, 20_000)
            registry = Registry()
            desk.groups.report_loads(declare_load_times(registry, "group"))
            await desk.publisher.registered(LEADER_EPOCH)
            with Rounds() as rounds:
                while await desk.committed() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                    answer = await desk.send(list_groups, ListGroupsRequest(), 5)
                    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                    await trio.lowlevel.checkpoint()
            assert rounds.now >= 20
            found = await desk.committed()
            assert isinstance(found, dict)
            for name in ("partition-load-time-avg", "partition-load-time-max"):
                assert registry.get(f"kafka.server:type=group-coordinator-metrics,name={name}").value > 0

    async def test_a_heartbeat_meanwhile_is_not_refused(self, tmp_path: Path) -> None:
        """Apache's ``GroupCoordinatorService.heartbeat``: while the group is loaded, the response is NONE blindly."""
        async with desk_in(tmp_path) as desk:
            write_commits(desk, 20_000)
            await desk.publisher.registered(LEADER_EPOCH)
            answer = await desk.send(heartbeat, HeartbeatRequest(GROUP, 1, "any member"), 4)
            assert await desk.committed() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            assert answer.error_code == ErrorCode.NONE

    async def test_a_leader_that_goes_meanwhile_stops_reading(self, tmp_path: Path) -> None:
        async with desk_in(tmp_path) as desk:
            write_commits(desk, 20_000)
            await desk.publisher.registered(LEADER_EPOCH)
            for _ in range(5):
                await trio.lowlevel.checkpoint()
            assert await desk.committed() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            await desk.change(leader=FOLLOWER)
            await settle()
            assert await desk.committed() == ErrorCode.NOT_COORDINATOR
            assert not shard_tasks()
            await desk.change(leader=LEADER)
            desk.follower_fetches()
            await settle()
            assert await desk.committed() == {"t": 0}

    async def test_a_coordinator_that_goes_during_a_fetch_returns_no_offsets(self, tmp_path: Path) -> None:
        """The offset -1 without an error sends a consumer to ``auto.offset.reset``."""
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            write_commits(desk, 5_000)
            await desk.publisher.registered(LEADER_EPOCH)
            await settle()
            topic = OffsetFetchRequestTopics(name="t", partition_indexes=list(range(5_000)))
            message = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=[topic])])
            responses: list[OffsetFetchResponse] = []

            async def fetch() -> None:
                responses.append(await desk.send(offset_fetch, message, 9))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(fetch)
                await trio.lowlevel.checkpoint()
                await desk.change(leader=FOLLOWER)
            (group,) = responses[0].groups
            assert (group.error_code, group.topics) == (ErrorCode.NOT_COORDINATOR, [])

    @pytest.mark.parametrize("when", ["before", "meanwhile"])
    async def test_offsets_of_topics_that_are_gone_are_forgotten(self, tmp_path: Path, when: str) -> None:
        """In Apache the current leader deletes them (``GroupCoordinator.onPartitionsDeleted``). A partition without a
        leader at that time keeps them.
        """
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            write_commits(desk, 2_000)
            write_commits(desk, 1, "u")
            if when == "before":
                await desk.publish(RemoveTopicRecord(topic_id=TOPIC_IDS["t"]))
            await desk.publisher.registered(LEADER_EPOCH)
            if when == "meanwhile":
                await desk.publish(RemoveTopicRecord(topic_id=TOPIC_IDS["t"]))
            await settle()
            assert await desk.committed() == {"u": 0}
            tombstones = [each.key for each in desk.partition.records() if each.value is None]
            assert len(tombstones) == 2_000
            await desk.publish(*topic_records("t", UUID(int=99), FOLLOWER))
            assert await desk.committed() == {"u": 0}
            await commit_and_load_again(desk)
            assert await desk.committed() == {"t": 7, "u": 0}

    async def test_offsets_of_a_topic_that_was_created_again_are_forgotten(self, tmp_path: Path) -> None:
        """A consumer would begin in the new topic at the offset of the former one. Kafka 4.3 stores the id of the topic
        with an offset, and OffsetFetch 10 returns none of another id (``OffsetMetadataManager.isMismatchedTopicId``).
        """
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            write_commits(desk, 1, "t", TOPIC_IDS["t"])
            write_commits(desk, 1, "u", TOPIC_IDS["u"])
            await desk.publish(RemoveTopicRecord(topic_id=TOPIC_IDS["t"]))
            await desk.publish(*topic_records("t", UUID(int=99), FOLLOWER))
            await desk.publisher.registered(LEADER_EPOCH)
            await settle()
            assert await desk.committed() == {"u": 0}
            await commit_and_load_again(desk)
            assert await desk.committed() == {"t": 7, "u": 0}

    async def test_an_offset_is_stored_with_the_id_of_its_topic(self, tmp_path: Path) -> None:
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            await desk.publisher.registered(LEADER_EPOCH)
            await settle()
            assert await desk.commit(7) == ErrorCode.NONE
            assert stored_topic_id(desk) == TOPIC_IDS["t"]

    async def test_a_coordinator_of_the_zookeeper_era_stores_no_ids(self, tmp_path: Path) -> None:
        """It writes version 3: brokers before Kafka 3.5 cannot read version 4 (KIP-915)."""
        async with commanded_desk_in(tmp_path) as desk:
            await desk.lead(LEADER, 0)
            await desk.show({OFFSETS_TOPIC: LEADER, "t": FOLLOWER})
            await settle()
            assert await desk.commit(7) == ErrorCode.NONE
            assert stored_topic_id(desk) == ZERO_UUID

    async def test_only_topics_that_a_zookeeper_era_controller_deletes_are_forgotten(self, tmp_path: Path) -> None:
        """``ControllerBrokerRequestBatch.updateMetadataRequestPartitionInfoMap`` has ``partitionsWithLeaders`` for a
        new broker: a topic without a leader is in no UpdateMetadata, and still exists. A deleted topic is in one, with
        ``LeaderAndIsr.LEADER_DURING_DELETE``.
        """
        async with commanded_desk_in(tmp_path) as desk:
            await desk.lead(LEADER, 0)
            write_commits(desk, 1, "omitted")
            write_commits(desk, 1, "t")
            await desk.show({OFFSETS_TOPIC: LEADER, "t": FOLLOWER})
            await desk.lead(FOLLOWER, 1)
            assert await desk.committed() == ErrorCode.NOT_COORDINATOR
            await desk.lead(LEADER, 2)
            await settle()
            assert await desk.committed() == {"omitted": 0, "t": 0}
            await desk.show({"t": LEADER_DURING_DELETE})
            await settle()
            assert await desk.committed() == {"omitted": 0}

    async def test_a_partition_whose_append_fails_meanwhile_is_not_served_before_it_is_loaded_again(
        self, tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A shard that resigned while it deleted the offsets of missing topics never becomes active. No task would
        serve its members (``CoordinatorRuntime`` makes only a context in state LOADING active).
        """
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            write_commits(desk, 1)
            write_commits(desk, 1, "u")
            await desk.publish(RemoveTopicRecord(topic_id=TOPIC_IDS["t"]))
            with monkeypatch.context() as full:
                full.setattr(Log, "append_as_leader", fail)
                await desk.publisher.registered(LEADER_EPOCH)
                await settle()
            assert await desk.committed() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            await trio.sleep(2)
            assert await desk.committed() == {"u": 0}

    async def test_a_deleted_topic_with_many_offsets_does_not_delay_the_metadata(self, tmp_path: Path) -> None:
        """Heartbeats, elections of partitions and responses wait for the metadata. A new topic of the name waits for
        the deletion, because the deletion goes by the name.
        """
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            write_commits(desk, 20_000)
            await desk.publisher.registered(LEADER_EPOCH)
            await settle()
            offsets = desk.groups.shard_of(GROUP).core.offsets
            await desk.publish(RemoveTopicRecord(topic_id=TOPIC_IDS["t"]))
            await desk.publish(RemoveTopicRecord(topic_id=TOPIC_IDS["u"]))
            assert offsets.of(GROUP), "the deletion goes on"
            desk.feed.commit(*topic_records("t", UUID(int=99), FOLLOWER))
            while desk.replicas.image.topic("t") is None:
                had = len(offsets.of(GROUP))
                await trio.lowlevel.checkpoint()
            assert had == 0
            await settle()
            assert await desk.committed() == {}
            assert await desk.commit(7) == ErrorCode.NONE
            assert await desk.committed() == {"t": 7}

    async def test_a_commit_for_a_new_topic_outlives_the_deletion_of_its_namesake(self, tmp_path: Path) -> None:
        """A slow broker applies both at once. The offsets of the deleted topic go before its name has another one."""
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            await desk.lead()
            for number in range(300):  # the deletion takes a while
                await desk.commit(1, "u", f"g{number}")
            assert await desk.commit(3, "u") == await desk.commit(4) == ErrorCode.NONE
            desk.feed.commit(RemoveTopicRecord(topic_id=TOPIC_IDS["t"]), *topic_records("t", UUID(int=99), FOLLOWER))
            while desk.replicas.image.topic_ids.get("t") != UUID(int=99):
                await trio.lowlevel.checkpoint()
            assert await desk.committed() == {"u": 3}
            assert await desk.commit(7) == ErrorCode.NONE
            await settle()
            assert await desk.committed() == {"u": 3, "t": 7}

    async def test_a_new_coordinator_keeps_what_its_predecessor_took_for_a_new_topic(self, tmp_path: Path) -> None:
        """The predecessor deleted the offsets of the topic's namesake before it took any for the new topic. This broker
        applies the deletion, the creation and its election at once.
        """
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            write_commits(desk, 1)
            await desk.change(leader=FOLLOWER)
            await desk.publisher.registered(LEADER_EPOCH)
            await desk.publish(
                RemoveTopicRecord(topic_id=TOPIC_IDS["t"]),
                *topic_records("t", UUID(int=99), FOLLOWER),
                PartitionChangeRecord(partition_id=0, topic_id=OFFSETS_ID, leader=LEADER),
            )
            await settle()
            assert await desk.committed() == {"t": 0}

    async def test_offsets_of_a_deleted_topic_go_after_a_failed_append_too(
        self, tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The partition is loaded again when its name may have a new topic."""
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            await desk.lead()
            assert await desk.commit(3, "u") == await desk.commit(4) == ErrorCode.NONE
            with monkeypatch.context() as full:
                full.setattr(Log, "append_as_leader", fail)
                await desk.publish(RemoveTopicRecord(topic_id=TOPIC_IDS["t"]))
                await settle()
            await desk.publish(*topic_records("t", UUID(int=99), FOLLOWER))
            assert await desk.committed() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            await trio.sleep(2)
            assert await desk.committed() == {"u": 3}

    async def test_a_partition_that_cannot_be_read_is_loaded_again(
        self, tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A disk may fail once. The groups must not wait for the next election, which nothing brings about."""
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            write_commits(desk, 1)
            with monkeypatch.context() as broken:
                broken.setattr(Log, "read", fail)
                await desk.publisher.registered(LEADER_EPOCH)
                await settle()
                assert await desk.committed() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            await trio.sleep(2)
            assert await desk.committed() == {"t": 0}
            assert len(shard_tasks()) == 1

    @pytest.mark.parametrize("when", ["before the election", "after it"])
    async def test_a_partition_below_min_isr_is_served_with_what_it_has(self, tmp_path: Path, when: str) -> None:
        """Below ``min.insync.replicas`` the high watermark stays (KIP-966), perhaps for days. Apache's
        ``CoordinatorLoaderImpl`` loads the log to its end and waits for no high watermark. Commits are refused.
        """
        async with desk_in(tmp_path, min_insync_replicas="2") as desk:
            write_commits(desk, 1)
            if when == "before the election":
                await desk.change(isr=[LEADER])
            await desk.publisher.registered(LEADER_EPOCH)
            await settle()
            if when == "after it":
                assert await desk.committed() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                await desk.change(isr=[LEADER])
                await settle()
            assert await desk.committed() == {"t": 0}
            assert await desk.commit(5) == ErrorCode.COORDINATOR_NOT_AVAILABLE

    async def test_a_partition_that_is_no_longer_led_is_not_loaded_again(
        self, tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After a failed append the reload may come due between the end of the leadership and :meth:`Groups.resign`. It
        must not end the task of all groups.
        """
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            await desk.lead()
            with monkeypatch.context() as full:
                full.setattr(Log, "append_as_leader", fail)
                assert await desk.commit(5) == ErrorCode.COORDINATOR_NOT_AVAILABLE
            desk.partition.follow(desk.partition.state)
            await trio.sleep(2)
            assert await desk.committed() == ErrorCode.NOT_COORDINATOR
            assert not shard_tasks()


class TestSetClock:
    """The system's clock may be set while a node runs, for example when NTP gets its first answer."""

    async def test_a_commit_has_the_time_of_the_system_s_clock(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Apache's ``OffsetMetadataManager.commitOffset``: ``time.milliseconds()``. The retention of another
        coordinator counts from it.
        """
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            await desk.lead()
            monkeypatch.setattr(VirtualClock, "now_ms", lambda _: 1_700_000_000_123)
            assert await desk.commit(7) == ErrorCode.NONE
            *_, last = desk.partition.records()
            assert last.value is not None
            assert decode_offset(last.value).commit_timestamp_ms == 1_700_000_000_123

    async def test_a_session_goes_on(
        self, tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Apache's ``SystemTimer`` counts in ``hiResClockMs``."""
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            await desk.lead()
            joined = await desk.join()
            await desk.sync(joined)
            monkeypatch.setattr(VirtualClock, "now_ms", lambda _: 1_700_000_000_123)
            await trio.sleep(9)
            beat = HeartbeatRequest(GROUP, joined.generation_id, joined.member_id, "i")
            assert (await desk.send(heartbeat, beat, 4)).error_code == ErrorCode.NONE
            await trio.sleep(11)
            assert (await desk.send(heartbeat, beat, 4)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
