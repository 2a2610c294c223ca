"""The replies to clients of a group before, at and after the commit of the coordinator's records."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from kraft.api import delete_groups, offset_delete
from kraft.coordinator.core import ForgetTopics
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kraft.storage.log import Log
from kraft.wire.errors import ErrorCode
from tests.coordination.desk import FOLLOWER, GROUP, LEADER, Later, desk_in, settle


@pytest.fixture
def autojump_clock() -> trio.testing.MockClock:
    return trio.testing.MockClock(autojump_threshold=0)


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
        shard.step(ForgetTopics(GROUP, {"t"}.__contains__))
        assert desk.partition.log.log_end_offset == before
        assert await waiting.wait() == ErrorCode.COORDINATOR_NOT_AVAILABLE
