"""The replies to clients of a group before, at and after the commit of the coordinator's records."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
import trio
import trio.testing

from kraft.api import delete_groups, heartbeat, offset_delete
from kraft.coordination import shard
from kraft.coordination.shard import ReplySlot
from kraft.coordinator.groups.core import ForgetTopics, GroupCoordinator
from kraft.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_commit_response import OffsetCommitResponse
from kraft.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.messages.share_group_describe_request import ShareGroupDescribeRequest
from kraft.rpc.channel import ConnectionInfo, Parked, Request
from kraft.storage.log import Log
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message
from tests.coordination.desk import FOLLOWER, GROUP, LEADER, TOPIC_IDS, Connection, Desk, Later, desk_in, settle


class TestOffsets:
    """Apache keeps a commit pending until its append is acknowledged (``GroupMetadata.pendingOffsetCommits``)."""

    async def test_an_offset_is_answered_once_it_is_committed(self, tmp_path: Path) -> None:
        async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            waiting = Later(nursery, desk.commit, 5)
            await settle()
            assert not waiting.is_done
            assert await desk.committed() == {}
            desk.follower_fetches()
            assert await waiting.wait() == ErrorCode.NONE
            assert await desk.committed() == {"t": 5}

    async def test_with_too_few_in_sync_nothing_is_appended(self, tmp_path: Path) -> None:
        """``acks=-1`` checks ``min.insync.replicas`` before the append. Clients get COORDINATOR_NOT_AVAILABLE for
        NOT_ENOUGH_REPLICAS.
        """
        async with desk_in(tmp_path, min_insync_replicas="2") as desk:
            await desk.lead()
            await desk.change(isr=[LEADER])
            before = desk.partition.log.log_end_offset
            assert await desk.commit(5) == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert await desk.committed() == {}
            assert desk.partition.log.log_end_offset == before

    async def test_with_too_few_in_sync_a_commit_does_not_wait_for_those_before_it(
        self, tmp_path: Path, autojump_clock: object
    ) -> None:
        """``CoordinatorWriteEvent.run`` completes a request at once if its append fails. Commits may wait for days."""
        async with desk_in(tmp_path, min_insync_replicas="2") as desk:
            await desk.lead()
            await desk.commit(5)
            await desk.change(isr=[LEADER])
            began = trio.current_time()
            assert await desk.commit(6) == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert trio.current_time() == began

    @pytest.mark.parametrize(
        "message",
        [ConsumerGroupDescribeRequest(["nobody"]), ShareGroupDescribeRequest(["nobody"])],
        ids=["consumers", "shares"],
    )
    async def test_a_description_does_not_wait_for_records_that_are_not_committed(
        self, tmp_path: Path, autojump_clock: object, message: Message
    ) -> None:
        """``CoordinatorRuntime.scheduleReadOperation``: a read sees the committed state, and completes at once."""
        async with desk_in(tmp_path) as desk:
            await desk.lead()
            assert await desk.commit(5) == ErrorCode.COORDINATOR_NOT_AVAILABLE
            slot = desk.groups.shard_of(GROUP).request(message)
            assert slot.answer is not None
            assert [each.error_code for each in slot.answer.groups] == [ErrorCode.GROUP_ID_NOT_FOUND]

    async def test_replies_that_nobody_awaits_are_dropped(
        self, tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While records stay uncommitted, clients send their requests again and again."""
        monkeypatch.setattr(shard, "_FEW_WAITING", 4)
        async with desk_in(tmp_path) as desk:
            await desk.lead()
            desk.groups.shard_of(GROUP)._most_waiting = 4
            await desk.commit(5)
            for _ in range(30):
                refused = await desk.send(heartbeat, HeartbeatRequest(group_id=GROUP, member_id="nobody"), 4)
                assert refused.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            [written] = desk.groups.shard_of(GROUP)._uncommitted
            assert len(written.effects.replies_once_committed) < 8

    async def test_a_commit_that_timed_out_shows_when_it_is_committed_after_all(
        self, tmp_path: Path, autojump_clock: object
    ) -> None:
        """As in Apache's ``CoordinatorRuntime``: the request times out, but the record stays in the log."""
        async with desk_in(tmp_path) as desk:
            await desk.lead()
            assert await desk.commit(5) == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert await desk.committed() == {}
            desk.follower_fetches()
            await settle()
            assert await desk.committed() == {"t": 5}

    async def test_a_leader_that_steps_down_answers_the_waiting_requests(self, tmp_path: Path) -> None:
        async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            waiting = Later(nursery, desk.commit, 5)
            await settle()
            await desk.change(leader=FOLLOWER)
            assert await waiting.wait() == ErrorCode.NOT_COORDINATOR
            assert await desk.committed() == ErrorCode.NOT_COORDINATOR

    async def test_a_new_leader_begins_with_its_log_as_committed(self, tmp_path: Path) -> None:
        """The previous leader may have acknowledged any record of the log, so none may be lost."""
        async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            Later(nursery, desk.commit, 5)
            await settle()
            await desk.change(leader=FOLLOWER)
            await desk.change(leader=LEADER)
            await settle()
            assert await desk.committed() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            desk.follower_fetches()
            await settle()
            assert await desk.committed() == {"t": 5}

    async def test_a_deletion_shows_once_it_is_committed(self, tmp_path: Path) -> None:
        async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            Later(nursery, desk.commit, 5)
            await settle()
            desk.follower_fetches()
            topics = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0), OffsetDeleteRequestPartition(9)])]
            waiting = Later(nursery, desk.send, offset_delete, OffsetDeleteRequest(GROUP, topics), 0)
            await settle()
            assert await desk.committed() == {"t": 5}
            desk.follower_fetches()
            codes = [each.error_code for each in (await waiting.wait()).topics[0].partitions]
            assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
            assert await desk.committed() == {}

    async def test_a_deleted_group_takes_uncommitted_offsets_along(self, tmp_path: Path) -> None:
        async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            Later(nursery, desk.commit, 5)
            await settle()
            waiting = Later(nursery, desk.send, delete_groups, DeleteGroupsRequest([GROUP, "other"]), 2)
            await settle()
            assert not waiting.is_done
            desk.follower_fetches()
            codes = {each.group_id: each.error_code for each in (await waiting.wait()).results}
            assert codes == {GROUP: ErrorCode.NONE, "other": ErrorCode.GROUP_ID_NOT_FOUND}
            assert await desk.committed() == {}
            await desk.change(leader=FOLLOWER)
            await desk.change(leader=LEADER)
            desk.follower_fetches()
            await settle()
            assert await desk.committed() == {}

    async def test_deleting_many_groups_takes_one_timeout(self, tmp_path: Path, autojump_clock: object) -> None:
        """``offsets.commit.timeout.ms`` runs from the append."""
        async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            for group_id in ("a", "b"):
                Later(nursery, lambda each=group_id: desk.commit(5, group_id=each))
            await settle()
            began = trio.current_time()
            answer = await desk.send(delete_groups, DeleteGroupsRequest(["a", "b"]), 2)
            assert {each.error_code for each in answer.results} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
            assert trio.current_time() - began == 5


class TestAssignments:
    """Apache replies to SyncGroup from the callback of ``storeGroup``."""

    async def test_a_member_is_given_its_part_once_it_is_committed(self, tmp_path: Path) -> None:
        async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            joined = await desk.join()
            waiting = Later(nursery, desk.sync, joined, (joined.member_id, b"part"))
            await settle()
            again = Later(nursery, desk.sync, joined)
            await settle()
            assert (await waiting.wait()).error_code == ErrorCode.REBALANCE_IN_PROGRESS, "a member asks once at a time"
            assert not again.is_done
            desk.follower_fetches()
            assert (await again.wait()).error_code == ErrorCode.NONE

    async def test_the_second_member_waits_too(self, tmp_path: Path) -> None:
        async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            first = await desk.join("i")
            second = Later(nursery, desk.join, "j")
            await settle()
            first = await desk.join("i")
            other = await second.wait()
            parts = [(first.member_id, b"1"), (other.member_id, b"2")]
            asked = [
                Later(nursery, lambda: desk.sync(first, *parts, instance="i")),
                Later(nursery, lambda: desk.sync(other, instance="j")),
            ]
            await settle()
            late = Later(nursery, lambda: desk.sync(other, instance="j"))
            await settle()
            assert not asked[0].is_done
            assert not late.is_done
            desk.follower_fetches()
            assert (await late.wait()).assignment == b"2"

    async def test_one_that_is_not_committed_in_time_is_refused(self, tmp_path: Path, autojump_clock: object) -> None:
        async with desk_in(tmp_path) as desk:
            await desk.lead()
            joined = await desk.join()
            answer = await desk.sync(joined, (joined.member_id, b"part"))
            assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert (await desk.sync(joined)).error_code == ErrorCode.REBALANCE_IN_PROGRESS, "members rejoin"

    async def test_with_too_few_in_sync_it_is_refused_at_once(self, tmp_path: Path) -> None:
        async with desk_in(tmp_path, min_insync_replicas="2") as desk:
            await desk.lead()
            joined = await desk.join()
            await desk.change(isr=[LEADER])
            before = desk.partition.log.log_end_offset
            answer = await desk.sync(joined, (joined.member_id, b"part"))
            assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert desk.partition.log.log_end_offset == before

    async def test_a_static_member_that_cannot_be_replaced_stays(self, tmp_path: Path) -> None:
        """KIP-345: the new member id counts once it is appended. Apache restores the old one if the append fails."""
        async with desk_in(tmp_path, min_insync_replicas="2") as desk, trio.open_nursery() as nursery:
            await desk.lead()
            joined = await desk.join()
            waiting = Later(nursery, desk.sync, joined, (joined.member_id, b"part"))
            await settle()
            desk.follower_fetches()
            await waiting.wait()
            await desk.change(isr=[LEADER])
            assert (await desk.join()).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert (await desk.sync(joined)).assignment == b"part"


MANY = 10_000


async def commit_all(desk: Desk, offset: int, **member: Any) -> ErrorCode:
    """Commit an offset for many partitions, and return the one error code of all of them."""
    partitions = [OffsetCommitRequestPartition(index, offset) for index in range(MANY)]
    message = OffsetCommitRequest(GROUP, topics=[OffsetCommitRequestTopic("t", partitions=partitions)], **member)
    request = Request(0, 8, 0, "c", b"", 0, cast(ConnectionInfo, Connection()))
    try:
        reply = desk.groups.shard_of(GROUP).submit(request, message)
        response = await reply.wait() if isinstance(reply, Parked) else reply
    except KafkaError as refused:
        return refused.code
    assert isinstance(response, OffsetCommitResponse)
    [code] = {each.error_code for each in response.topics[0].partitions}
    return ErrorCode(code)


async def begun(nursery: trio.Nursery, desk: Desk, **member: Any) -> Later:
    """Let a client commit offset 5 for many partitions. Return when its first slice is over."""
    large = Later(nursery, partial(commit_all, desk, 5, **member))
    pending = desk.groups.shard_of(GROUP).core.offsets.pending
    for _ in range(10):
        if not pending:
            await trio.lowlevel.checkpoint()
    assert 0 < len(pending[GROUP]) < MANY
    return large


def _fail_by_a_bug(*_: object) -> None:
    raise ValueError("a bug")


class TestLongWork:
    """One request holds the event loop for one slice. All events of a shard are in the order of their arrival, as in
    Apache's ``CoordinatorRuntime``.
    """

    async def test_other_tasks_run_meanwhile(self, tmp_path: Path) -> None:
        """The decision, the encoding and the replay have slices of 400 to 500 offsets."""
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            waiting = Later(nursery, commit_all, desk, 5)
            turns = 0
            while not waiting.is_done:
                await trio.lowlevel.checkpoint()
                turns += 1
            assert turns >= 3 * MANY // 500
            assert await waiting.wait() == ErrorCode.NONE

    async def test_a_commit_that_waits_goes_with_its_deleted_topic(self, tmp_path: Path) -> None:
        """Its group is new, and none of the groups that the deletion finds at first."""
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            groups = desk.groups.shard_of(GROUP)
            large = await begun(nursery, desk)
            small = Later(nursery, desk.commit, 5, "u", "new")
            while len(groups._works) < 2:
                await trio.lowlevel.checkpoint()
            await desk.publish(RemoveTopicRecord(topic_id=TOPIC_IDS["u"]))
            assert await large.wait() == await small.wait() == ErrorCode.NONE
            await settle()
            assert not groups.core.offsets.of("new")

    async def test_flush_messages_of_the_topic_is_kept(self, tmp_path: Path) -> None:
        """``flush.messages``: a commit is durable before its response."""
        async with desk_in(tmp_path, replicas=(LEADER,), log_flush_interval_messages="1") as desk:
            await desk.lead()
            assert await desk.commit(5) == ErrorCode.NONE
            assert desk.partition.log.recovery_point == desk.partition.log.log_end_offset > 0

    async def test_nothing_shows_before_it_is_committed(self, tmp_path: Path) -> None:
        async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            waiting = Later(nursery, commit_all, desk, 5)
            before = desk.partition.log.log_end_offset
            while desk.partition.log.log_end_offset == before:
                await trio.lowlevel.checkpoint()
                assert await desk.committed() == {}
            await settle()
            assert await desk.committed() == {}
            assert not waiting.is_done
            desk.follower_fetches()
            assert await waiting.wait() == ErrorCode.NONE
            assert len(desk.groups.shard_of(GROUP).core.offsets.of(GROUP)) == MANY
            assert await desk.committed() == {"t": 5}

    async def test_a_request_waits_for_those_before_it(self, tmp_path: Path) -> None:
        """Otherwise a small commit would be in the log before a large one that came earlier."""
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            large = await begun(nursery, desk)
            small = Later(nursery, desk.commit, 6)
            assert (await large.wait(), await small.wait()) == (ErrorCode.NONE, ErrorCode.NONE)
            assert await desk.committed() == {"t": 6}
            [*_, last] = desk.partition.records()
            assert last.offset == MANY, "the small one is behind"

    async def test_a_leader_that_goes_meanwhile_appends_nothing(self, tmp_path: Path) -> None:
        """The request under way and those behind it get NOT_COORDINATOR, and their clients ask the next leader."""
        async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            before = desk.partition.log.log_end_offset
            large, small = await begun(nursery, desk), Later(nursery, desk.commit, 6)
            joining = Later(nursery, desk.join)
            await desk.change(leader=FOLLOWER)
            codes = await large.wait(), await small.wait()
            assert codes == (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR)
            assert (await joining.wait()).error_code == ErrorCode.NOT_COORDINATOR
            await settle()
            assert desk.partition.log.log_end_offset == before
            await desk.change(leader=LEADER)
            desk.follower_fetches()
            await settle()
            assert await desk.committed() == {}

    async def test_a_leader_that_goes_during_the_replay_answers(self, tmp_path: Path) -> None:
        """The next leader loads the committed records and serves all of them."""
        async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            waiting = Later(nursery, commit_all, desk, 5)
            await settle()
            desk.follower_fetches()
            offsets = desk.groups.shard_of(GROUP).core.offsets
            for _ in range(10):
                if not offsets.of(GROUP):
                    await trio.lowlevel.checkpoint()
            assert 0 < len(offsets.of(GROUP)) < MANY
            await desk.change(leader=FOLLOWER)
            assert await waiting.wait() == ErrorCode.NOT_COORDINATOR
            await desk.change(leader=LEADER)
            desk.follower_fetches()
            await settle()
            assert len(desk.groups.shard_of(GROUP).core.offsets.of(GROUP)) == MANY

    async def test_a_leader_that_goes_while_a_rebalance_completes_answers_all_members(
        self, tmp_path: Path, autojump_clock: object
    ) -> None:
        """Some members are parked then, and the responses of others wait for the end of the decision."""
        async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            assert (await desk.join("first")).error_code == ErrorCode.NONE
            waiting = [Later(nursery, desk.join, f"i{number}") for number in range(600)]
            await settle()
            waiting.append(Later(nursery, desk.join, "first"))
            group = desk.groups.shard_of(GROUP).core.groups[GROUP]

            def answered() -> int:
                return sum(member.join is None for member in group.members.values())

            for _ in range(10):
                if answered() <= 1:
                    await trio.lowlevel.checkpoint()
            assert 1 < answered() < 600
            desk.groups._shards.resign(0, KafkaError(ErrorCode.NOT_COORDINATOR))
            with trio.fail_after(20):
                codes = {(await each.wait()).error_code for each in waiting}
            assert codes == {ErrorCode.NOT_COORDINATOR}

    @pytest.mark.parametrize(
        ("target", "error", "after_it"),
        [
            ((Log, "append_as_leader"), OSError("no space"), {}),
            ((GroupCoordinator, "_committed"), ValueError("a bug"), {"t": 5}),
        ],
        ids=["disk", "bug"],
    )
    async def test_a_failure_refuses_those_behind_it_too(
        self,
        tmp_path: Path,
        autojump_clock: object,
        monkeypatch: pytest.MonkeyPatch,
        target: tuple[type, str],
        error: Exception,
        after_it: dict[str, int],
    ) -> None:
        """The core may be ahead of the log: the partition is loaded again. So it is after an error that nobody
        foresaw: a step may have changed a part of its group.
        """

        def fail(*_: object) -> None:
            raise error

        async with desk_in(tmp_path, replicas=(LEADER,)) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            with monkeypatch.context() as broken:
                broken.setattr(*target, fail)
                large = await begun(nursery, desk)
                assert await desk.commit(6) == ErrorCode.COORDINATOR_NOT_AVAILABLE
                assert await large.wait() == ErrorCode.COORDINATOR_NOT_AVAILABLE
            await trio.sleep(2)
            assert await desk.committed() == after_it
            assert await desk.commit(7) == ErrorCode.NONE

    async def test_a_failure_in_the_first_slice_loads_the_partition_again(
        self, tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nearly all events have only one slice."""
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            await desk.lead()
            assert await desk.commit(5) == ErrorCode.NONE
            shard = desk.groups.shard_of(GROUP)
            with monkeypatch.context() as broken:
                broken.setattr(GroupCoordinator, "_committed", _fail_by_a_bug)
                assert await desk.commit(6) == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert not shard.is_active
            await trio.sleep(2)
            assert await desk.committed() == {"t": 6}
            assert await desk.commit(7) == ErrorCode.NONE

    async def test_a_timer_that_fails_does_not_end_the_broker(
        self, tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise ValueError("a bug")

        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            await desk.lead()
            await desk.join()
            with monkeypatch.context() as broken:
                broken.setattr(GroupCoordinator, "_fire_timers", _fail_by_a_bug)
                await trio.sleep(60)
            await trio.sleep(60)
            assert await desk.commit(7) == ErrorCode.NONE

    async def test_a_client_that_goes_does_not_stop_it(self, tmp_path: Path) -> None:
        """A decision changes its group step by step, so nobody may drop it."""
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
            await desk.lead()
            async with trio.open_nursery() as client:
                await begun(client, desk)
                client.cancel_scope.cancel()
            await settle()
            assert await desk.committed() == {"t": 5}

    async def test_a_member_whose_heartbeat_waits_is_alive(
        self, tmp_path: Path, autojump_clock: trio.testing.MockClock
    ) -> None:
        """The deadline of a session comes behind the requests that arrived before it."""
        async with desk_in(tmp_path, replicas=(LEADER,)) as desk, trio.open_nursery() as nursery:
            await desk.lead()
            joined = await desk.join()
            await desk.sync(joined, (joined.member_id, b""))
            beat = HeartbeatRequest(GROUP, joined.generation_id, joined.member_id, "i")
            member = {"member_id": joined.member_id, "generation_id_or_member_epoch": joined.generation_id}
            await begun(nursery, desk, group_instance_id="i", **member)
            waiting = Later(nursery, desk.send, heartbeat, beat, 4)
            await trio.lowlevel.checkpoint()
            autojump_clock.jump(11)
            assert (await waiting.wait()).error_code == ErrorCode.NONE
            assert (await desk.send(heartbeat, beat, 4)).error_code == ErrorCode.NONE


async def test_after_a_failed_append_the_partition_is_loaded_again(
    tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log does not hold the core's decision, so the decision must not stay."""

    def fail(*_: object) -> None:
        raise OSError("no space")

    async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
        await desk.lead()
        assert await desk.commit(5) == ErrorCode.NONE
        with monkeypatch.context() as full:
            full.setattr(Log, "append_as_leader", fail)
            assert await desk.commit(6) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await desk.committed() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await trio.sleep(2)
        assert await desk.committed() == {"t": 5}
        assert await desk.commit(7) == ErrorCode.NONE


async def test_nothing_is_appended_once_the_leadership_is_over(tmp_path: Path) -> None:
    """A deadline may pass between the end of the leadership and :meth:`Shard.resign`."""
    async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
        await desk.lead()
        waiting = Later(nursery, desk.commit, 5)
        await settle()
        shard = desk.groups.shard_of(GROUP)
        before = desk.partition.log.log_end_offset
        desk.partition.follow(desk.partition.state)
        shard.take(ForgetTopics(GROUP, {"t"}.__contains__))
        assert desk.partition.log.log_end_offset == before
        assert await waiting.wait() == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_slot_is_no_part_of_a_cycle_with_its_refusal() -> None:
    """KafkaError.anew: "A traceback has the frame that raised, and the frame the object"."""
    slot = ReplySlot()
    slot.put(KafkaError(ErrorCode.NOT_COORDINATOR))
    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        slot.get()
    assert slot.answer.__traceback__ is None


async def test_a_reply_is_limited_although_its_wait_has_begun(autojump_clock: trio.testing.MockClock) -> None:
    """A request that waits behind a long one is decided, and its records appended, after the wait began."""
    slot = ReplySlot()

    async def decide() -> None:
        await settle()
        slot.limit(5.0)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(decide)
        with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE"):
            await slot.wait()
    assert trio.current_time() == 5
