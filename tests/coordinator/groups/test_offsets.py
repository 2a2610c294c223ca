"""Committed offsets: which client may commit, and when offsets expire."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraft.coordinator.core import Committed
from kraft.coordinator.groups import offsets
from kraft.coordinator.groups.core import ForgetTopics
from kraft.coordinator.groups.group import GroupState
from kraft.coordinator.groups.records import CommittedOffset
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_fetch_request import OffsetFetchRequestTopics
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.desk import GROUP, Desk, result, subscription

DAY_S = 24 * 3600.0
RETENTION_S = 7 * DAY_S


@pytest.fixture
def desk() -> Desk:
    return Desk()


class TestFetch:
    def test_an_uncommitted_offset_is_minus_one(self, desk: Desk) -> None:
        desk.commit(5)
        wanted = [OffsetFetchRequestTopics("t", partition_indexes=[0, 1])]
        [topic] = result(offsets.fetched(desk.core.offsets, GROUP, wanted)).topics
        found = [(each.committed_offset, each.committed_leader_epoch, each.metadata) for each in topic.partitions]
        assert found == [(5, -1, ""), (-1, -1, "")]

    def test_an_unknown_group_has_committed_nothing(self, desk: Desk) -> None:
        assert result(offsets.fetched(desk.core.offsets, "x", None)).topics == []

    def test_null_requests_all(self, desk: Desk) -> None:
        for topic, partition in (("b", 1), ("a", 0), ("b", 0)):
            desk.commit(1, topic=topic, partition=partition)
        topics = result(offsets.fetched(desk.core.offsets, GROUP, None)).topics
        assert sorted((each.name, len(each.partitions)) for each in topics) == [("a", 1), ("b", 2)]

    def test_each_topic_and_each_partition_is_a_step(self, desk: Desk) -> None:
        """A request may name 100,000 topics without partitions, or one partition as often."""
        topics = [OffsetFetchRequestTopics(f"t{number}") for number in range(50)]
        topics += [OffsetFetchRequestTopics("t0", partition_indexes=[0] * 50)]
        steps = list(offsets.fetched(desk.core.offsets, GROUP, topics))
        assert len(steps) == 102, "and one that frees what was named"
        found = result(offsets.fetched(desk.core.offsets, GROUP, topics)).topics
        assert [(each.name, len(each.partitions)) for each in found][:2] == [("t0", 1), ("t1", 0)]


class TestCommit:
    def test_a_group_can_be_nothing_but_offsets(self, desk: Desk) -> None:
        """A consumer with manual assignment commits without a generation, for a group without members."""
        assert desk.commit(5) == ErrorCode.NONE
        assert desk.committed() == {("t", 0): 5}
        assert desk.group().state is GroupState.EMPTY

    @pytest.mark.parametrize(
        ("version", "code"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
    )
    def test_a_generation_of_an_unknown_group_is_refused(self, desk: Desk, version: int, code: ErrorCode) -> None:
        """KIP-848: version 9 has the more precise error code."""
        assert desk.commit(5, member_id="m", generation=1, version=version) == code
        assert not desk.core.groups

    def test_an_administrator_commits_for_a_group_without_members(self, desk: Desk) -> None:
        """``kafka-consumer-groups --reset-offsets`` needs this."""
        [member_id] = desk.stable()
        assert desk.commit(5) == ErrorCode.UNKNOWN_MEMBER_ID
        desk.leave((member_id, None))
        assert desk.commit(5) == ErrorCode.NONE

    def test_a_member_commits_in_its_generation(self, desk: Desk) -> None:
        [member_id] = desk.stable()
        assert desk.commit(1, member_id=member_id, generation=0) == ErrorCode.ILLEGAL_GENERATION
        assert desk.commit(1, member_id=member_id, generation=-1) == ErrorCode.ILLEGAL_GENERATION
        assert desk.commit(1, member_id="ghost", generation=1) == ErrorCode.UNKNOWN_MEMBER_ID
        assert desk.commit(1, member_id=member_id, generation=1) == ErrorCode.NONE

    def test_while_members_gather_they_may_still_commit(self, desk: Desk) -> None:
        """Members commit before they give up their partitions."""
        leader, follower = desk.stable(2)
        desk.join(leader)
        assert desk.commit(1, member_id=follower, generation=1) == ErrorCode.NONE

    def test_between_join_and_sync_no_member_may(self, desk: Desk) -> None:
        """The members do not know their new assignment yet."""
        token = desk.enter()
        desk.gather()
        member_id = desk.answers[token].member_id
        assert desk.commit(1, member_id=member_id, generation=1) == ErrorCode.REBALANCE_IN_PROGRESS

    def test_a_former_member_of_an_empty_group_is_unknown(self, desk: Desk) -> None:
        [member_id] = desk.stable()
        desk.leave((member_id, None))
        assert desk.commit(1, member_id=member_id, generation=1) == ErrorCode.UNKNOWN_MEMBER_ID

    @pytest.mark.parametrize(("length", "code"), [(4096, ErrorCode.NONE), (4097, ErrorCode.OFFSET_METADATA_TOO_LARGE)])
    def test_the_note_has_a_limit(self, desk: Desk, length: int, code: ErrorCode) -> None:
        """``offset.metadata.max.bytes``."""
        assert desk.commit(1, metadata="x" * length) == code
        assert bool(desk.committed()) == (code == ErrorCode.NONE)

    @pytest.mark.parametrize(("partitions", "code"), [(100, ErrorCode.NONE), (105, ErrorCode.UNKNOWN_SERVER_ERROR)])
    def test_a_commit_that_would_be_too_large_a_batch_is_refused(
        self, desk: Desk, partitions: int, code: ErrorCode
    ) -> None:
        """Apache's CoordinatorOperationExceptionHelper: MESSAGE_TOO_LARGE of the append is UNKNOWN_SERVER_ERROR.

        The group's id is in each record, so the batch may be a thousand times larger than the request.
        """
        offsets = [OffsetCommitRequestPartition(number, 1, committed_metadata="") for number in range(partitions)]
        request = OffsetCommitRequest("g" * 10_000, -1, "", topics=[OffsetCommitRequestTopic("t", partitions=offsets)])
        answer = desk.ask(request, 8)
        assert [each.error_code for each in answer.topics[0].partitions] == [code] * partitions
        assert bool(desk.written) == (code is ErrorCode.NONE)

    def test_no_note_is_an_empty_one(self, desk: Desk) -> None:
        assert desk.commit(1, metadata=None) == ErrorCode.NONE
        assert desk.core.offsets.of(GROUP)["t", 0].metadata == ""


class TestPending:
    """Offsets that are appended but not committed (Apache: ``GroupMetadata.pendingOffsetCommits``)."""

    def test_they_are_not_answered(self, desk: Desk) -> None:
        desk.commit(1)
        desk.is_followed = False
        token = desk.send_commit(2)
        assert token not in desk.answers
        assert desk.committed() == {("t", 0): 1}
        desk.commit_all()
        assert token in desk.answers
        assert desk.committed() == {("t", 0): 2}

    def test_the_last_of_two_stays_pending(self, desk: Desk) -> None:
        desk.is_followed = False
        desk.send_commit(1)
        desk.send_commit(2)
        [first, _] = desk.uncommitted
        desk.core.step(desk.now, Committed(first.append))
        assert desk.committed() == {("t", 0): 1}
        assert desk.core.offsets.pending[GROUP]["t", 0].committed == CommittedOffset(2, -1, "", int(desk.now * 1000))

    def test_they_keep_a_group_and_an_offset_from_expiring(self, desk: Desk) -> None:
        """Apache: ``hasOffsets`` and ``removeExpiredOffsets`` consider pending offsets."""
        desk.commit(1)
        desk.pass_time(RETENTION_S)
        desk.is_followed = False
        desk.send_commit(2)
        desk.send_commit(3, partition=1)
        desk.expire()
        assert GROUP in desk.core.groups
        desk.commit_all()
        assert desk.committed() == {("t", 0): 2, ("t", 1): 3}

    def test_of_a_deleted_topic_they_are_forgotten(self, desk: Desk) -> None:
        desk.is_followed = False
        desk.send_commit(1)
        desk.step(ForgetTopics(GROUP, {"t"}.__contains__))
        desk.commit_all()
        assert desk.committed() == {}

    def test_with_too_few_in_sync_nothing_is_written(self, desk: Desk) -> None:
        """``min.insync.replicas``: clients get COORDINATOR_NOT_AVAILABLE for NOT_ENOUGH_REPLICAS."""
        desk.may_write = False
        assert desk.commit(1) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert not desk.written
        assert not desk.core.groups


class TestExpiry:
    """``offsets.retention.minutes`` as in KIP-211."""

    def clean_up_after(self, desk: Desk, seconds: float) -> dict[tuple[str, int], int]:
        desk.pass_time(seconds)
        desk.expire()
        return desk.committed()

    def test_without_members_the_time_runs_from_the_commit(self, desk: Desk) -> None:
        desk.commit(1)
        assert self.clean_up_after(desk, RETENTION_S - 0.5)
        assert not self.clean_up_after(desk, 0.5)
        assert not desk.core.groups, "and the group goes with its last offset"

    def test_after_members_it_runs_from_when_the_last_one_left(self, desk: Desk) -> None:
        [member_id] = desk.stable()
        desk.commit(1, member_id=member_id, generation=1)
        desk.pass_time(5)
        desk.leave((member_id, None))
        desk.pass_time(DAY_S)
        desk.commit(2, partition=1)
        assert len(self.clean_up_after(desk, RETENTION_S - DAY_S - 0.5)) == 2
        assert not self.clean_up_after(desk, 0.5)

    def test_that_moment_outlives_a_change_of_the_coordinator(self, desk: Desk) -> None:
        """KIP-211 added this time to the group's record."""
        [member_id] = desk.stable()
        desk.commit(1, member_id=member_id, generation=1)
        desk.leave((member_id, None))
        desk.pass_time(RETENTION_S - 0.5)
        desk.restart()
        assert self.clean_up_after(desk, 0)
        assert not self.clean_up_after(desk, 0.5)

    def test_the_retention_is_measured_by_the_system_s_clock(self, desk: Desk) -> None:
        """``OffsetMetadataManager.cleanupExpiredOffsets`` compares ``time.milliseconds()`` with the commit's time. The
        system's clock may be set between the two.
        """
        desk.commit(1)
        desk.clock_set_s = RETENTION_S - 0.5
        assert self.clean_up_after(desk, 0)
        desk.clock_set_s += 0.5
        assert not self.clean_up_after(desk, 0)

    def keep_alive(self, desk: Desk, member_id: str, seconds: float) -> None:
        desk.group().members[member_id].session_deadline = desk.now + seconds + 1

    def test_offsets_of_a_live_groups_topics_do_not_expire(self, desk: Desk) -> None:
        [member_id] = desk.stable(protocols=[("range", subscription("t"))])
        desk.commit(1, member_id=member_id, generation=1, topic="t")
        desk.commit(1, member_id=member_id, generation=1, topic="u")
        self.keep_alive(desk, member_id, RETENTION_S)
        assert self.clean_up_after(desk, RETENTION_S) == {("t", 0): 1}

    @pytest.mark.parametrize("what", [{"protocol_type": "connect"}, {"protocols": [("range", b"\0")]}])
    def test_of_members_that_cannot_be_understood_nothing_expires(self, desk: Desk, what: dict[str, object]) -> None:
        token = desk.enter(**what)
        desk.gather()
        answer = desk.answers[token]
        desk.sync(answer.member_id, 1, {answer.member_id: b""}, protocol_type=answer.protocol_type)
        desk.commit(1, member_id=answer.member_id, generation=1)
        self.keep_alive(desk, answer.member_id, RETENTION_S)
        assert self.clean_up_after(desk, RETENTION_S)

    def test_during_a_rebalance_nothing_expires(self, desk: Desk) -> None:
        [member_id] = desk.stable()
        desk.commit(1, member_id=member_id, generation=1, topic="u")
        self.keep_alive(desk, member_id, RETENTION_S)
        desk.pass_time(RETENTION_S)
        desk.enter()
        assert self.clean_up_after(desk, 0)

    def test_a_client_may_have_set_a_time_of_its_own(self, desk: Desk) -> None:
        """OffsetCommit versions 2 to 4."""
        desk.commit(1, retention_ms=1000, version=4)
        desk.restart()
        assert self.clean_up_after(desk, 0.5)
        assert not self.clean_up_after(desk, 0.5)

    def test_an_empty_group_without_offsets_goes_at_the_next_check(self, desk: Desk) -> None:
        """``offsets.retention.check.interval.ms``. After its tombstone no later coordinator loads the group."""
        [member_id] = desk.stable()
        desk.leave((member_id, None))
        desk.expire()
        assert not desk.core.groups
        desk.restart()
        assert not desk.core.groups

    def test_not_one_that_has_just_handed_out_an_id(self, desk: Desk) -> None:
        member_id = desk.answers[desk.join()].member_id
        desk.expire()
        token = desk.join(member_id)
        desk.gather()
        assert desk.answers[token].error_code == ErrorCode.NONE


def test_one_step_forgets_a_bounded_number(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver repeats the event until nothing is left."""
    monkeypatch.setattr(offsets, "MAX_TOMBSTONES", 2)
    for partition in range(3):
        desk.commit(1, partition=partition)
    desk.pass_time(RETENTION_S)
    desk.expire()
    assert len(desk.committed()) == 1
    desk.expire()
    assert GROUP not in desk.core.groups


def test_a_deleted_topic_takes_its_offsets_along(desk: Desk) -> None:
    """Otherwise consumers would read a new topic of that name from the old topic's offset."""
    desk.commit(1, topic="t")
    desk.commit(2, topic="u")
    desk.step(ForgetTopics(GROUP, {"t", "never-read"}.__contains__))
    assert desk.committed() == {("u", 0): 2}
    desk.restart()
    assert desk.committed() == {("u", 0): 2}


def test_offsets_of_a_former_topic_of_the_name_are_forgotten(desk: Desk) -> None:
    """Kafka 4.3 stores the id of the topic with an offset. A record without an id may be of either topic."""
    desk.commit(1, topic="without-id")
    desk.topic_ids |= {"t": UUID(int=1), "u": UUID(int=2), "without-id": UUID(int=3)}
    desk.commit(1, topic="t")
    desk.commit(2, topic="u")
    desk.topic_ids["t"] = UUID(int=9)
    desk.restart()
    desk.step(ForgetTopics(GROUP, lambda _: False))
    assert desk.committed() == {("u", 0): 2, ("without-id", 0): 1}
    desk.commit(3, topic="t")
    desk.restart()
    desk.step(ForgetTopics(GROUP, lambda _: False))
    assert desk.committed() == {("t", 0): 3, ("u", 0): 2, ("without-id", 0): 1}


def test_an_uncommitted_offset_of_a_former_topic_is_forgotten(desk: Desk) -> None:
    desk.topic_ids["t"] = UUID(int=1)
    desk.is_followed = False
    desk.send_commit(1)
    desk.topic_ids["t"] = UUID(int=2)
    desk.step(ForgetTopics(GROUP, lambda _: False))
    desk.commit_all()
    assert desk.committed() == {}
