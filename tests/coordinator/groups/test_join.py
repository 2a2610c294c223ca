"""JoinGroup, rule by rule. Each test names the KIP or the setting of its rule."""

from __future__ import annotations

import attrs
import pytest

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups.group import GroupState
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kraft.messages.sync_group_request import SyncGroupRequest
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.desk import DELAY_S, GROUP, SESSION_S, Desk, subscription


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_new_member_is_given_an_id_and_joins_with_it(desk: Desk) -> None:
    """KIP-394: from version 4 on, a join without an id gets MEMBER_ID_REQUIRED and adds no member."""
    answer = desk.answers[desk.join(version=4)]
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("c-")
    assert not desk.group().members
    token = desk.join(answer.member_id, version=4)
    assert token not in desk.answers
    desk.pass_time(DELAY_S)
    assert desk.answers[token].member_id == answer.member_id


def test_before_version_4_the_first_join_makes_a_member(desk: Desk) -> None:
    """KIP-394 did not change older versions."""
    token = desk.join(version=3)
    desk.pass_time(DELAY_S)
    assert desk.answers[token].error_code == ErrorCode.NONE
    assert desk.answers[token].leader == desk.answers[token].member_id


def test_an_id_that_is_not_used_lapses_with_the_session_timeout(desk: Desk) -> None:
    """KIP-394: a pending id expires after the session timeout."""
    member_id = desk.answers[desk.join()].member_id
    desk.pass_time(SESSION_S)
    assert desk.answers[desk.join(member_id)].error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("session_s", [5.999, 1_800.001])
def test_the_session_timeout_has_bounds(desk: Desk, session_s: float) -> None:
    """``group.min.session.timeout.ms`` and ``group.max.session.timeout.ms``."""
    assert desk.answers[desk.join(session_s=session_s)].error_code == ErrorCode.INVALID_SESSION_TIMEOUT


def test_an_unknown_id_joins_nothing(desk: Desk) -> None:
    assert desk.answers[desk.join("ghost")].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert not desk.core.groups
    desk.stable()
    assert desk.answers[desk.join("ghost")].error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("version", "name"), [(6, ""), (7, None)])
def test_a_refusal_names_no_protocol(desk: Desk, version: int, name: str | None) -> None:
    """JoinGroup made the protocol name nullable in version 7 (KIP-559)."""
    answer = desk.answers[desk.join("ghost", version=version)]
    assert (answer.protocol_name, answer.generation_id) == (name, -1)


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [("", [("range", b"")]), ("consumer", []), ("connect", [("range", b"")]), ("consumer", [("roundrobin", b"")])],
)
def test_a_joiner_must_support_a_protocol_of_the_group(
    desk: Desk, protocol_type: str, protocols: list[tuple[str, bytes]]
) -> None:
    desk.stable()
    answer = desk.answers[desk.join(protocol_type=protocol_type, protocols=protocols)]
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_joiner_without_protocols_founds_no_group(desk: Desk) -> None:
    assert desk.answers[desk.join(protocols=())].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert not desk.core.groups


def test_an_empty_group_takes_up_any_protocol_type(desk: Desk) -> None:
    """The protocol type of previous members does not count."""
    [member_id] = desk.stable()
    desk.leave((member_id, None))
    token = desk.enter(protocol_type="connect", protocols=[("sessioned", b"x")])
    desk.pass_time(DELAY_S)
    assert (desk.answers[token].protocol_type, desk.answers[token].protocol_name) == ("connect", "sessioned")


def test_each_member_votes_for_its_first_common_protocol(desk: Desk) -> None:
    everything = [("a", b""), ("b", b""), ("c", b"")]
    tokens = [desk.enter(protocols=everything), desk.enter(protocols=[("b", b""), ("a", b"")])]
    tokens.append(desk.enter(protocols=[("b", b""), ("a", b""), ("d", b"")]))
    desk.gather()
    assert {desk.answers[token].protocol_name for token in tokens} == {"b"}


def test_a_protocol_named_twice_counts_once(desk: Desk) -> None:
    token = desk.enter(protocols=[("a", b"1"), ("a", b"2")])
    desk.pass_time(DELAY_S)
    assert desk.answers[token].protocol_name == "a"


def test_only_the_leader_gets_the_members(desk: Desk) -> None:
    tokens = [desk.enter(), desk.enter()]
    desk.gather()
    leader, follower = (desk.answers[token] for token in tokens)
    assert [each.member_id for each in leader.members] == [leader.member_id, follower.member_id]
    assert leader.members[0].metadata == subscription("t")
    assert (follower.leader, follower.members) == (leader.member_id, [])


class TestMaxSize:
    """``group.max.size`` (KIP-389)."""

    def test_a_full_group_refuses_another_member(self) -> None:
        desk = Desk(group_max_size=2)
        desk.stable(2)
        answer = desk.answers[desk.join()]
        assert (answer.error_code, answer.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")

    def test_ids_that_are_only_handed_out_take_no_place(self) -> None:
        desk = Desk(group_max_size=1)
        first = desk.answers[desk.join()].member_id
        second = desk.answers[desk.join()].member_id
        desk.join(first)
        assert desk.answers[desk.join(second)].error_code == ErrorCode.GROUP_MAX_SIZE_REACHED

    def test_a_parked_member_may_send_its_request_again(self) -> None:
        desk = Desk(group_max_size=1)
        member_id = desk.answers[desk.join()].member_id
        desk.join(member_id)
        token = desk.join(member_id)
        desk.pass_time(DELAY_S)
        assert desk.answers[token].error_code == ErrorCode.NONE

    def test_a_group_that_is_loaded_too_large_sheds_the_surplus(self) -> None:
        """``group.max.size`` was lowered. The first members to rejoin stay."""
        desk = Desk()
        members = desk.stable(3)
        smaller = Desk(group_max_size=2)
        smaller.load(desk.written)
        assert smaller.group().state is GroupState.PREPARING_REBALANCE
        tokens = [smaller.join(member_id) for member_id in members]
        codes = [smaller.answers[token].error_code for token in tokens]
        assert codes == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.GROUP_MAX_SIZE_REACHED]
        assert list(smaller.group().members) == members[:2]


class TestRejoin:
    def test_a_follower_without_an_assignment_change_gets_the_generation(self, desk: Desk) -> None:
        """A lost response causes no rebalance."""
        _, follower = desk.stable(2)
        answer = desk.answers[desk.join(follower)]
        assert (answer.error_code, answer.generation_id) == (ErrorCode.NONE, 1)
        assert desk.group().state is GroupState.STABLE

    def test_a_follower_with_another_subscription_starts_a_rebalance(self, desk: Desk) -> None:
        _, follower = desk.stable(2)
        desk.join(follower, protocols=[("range", subscription("other"))])
        assert desk.group().state is GroupState.PREPARING_REBALANCE

    def test_the_leader_starts_a_rebalance_whenever_it_joins(self, desk: Desk) -> None:
        """The leader may have noticed a change of the topics."""
        leader, _ = desk.stable(2)
        desk.join(leader)
        assert desk.group().state is GroupState.PREPARING_REBALANCE

    def test_before_the_assignment_even_the_leader_joins_again(self, desk: Desk) -> None:
        tokens = [desk.enter(), desk.enter()]
        desk.gather()
        first = desk.answers[tokens[0]]
        again = desk.answers[desk.join(first.member_id)]
        assert again == first
        assert desk.group().state is GroupState.COMPLETING_REBALANCE

    def test_before_the_assignment_a_new_subscription_starts_over(self, desk: Desk) -> None:
        tokens = [desk.enter(), desk.enter()]
        desk.gather()
        leader, follower = (desk.answers[token].member_id for token in tokens)
        waiting = desk.sync(follower, 1)
        desk.join(leader, protocols=[("range", subscription("other"))])
        assert desk.answers[waiting].error_code == ErrorCode.REBALANCE_IN_PROGRESS

    def test_a_second_join_takes_the_place_of_the_first(self, desk: Desk) -> None:
        """The client's connection broke. Its first request must not stay parked."""
        member_id = desk.answers[desk.join()].member_id
        first, second = desk.join(member_id), desk.join(member_id)
        assert desk.answers[first].error_code == ErrorCode.REBALANCE_IN_PROGRESS
        desk.pass_time(DELAY_S)
        assert desk.answers[second].error_code == ErrorCode.NONE


class TestStaticMembers:
    """KIP-345."""

    def entered(self, desk: Desk, *instances: str) -> list[str]:
        tokens = [desk.join(instance=instance) for instance in instances]
        desk.gather()
        return desk.settle(tokens)

    def test_needs_no_id_first(self, desk: Desk) -> None:
        [member_id] = self.entered(desk, "i")
        assert member_id.startswith("i-")

    def test_comes_back_without_a_rebalance(self, desk: Desk) -> None:
        _, old = self.entered(desk, "i", "j")
        answer = desk.answers[desk.join(instance="j")]
        assert (answer.error_code, answer.generation_id) == (ErrorCode.NONE, 1)
        assert answer.member_id != old
        assert desk.group().state is GroupState.STABLE
        token = desk.sync(answer.member_id, 1, instance="j")
        assert desk.answers[token].assignment == old.encode()

    def test_comes_back_without_a_rebalance_with_any_subscription(self, desk: Desk) -> None:
        """Only a change of the elected protocol causes a rebalance."""
        self.entered(desk, "i", "j")
        desk.join(instance="j", protocols=[("range", subscription("other"))])
        assert desk.group().state is GroupState.STABLE

    def test_a_change_of_the_elected_protocol_rebalances(self, desk: Desk) -> None:
        both = [("range", subscription("t")), ("sticky", subscription("t"))]
        [old] = self.entered_with(desk, both)
        desk.join(instance="i", protocols=[both[1], both[0]])
        assert old not in desk.group().members
        assert desk.group().generation == 2

    def entered_with(self, desk: Desk, protocols: list[tuple[str, bytes]]) -> list[str]:
        tokens = [desk.join(instance="i", protocols=protocols)]
        desk.pass_time(DELAY_S)
        return desk.settle(tokens)

    def test_the_return_is_written(self, desk: Desk) -> None:
        self.entered(desk, "i")
        answer = desk.answers[desk.join(instance="i")]
        desk.restart()
        assert list(desk.group().members) == [answer.member_id]
        assert desk.group().leader == answer.member_id

    def test_the_returning_leader_skips_the_assignment(self, desk: Desk) -> None:
        """KIP-814: the response names it as leader, lists the members, and sets ``skip_assignment``."""
        self.entered(desk, "i", "j")
        answer = desk.answers[desk.join(instance="i", version=9)]
        assert answer.skip_assignment
        assert answer.leader == answer.member_id
        assert len(answer.members) == 2

    def test_a_static_member_with_an_old_client_joins_as_the_former_leader(self, desk: Desk) -> None:
        """Otherwise it would assign, although a stable group takes no assignment."""
        leader, _ = self.entered(desk, "i", "j")
        answer = desk.answers[desk.join(instance="i", version=8)]
        assert (answer.leader, answer.members, answer.skip_assignment) == (leader, [], False)

    def test_the_former_self_is_fenced(self, desk: Desk) -> None:
        old, _ = self.entered(desk, "i", "j")
        desk.join(instance="i")
        assert desk.heartbeat(old, 1, "i") == ErrorCode.FENCED_INSTANCE_ID
        assert desk.answers[desk.join(old, instance="i")].error_code == ErrorCode.FENCED_INSTANCE_ID
        assert desk.answers[desk.sync(old, 1, instance="i")].error_code == ErrorCode.FENCED_INSTANCE_ID
        assert desk.commit(1, member_id=old, generation=1, instance="i") == ErrorCode.FENCED_INSTANCE_ID
        assert desk.leave((old, "i")) == [ErrorCode.FENCED_INSTANCE_ID]

    def test_the_former_self_is_fenced_once_the_return_is_committed(self, desk: Desk) -> None:
        """No response rests on an uncommitted record: if it is lost, the former self is the member still."""
        old, _ = self.entered(desk, "i", "j")
        desk.is_followed = False
        desk.join(instance="i")
        sync = SyncGroupRequest(GROUP, 1, old, "i", "consumer", "range")
        for message, version in (
            (desk.join_message(old, instance="i"), 9),
            (sync, 5),
            (HeartbeatRequest(GROUP, 1, old, "i"), 4),
            (LeaveGroupRequest(GROUP, members=[MemberIdentity(old, "i")]), 5),
        ):
            effects = desk.core.step(desk.now, CoordinatorRequest("token", message, version))
            ((_, answer),) = effects.replies_once_committed
            (code,) = [each.error_code for each in getattr(answer, "members", None) or [answer]]
            assert (code, effects.replies) == (ErrorCode.FENCED_INSTANCE_ID, [])

    def test_a_parked_join_of_the_former_self_is_fenced(self, desk: Desk) -> None:
        first = desk.join(instance="i")
        desk.join(instance="i")
        assert desk.answers[first].error_code == ErrorCode.FENCED_INSTANCE_ID

    def test_a_parked_sync_of_the_former_self_is_fenced(self, desk: Desk) -> None:
        tokens = [desk.join(instance="i"), desk.join(instance="j")]
        desk.gather()
        waiting = desk.sync(desk.answers[tokens[1]].member_id, 1, instance="j")
        desk.join(instance="j")
        assert desk.answers[waiting].error_code == ErrorCode.FENCED_INSTANCE_ID
        assert desk.group().state is GroupState.PREPARING_REBALANCE

    def test_a_return_with_too_few_in_sync_is_refused_and_fences_nobody(self, desk: Desk) -> None:
        """Apache appends the new id to the log first: NOT_ENOUGH_REPLICAS becomes COORDINATOR_NOT_AVAILABLE."""
        [old] = self.entered(desk, "i")
        desk.may_write = False
        assert desk.answers[desk.join(instance="i")].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert list(desk.group().members) == [old]
        assert desk.heartbeat(old, 1, "i") == ErrorCode.NONE

    def test_an_unused_instance_id_is_unknown(self, desk: Desk) -> None:
        [member_id] = self.entered(desk, "i")
        assert desk.answers[desk.join(member_id, instance="x")].error_code == ErrorCode.UNKNOWN_MEMBER_ID

    def test_an_id_that_was_handed_out_is_for_dynamic_members(self, desk: Desk) -> None:
        member_id = desk.answers[desk.join()].member_id
        assert desk.answers[desk.join(member_id, instance="i")].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_more_metadata_than_a_batch_may_have_is_refused(desk: Desk) -> None:
    """Apache refuses it when the leader assigns (``storeGroup``), with the same code."""
    token = desk.join(protocols=[("range", bytes(600_000)), ("sticky", bytes(600_000))])
    assert desk.answers[token].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert GROUP not in desk.core.groups


def test_a_returning_static_member_whose_group_becomes_too_large_keeps_its_old_id(desk: Desk) -> None:
    """Apache: "Failed to persist member.id of the given static member, revert the update"."""
    first = desk.join(instance="one")
    desk.gather()
    old_id = desk.answers[first].member_id
    desk.sync(old_id, 1, {old_id: b"a"}, instance="one")
    before = attrs.evolve(desk.group().members[old_id])
    desk.written.clear()
    desk.max_batch_bytes = 1000
    again = desk.join(instance="one", protocols=[("range", bytes(950))])
    assert desk.answers[again].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert not desk.written
    assert desk.group().members == {old_id: before}
    assert desk.group().leader == old_id
    assert desk.heartbeat(old_id, 1, "one") == ErrorCode.NONE
