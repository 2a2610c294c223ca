"""Share groups in random order: members, lost responses, time, failovers, new topics and a slow share coordinator.

Each planted bug is one that the invariants must find.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from kraft.coordinator.groups.share import admin, heartbeat, registry, states
from kraft.coordinator.groups.share.assignor import assign_simple
from kraft.coordinator.groups.share.effects import InitializeStates
from kraft.coordinator.groups.share.group import ShareGroup, ShareMember, StateTopic
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.share.desk import GROUP, SESSION_S, ShareDesk, shared

MEMBERS = ("a", "b", "c", "d")
SUBSCRIPTIONS = (["t"], ["u"], ["t", "u"])
REFUSED = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)
UNSHRUNK = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


class SharedGroup(RuleBasedStateMachine):
    """``initialized`` are the partitions that the share coordinator has states of."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = ShareDesk(t=2, u=1)
        self.epochs: dict[str, int] = {}
        self.partitions: dict[str, dict[Any, list[int]]] = {}
        self.initialized: set[tuple[Any, int]] = set()
        self.last: ShareGroup | None = None
        self.counts = {"t": 2, "u": 1}
        self.deletions: list[int] = []

    def _beat(self, member_id: str, epoch: int, topics: list[str] | None, *, is_lost: bool = False) -> None:
        answer = self.desk.beat(member_id, epoch, topics=topics)
        if answer.error_code in REFUSED:
            self.epochs.pop(member_id, None)
            self.partitions.pop(member_id, None)
            return
        assert answer.error_code == 0, answer
        if is_lost:
            return
        assert answer.member_epoch >= self.epochs.get(member_id, 0), "the member epoch goes back"
        self.epochs[member_id] = answer.member_epoch
        given = shared(answer)
        if given is not None:
            self.partitions[member_id] = given

    @rule(member_id=st.sampled_from(MEMBERS), topics=st.sampled_from(SUBSCRIPTIONS))
    def join(self, member_id: str, topics: list[str]) -> None:
        self.epochs.pop(member_id, None)
        self._beat(member_id, 0, topics)

    @rule(member_id=st.sampled_from(MEMBERS), topics=st.sampled_from([None, *SUBSCRIPTIONS]), is_lost=st.booleans())
    def beat(self, member_id: str, topics: list[str] | None, is_lost: bool) -> None:
        if member_id in self.epochs:
            self._beat(member_id, self.epochs[member_id], topics, is_lost=is_lost and topics is None)

    @rule(member_id=st.sampled_from(MEMBERS), epoch=st.integers(1, 9))
    def beat_with_any_epoch(self, member_id: str, epoch: int) -> None:
        group = self.desk.core.shares.groups.get(GROUP, ShareGroup(GROUP))
        member = group.members.get(member_id)
        code = self.desk.beat(member_id, epoch).error_code
        if member is None:
            assert code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND)
        elif epoch not in (member.member_epoch, member.previous_member_epoch):
            assert code == ErrorCode.FENCED_MEMBER_EPOCH
        else:
            self.epochs.pop(member_id, None)  # a response that the client has not seen
            self.partitions.pop(member_id, None)

    @rule(member_id=st.sampled_from(MEMBERS))
    def leave(self, member_id: str) -> None:
        if self.epochs.pop(member_id, None) is not None:
            self.partitions.pop(member_id, None)
            assert self.desk.beat(member_id, -1).error_code in (0, *REFUSED)

    @rule(code=st.sampled_from([ErrorCode.NONE, ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE]))
    def answer(self, code: ErrorCode) -> None:
        for request in self.desk.state_requests:
            named = request.start_offsets if isinstance(request, InitializeStates) else request.partitions
            partitions = {(topic_id, each) for topic_id, some in named.items() for each in some}
            if not code:
                self.initialized = (
                    self.initialized | partitions
                    if isinstance(request, InitializeStates)
                    else self.initialized - partitions
                )
        self.desk.answer_states(code)

    @rule(seconds=st.sampled_from([1.0, 20.0, SESSION_S]))
    def wait(self, seconds: float) -> None:
        self.desk.pass_time(seconds)

    @rule(name=st.sampled_from(["t", "u"]))
    def add_a_partition(self, name: str) -> None:
        if self.counts[name] < 4:
            self.counts[name] += 1
            self.desk.image = ShareDesk(**self.counts).image

    @rule()
    def delete(self) -> None:
        self.deletions.append(self.desk.send(DeleteGroupsRequest(groups_names=[GROUP]), 2))

    @rule()
    def fail_over(self) -> None:
        dropped = self.desk.restart()
        self.deletions = [token for token in self.deletions if token not in dropped]
        self.desk.state_requests.clear()
        self.last = None

    @invariant()
    def members_share_what_has_a_state(self) -> None:
        group = self.desk.core.shares.groups.get(GROUP, ShareGroup(GROUP))
        for member in group.members.values():
            for topic_id, some in member.assigned.items():
                assert {(topic_id, each) for each in some} <= self.initialized, "a partition without a state"

    @invariant()
    def the_group_is_sound(self) -> None:
        group = self.desk.core.shares.groups.get(GROUP)
        if group is None:
            self.last = None
            return
        assert group.assignment_epoch <= group.epoch
        for member in group.members.values():
            assert member.member_epoch <= group.epoch
            assert member.topics, "a member without a subscription"
        assert set(group.target) <= set(group.members), "a target of a member that is gone"
        assert set(self.desk.core.shares.sessions.get(GROUP, {})) == set(group.members), "a member without a session"
        if self.last is not None:
            assert group.epoch >= self.last.epoch, "the group epoch goes back"
        self.last = group

    @invariant()
    def the_log_has_the_group(self) -> None:
        loaded = ShareDesk(**self.counts)
        loaded.load(self.desk.written)
        assert loaded.core.shares.groups == self.desk.core.shares.groups
        assert self.desk.core.shares.committed == self.desk.core.shares.groups

    @invariant()
    def each_client_that_waits_is_known(self) -> None:
        unanswered = [token for token in self.deletions if token not in self.desk.answers]
        assert sorted(map(str, unanswered)) == sorted(map(str, self.desk.core.shares.waiting))

    def teardown(self) -> None:
        """The share coordinator answers, all members heartbeat, and each partition has a member that subscribes."""
        for _ in range(8):
            self.answer(ErrorCode.NONE)
            self.desk.pass_time(10.0)
            for member_id in list(self.epochs):
                self._beat(member_id, self.epochs[member_id], None)
        self.members_share_what_has_a_state()
        group = self.desk.core.shares.groups.get(GROUP)
        if group is None or not group.members:
            return
        assert set(group.members) == set(self.epochs), "a silent member stays"
        owned = {(topic_id, each) for some in self.partitions.values() for topic_id in some for each in some[topic_id]}
        image = self.desk.image
        wanted = {
            (image.topic_ids[name], each)
            for member in group.members.values()
            for name in member.topics
            for each in range(self.counts[name])
        }
        assert owned == wanted, "a partition without a member, or one too many"
        for member_id, member in group.members.items():
            assert self.partitions[member_id].keys() <= {image.topic_ids[name] for name in member.topics}


SharedGroup.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestSharedGroup = SharedGroup.TestCase


def _nothing(*_: Any, **__: Any) -> Any:
    yield from ()


def _bumped_never(decision: Any, shares: Any, image: Any, *, bump: bool) -> Any:
    yield from ()
    return False


def _kept(table: Any, group: Any, member: Any) -> Any:
    yield from ()


def _assign_all(members: Any, assignable: Any) -> Any:
    """Assign partitions whose states are not initialized."""
    topics = {topic_id for member in members for topic_id in member.topics}
    return (yield from assign_simple(members, dict.fromkeys(topics, range(4))))


def _assign_to_the_first(members: Any, assignable: Any) -> Any:
    return (yield from assign_simple(members[:1], assignable))


def _backwards(group: ShareGroup, member: ShareMember, image: Any, *, bumped: bool) -> ShareMember:
    return attrs.evolve(member, member_epoch=max(member.member_epoch - 1, 0))


def _without_subscription(group: ShareGroup, member: ShareMember, image: Any, *, bumped: bool) -> ShareMember:
    return attrs.evolve(member, member_epoch=group.assignment_epoch, assigned=dict(group.target.get("a", {})))


def _finish_all(decision: Any, asked: Any, image: Any, *, failed: bool) -> Any:
    """Note the partitions of a failed request as initialized, too."""
    return states.finish(decision, asked, image, failed=False)


def _unfenced(group: ShareGroup, message: Any, max_size: int) -> ShareMember:
    return group.members.get(message.member_id) or ShareMember(message.member_id)


def _combined(topics: Any, more: Any) -> dict[Any, StateTopic]:
    """Replace what was initialized before."""
    return dict(more)


BUGS: dict[str, tuple[Any, str, Any]] = {
    "partitions without a state are assigned": (heartbeat, "assign_simple", _assign_all),
    "only one member is assigned anything": (heartbeat, "assign_simple", _assign_to_the_first),
    "the group epoch never rises": (heartbeat, "_raise_epoch", _bumped_never),
    "no target is computed": (heartbeat, "_assign", _nothing),
    "a member epoch goes back": (heartbeat, "_reconciled", _backwards),
    "a member gets the partitions of another": (heartbeat, "_reconciled", _without_subscription),
    "new partitions are not noticed": (ShareGroup, "has_unassigned", property(lambda group: False)),
    "no state is asked for": (heartbeat, "initialize_missing", _nothing),
    "an unknown member is taken in": (heartbeat, "_sender", _unfenced),
    "the log lacks the removal of a member": (heartbeat, "member_tombstones", lambda *_: []),
    "a refused state counts as initialized": (admin, "finish", _finish_all),
    "initialized partitions replace earlier ones": (states, "combined", _combined),
    "a loaded member has no session": (registry.ShareGroups, "begin", _nothing),
    "silent members stay": (registry.ShareGroups, "late", lambda *_: []),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*BUGS[bug])
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(seed(1)(SharedGroup), settings=UNSHRUNK)
