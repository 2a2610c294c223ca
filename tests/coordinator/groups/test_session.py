"""SyncGroup, Heartbeat and LeaveGroup in each state of a group."""

from __future__ import annotations

import pytest

from kraft.coordinator.groups.group import GroupState
from kraft.messages.leave_group_request import LeaveGroupRequest
from kraft.records.record import Record, encode_batch
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.desk import GROUP, SESSION_S, Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()


def joined(desk: Desk, size: int = 2) -> list[str]:
    tokens = [desk.enter() for _ in range(size)]
    desk.gather()
    return [desk.answers[token].member_id for token in tokens]


class NeverCopied(bytes):
    def __bytes__(self) -> bytes:
        raise AssertionError("these bytes are copied")


class TestSync:
    def test_members_wait_for_the_leader_and_get_their_part(self, desk: Desk) -> None:
        leader, follower = joined(desk)
        waiting = desk.sync(follower, 1)
        assert waiting not in desk.answers
        told = desk.sync(leader, 1, {leader: b"l", follower: b"f", "nobody": b"x"})
        assert (desk.answers[told].assignment, desk.answers[waiting].assignment) == (b"l", b"f")
        assert (desk.answers[waiting].protocol_type, desk.answers[waiting].protocol_name) == ("consumer", "range")

    def test_an_unnamed_member_gets_no_assignment(self, desk: Desk) -> None:
        leader, follower = joined(desk)
        waiting = desk.sync(follower, 1)
        desk.sync(leader, 1, {leader: b"l"})
        assert (desk.answers[waiting].error_code, desk.answers[waiting].assignment) == (ErrorCode.NONE, b"")

    def test_no_member_gets_an_assignment_before_it_is_committed(self, desk: Desk) -> None:
        """Apache replies from the callback of ``storeGroup``."""
        leader, follower = joined(desk)
        desk.is_followed = False
        tokens = [desk.sync(follower, 1), desk.sync(leader, 1, {leader: b"l", follower: b"f"})]
        assert desk.group().state is GroupState.COMPLETING_REBALANCE
        assert not desk.answers.keys() & set(tokens)
        desk.commit_all()
        assert [desk.answers[token].assignment for token in tokens] == [b"f", b"l"]
        assert desk.group().state is GroupState.STABLE

    def test_an_assignment_that_is_not_committed_in_time_is_refused_and_never_sent(self, desk: Desk) -> None:
        """``offsets.commit.timeout.ms``; Apache: ``resetAndPropagateAssignmentError``, ``maybePrepareRebalance``."""
        leader, follower = joined(desk)
        desk.is_followed = False
        tokens = [desk.sync(follower, 1), desk.sync(leader, 1, {leader: b"l", follower: b"f"})]
        desk.pass_time(5)
        assert {desk.answers[token].error_code for token in tokens} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
        assert desk.group().state is GroupState.PREPARING_REBALANCE
        desk.commit_all()
        assert desk.group().state is GroupState.PREPARING_REBALANCE
        assert not desk.group().members[leader].assignment

    def test_a_rebalance_meanwhile_makes_it_void(self, desk: Desk) -> None:
        """Apache's callback does nothing unless the group is still in CompletingRebalance of the same generation."""
        leader, _ = joined(desk)
        desk.is_followed = False
        waiting = desk.sync(leader, 1, {leader: b"l"})
        desk.join(instance="new")
        assert desk.answers[waiting].error_code == ErrorCode.REBALANCE_IN_PROGRESS
        desk.commit_all()
        assert desk.group().state is GroupState.PREPARING_REBALANCE

    def test_with_too_few_in_sync_it_is_refused_at_once(self, desk: Desk) -> None:
        leader, follower = joined(desk)
        desk.may_write = False
        tokens = [desk.sync(follower, 1), desk.sync(leader, 1, {leader: b"l"})]
        assert {desk.answers[token].error_code for token in tokens} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
        assert not desk.written

    def test_a_follower_that_syncs_after_the_refusal_joins_again(self, desk: Desk) -> None:
        leader, follower = joined(desk)
        desk.may_write = False
        refused = desk.sync(leader, 1, {leader: b"l"})
        assert desk.answers[refused].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert desk.answers[desk.sync(follower, 1)].error_code == ErrorCode.REBALANCE_IN_PROGRESS

    def test_an_assignment_above_max_message_bytes_is_refused_and_not_appended(self, desk: Desk) -> None:
        """Apache's ``storeGroup``: MESSAGE_TOO_LARGE becomes UNKNOWN_SERVER_ERROR, then ``maybePrepareRebalance``."""
        leader, follower = joined(desk)
        tokens = [desk.sync(follower, 1), desk.sync(leader, 1, {leader: bytes(desk.max_batch_bytes)})]
        assert {desk.answers[token].error_code for token in tokens} == {ErrorCode.UNKNOWN_SERVER_ERROR}
        assert not desk.written
        assert desk.group().state is GroupState.PREPARING_REBALANCE

    def test_an_assignment_above_max_message_bytes_is_refused_without_a_copy(self, desk: Desk) -> None:
        """A copy of 48 MiB holds the event loop for 15 ms."""
        leader, _ = joined(desk)
        token = desk.sync(leader, 1, {leader: NeverCopied(desk.max_batch_bytes + 1)})
        assert desk.answers[token].error_code == ErrorCode.UNKNOWN_SERVER_ERROR

    def test_an_assignment_to_a_stranger_does_not_count(self, desk: Desk) -> None:
        """Apache: the group's record has the assignments of its members, and no others."""
        leader, _ = joined(desk)
        token = desk.sync(leader, 1, {"stranger": NeverCopied(desk.max_batch_bytes + 1), leader: b"l"})
        assert desk.answers[token].assignment == b"l"

    def test_the_largest_group_metadata_fits_into_a_batch(self, desk: Desk) -> None:
        """The bound on a group's metadata is the size of its batch, which has a few bytes of its own."""
        [leader] = joined(desk, 1)
        refused = 0
        for size in range(300, 700):
            desk.max_batch_bytes = size
            desk.written.clear()
            answer = desk.answers[desk.sync(leader, desk.group().generation, {leader: bytes(250)})]
            if answer.error_code == ErrorCode.NONE:
                break
            refused += 1
            desk.join(leader)
        ((key, value, *_),) = desk.written
        batch = encode_batch([Record(0, 0, key, value)])
        assert refused
        assert size - 10 <= len(batch) <= size

    def test_an_assignment_of_a_follower_does_not_count(self, desk: Desk) -> None:
        _, follower = joined(desk)
        desk.sync(follower, 1, {follower: b"all"})
        assert desk.group().state is GroupState.COMPLETING_REBALANCE

    def test_a_stable_group_repeats_the_assignment(self, desk: Desk) -> None:
        _, follower = desk.stable(2)
        assert desk.answers[desk.sync(follower, 1)].assignment == follower.encode()

    def test_the_leader_cannot_assign_twice(self, desk: Desk) -> None:
        leader, follower = desk.stable(2)
        desk.sync(leader, 1, {follower: b"other"})
        assert desk.answers[desk.sync(follower, 1)].assignment == follower.encode()

    def test_while_members_gather_there_is_nothing_to_sync(self, desk: Desk) -> None:
        leader, follower = desk.stable(2)
        desk.join(leader)
        assert desk.answers[desk.sync(follower, 1)].error_code == ErrorCode.REBALANCE_IN_PROGRESS

    def test_strangers_and_the_past_are_refused(self, desk: Desk) -> None:
        assert desk.answers[desk.sync("m", 1)].error_code == ErrorCode.UNKNOWN_MEMBER_ID
        [leader] = desk.stable()
        assert desk.answers[desk.sync("m", 1)].error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert desk.answers[desk.sync(leader, 0)].error_code == ErrorCode.ILLEGAL_GENERATION
        desk.leave((leader, None))
        assert desk.answers[desk.sync(leader, 2)].error_code == ErrorCode.UNKNOWN_MEMBER_ID

    @pytest.mark.parametrize(("protocol_type", "name"), [("connect", "range"), ("consumer", "sticky"), ("x", "y")])
    def test_the_protocol_must_be_the_elected_one(self, desk: Desk, protocol_type: str, name: str) -> None:
        """KIP-559."""
        [leader] = desk.stable()
        answer = desk.answers[desk.sync(leader, 1, protocol_type=protocol_type, protocol_name=name)]
        assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL

    @pytest.mark.parametrize(("version", "code"), [(4, ErrorCode.NONE), (5, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)])
    def test_from_version_5_the_field_is_required(self, desk: Desk, version: int, code: ErrorCode) -> None:
        """KIP-559."""
        [leader] = desk.stable()
        token = desk.sync(leader, 1, version=version, protocol_type=None, protocol_name=None)
        assert desk.answers[token].error_code == code

    def test_a_second_sync_takes_the_place_of_the_first(self, desk: Desk) -> None:
        leader, follower = joined(desk)
        first, second = desk.sync(follower, 1), desk.sync(follower, 1)
        assert desk.answers[first].error_code == ErrorCode.REBALANCE_IN_PROGRESS
        desk.sync(leader, 1, {follower: b"f"})
        assert desk.answers[second].assignment == b"f"


class TestHeartbeat:
    def test_each_state_has_its_code(self, desk: Desk) -> None:
        leader, follower = joined(desk)
        assert desk.heartbeat(follower, 1) == ErrorCode.NONE, "CompletingRebalance"
        desk.sync(follower, 1)
        desk.sync(leader, 1, {leader: b""})
        assert desk.heartbeat(follower, 1) == ErrorCode.NONE, "Stable"
        desk.join(leader)
        assert desk.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS, "PreparingRebalance"

    def test_strangers_and_the_past_are_refused(self, desk: Desk) -> None:
        assert desk.heartbeat("m", 1) == ErrorCode.UNKNOWN_MEMBER_ID
        [leader] = desk.stable()
        assert desk.heartbeat("m", 1) == ErrorCode.UNKNOWN_MEMBER_ID
        assert desk.heartbeat(leader, 0) == ErrorCode.ILLEGAL_GENERATION

    def test_an_id_without_membership_has_no_heart(self, desk: Desk) -> None:
        """KIP-394: a pending id is not a member yet."""
        desk.stable()
        assert desk.heartbeat(desk.answers[desk.join()].member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_without_it_the_session_ends(self, desk: Desk) -> None:
        """``session.timeout.ms`` of the client."""
        leader, follower = desk.stable(2)
        for _ in range(3):
            desk.pass_time(SESSION_S - 0.5)
            desk.heartbeat(leader, desk.group().generation)
        assert follower not in desk.group().members
        assert leader in desk.group().members

    def test_a_commit_is_a_sign_of_life(self, desk: Desk) -> None:
        [member_id] = desk.stable()
        for _ in range(3):
            desk.pass_time(SESSION_S - 0.5)
            assert desk.commit(1, member_id=member_id, generation=1) == ErrorCode.NONE


class TestLeave:
    def test_the_others_rebalance_at_once(self, desk: Desk) -> None:
        leader, follower = desk.stable(2)
        assert desk.leave((follower, None)) == [ErrorCode.NONE]
        assert desk.group().state is GroupState.PREPARING_REBALANCE
        assert desk.answers[desk.join(leader)].generation_id == 2

    def test_parked_requests_of_a_leaving_member_are_refused(self, desk: Desk) -> None:
        leader, follower = joined(desk)
        waiting = desk.sync(follower, 1)
        desk.leave((follower, None))
        assert desk.answers[waiting].error_code == ErrorCode.UNKNOWN_MEMBER_ID
        token = desk.join(leader)
        assert desk.answers[token].error_code == ErrorCode.NONE

    def test_the_last_missing_join_may_be_that_of_a_member_that_left(self, desk: Desk) -> None:
        leader, follower = desk.stable(2)
        token = desk.join(leader)
        desk.leave((follower, None))
        assert len(desk.answers[token].members) == 1

    def test_an_id_that_was_handed_out_can_be_given_back(self, desk: Desk) -> None:
        """KIP-394."""
        [leader] = desk.stable()
        member_id = desk.answers[desk.join()].member_id
        token = desk.join(leader)
        assert desk.leave((member_id, None)) == [ErrorCode.NONE]
        assert token in desk.answers

    def test_several_leave_at_once(self, desk: Desk) -> None:
        """KIP-345: from version 3 on, each member has its own error code, and one rebalance serves all."""
        first, second, third = desk.stable(3)
        assert desk.leave((first, None), ("ghost", None), (second, None)) == [
            ErrorCode.NONE,
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.NONE,
        ]
        assert list(desk.group().members) == [third]

    def test_an_administrator_removes_a_static_member_by_its_instance_id(self, desk: Desk) -> None:
        """KIP-345."""
        tokens = [desk.join(instance="i")]
        desk.gather()
        desk.settle(tokens)
        assert desk.leave(("", "x"), ("", None), ("", "i")) == [
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.NONE,
        ]
        assert desk.group().state is GroupState.EMPTY

    @pytest.mark.parametrize("known", [True, False])
    def test_before_version_3_one_leaves_and_the_code_stands_at_the_top(self, desk: Desk, known: bool) -> None:
        [member_id] = desk.stable()
        answer = desk.ask(LeaveGroupRequest(group_id=GROUP, member_id=member_id if known else "ghost"), 2)
        assert (answer.error_code, answer.members) == (0 if known else ErrorCode.UNKNOWN_MEMBER_ID, [])

    def test_the_response_waits_until_the_empty_group_is_committed(self, desk: Desk) -> None:
        """Apache: ``classicGroupLeaveToClassicGroup`` returns the response together with the records."""
        [member_id] = desk.stable()
        desk.is_followed = False
        token = desk.send(desk.leave_message((member_id, None)), 5)
        assert token not in desk.answers
        desk.commit_all()
        assert desk.answers[token].members[0].error_code == ErrorCode.NONE

    def test_of_a_group_that_is_not_there(self, desk: Desk) -> None:
        assert desk.leave(("m", None)) == [ErrorCode.UNKNOWN_MEMBER_ID]
        answer = desk.ask(LeaveGroupRequest(group_id=GROUP, member_id="m"), 0)
        assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
