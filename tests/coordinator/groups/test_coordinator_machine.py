"""Random members of one group join, leave, retry and miss replies, while the coordinator moves between brokers.

The properties are the guarantees of the classic protocol. A dict is the model of the offsets. Records commit at once,
commit later, or are lost with their broker. No client may see the effect of a record before it is committed.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kraft.coordinator.core import StoredRecord
from kraft.coordinator.groups import session
from kraft.coordinator.groups.core import GroupCoordinator
from kraft.coordinator.groups.group import Group, GroupState
from kraft.coordinator.groups.offsets import Offsets
from kraft.coordinator.groups.rebalance import Step
from kraft.coordinator.groups.records import OffsetRecord
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.join_group_response import JoinGroupResponse
from kraft.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kraft.messages.sync_group_request import SyncGroupRequest
from kraft.metadata.steps import Steps, finished
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.desk import GROUP, Desk, subscription

PROTOCOLS = [("range",), ("range", "roundrobin"), ("roundrobin", "range"), ("roundrobin",)]
LONG_S = 3_600.0
who = st.integers(0, 5)


@attrs.define
class Client:
    """A consumer's view of its own membership."""

    instance: str | None
    version: int
    session_s: float
    rebalance_s: float
    protocols: tuple[str, ...] = ("range",)
    topic: str = "t"
    member_id: str = ""
    generation: int = -1
    protocol: str | None = None
    roster: list[str] = attrs.Factory(list)
    waits_for: int | None = None


clients = st.builds(
    Client,
    instance=st.sampled_from([None, None, "i1", "i2"]),
    version=st.sampled_from([5, 8, 9]),
    session_s=st.sampled_from([0.5, 2.0, 10.0]),
    rebalance_s=st.sampled_from([0.0, 5.0, 20.0]),
) | st.builds(
    Client,
    instance=st.none(),
    version=st.sampled_from([3, 4]),
    session_s=st.just(2.0),
    rebalance_s=st.sampled_from([0.0, 5.0]),
)


class Coordination(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(group_min_session_timeout_s=0.001, group_max_size=4, offset_metadata_max_bytes=10)
        self.clients: list[Client] = []
        self.joins: dict[int, Client] = {}
        self.syncs: set[int] = set()
        self.parked: set[int] = set()
        self.last: Any = None
        self.offsets: dict[tuple[str, int], int] = {}
        self.writes: dict[int, Callable[[], object]] = {}
        """By token: the change of ``offsets`` that follows the response."""
        self.generation = 0

    @initialize(clients=st.lists(clients, min_size=1, max_size=6))
    def start(self, clients: list[Client]) -> None:
        self.clients = [copy.copy(client) for client in clients]

    @rule(who=who)
    def restart_client(self, who: int) -> None:
        """Restart a client without LeaveGroup and without its state."""
        client = self.client(who)
        client.member_id, client.generation, client.waits_for, client.roster = "", -1, None, []

    @rule(who=who, lost=st.booleans(), protocols=st.sampled_from([None, None, None, *PROTOCOLS]))
    def join(self, who: int, lost: bool, protocols: tuple[str, ...] | None) -> None:
        client = self.client(who)
        client.protocols = protocols or client.protocols
        self.ask_to_join(client, lost=lost)

    @precondition(lambda self: any(client.generation >= 0 for client in self.clients))
    @rule(who=who, stale=st.sampled_from([0, 0, 0, 1]), unnamed=st.integers(0, 2))
    def sync(self, who: int, stale: int, unnamed: int) -> None:
        self.ask_to_sync(self.client(who, joined=True), stale, unnamed)

    @rule(crowd=st.integers(1, 6), silent=st.none() | who, unnamed=st.sampled_from([0, 0, 1]))
    def everyone_goes_through_a_rebalance(self, crowd: int, silent: int | None, unnamed: int) -> None:
        """Complete a rebalance without faults, in which at most one member sends no SyncGroup."""
        for client in self.clients[:crowd]:
            self.ask_to_join(client)
            if client.member_id and client.waits_for is None and client.generation < 0:
                self.ask_to_join(client)
        for _ in range(20):
            if any(client.waits_for is not None for client in self.clients):
                self.time_passes(max(self.desk.core.deadline - self.desk.now, 0.001))
        for index, client in enumerate(self.clients[:crowd]):
            if client.generation >= 0 and index != silent:
                self.ask_to_sync(client, unnamed=unnamed)

    @precondition(lambda self: any(client.generation >= 0 for client in self.clients))
    @rule(who=who)
    def heartbeat(self, who: int) -> None:
        client = self.client(who, joined=True)
        code = self.desk.heartbeat(client.member_id, client.generation, client.instance)
        self.believe(client, code)

    @precondition(lambda self: any(client.member_id for client in self.clients))
    @rule(who=who)
    def leave(self, who: int) -> None:
        client = self.client(who)
        self.send(self.desk.leave_message((client.member_id, client.instance)), 5)
        client.member_id, client.generation, client.roster = "", -1, []
        self.hear()

    @precondition(lambda self: self.last is not None)
    @rule()
    def network_repeats_itself(self) -> None:
        self.send(*self.last)
        self.hear()

    @rule(
        who=st.none() | who,
        partition=st.integers(0, 2),
        offset=st.integers(0, 99),
        metadata=st.sampled_from(["", "0" * 11]),
    )
    def commit(self, who: int | None, partition: int, offset: int, metadata: str) -> None:
        client = self.client(who, joined=True) if who is not None else None
        token = self.desk.send_commit(
            offset,
            partition=partition,
            metadata=metadata,
            member_id=client.member_id if client else "",
            generation=client.generation if client else -1,
            instance=client.instance if client else None,
        )
        answer = self.desk.answers.get(token)
        if answer is None or answer.topics[0].partitions[0].error_code == ErrorCode.NONE:
            assert not metadata
            assert self.desk.may_write
            self.write(token, lambda: self.offsets.update({("t", partition): offset}))

    @rule(partition=st.integers(0, 2))
    def delete_offset(self, partition: int) -> None:
        topics = [OffsetDeleteRequestTopic("t", partitions=[OffsetDeleteRequestPartition(partition)])]
        token = self.desk.send(OffsetDeleteRequest(group_id=GROUP, topics=topics), 0)
        answer = self.desk.answers.get(token)
        if answer is None or (answer.topics and answer.topics[0].partitions[0].error_code == ErrorCode.NONE):
            self.write(token, lambda: self.offsets.pop(("t", partition), None))

    @rule()
    def delete_group(self) -> None:
        token = self.desk.send(DeleteGroupsRequest(groups_names=[GROUP]), 2)
        answer = self.desk.answers.get(token)
        if answer is None or answer.results[0].error_code == ErrorCode.NONE:
            self.write(token, self.offsets.clear)
            self.generation = 0

    def write(self, token: int, change: Callable[[], object]) -> None:
        self.writes[token] = change
        self.hear()

    @rule()
    def followers_stop(self) -> None:
        self.desk.is_followed = False

    @rule()
    def followers_catch_up(self) -> None:
        self.desk.is_followed = True
        self.desk.commit_all()
        self.hear()

    @rule(enough=st.booleans())
    def replicas_in_sync_change(self, enough: bool) -> None:
        """``min.insync.replicas``"""
        self.desk.may_write = enough

    @rule()
    def clean_up(self) -> None:
        """The retention is a week, and less time passes here. So only groups without offsets may expire."""
        known = GROUP in self.desk.core.groups
        self.desk.expire()
        if known and GROUP not in self.desk.core.groups:
            assert not self.desk.core.offsets.written(GROUP)
            self.generation = 0

    @rule(seconds=st.sampled_from([0.001, 0.1, 0.499, 0.5, 3.0, 7.0, 25.0]))
    def time_passes(self, seconds: float) -> None:
        self.desk.pass_time(seconds)
        self.hear()

    @rule(has_all=st.booleans())
    def another_broker_takes_over(self, has_all: bool) -> None:
        """The new broker has all committed records, and perhaps others. It commits those before it replies."""
        assert set(self.desk.restart(has_all=has_all)) == self.parked | self.writes.keys()
        if has_all:
            for change in self.writes.values():
                change()
        self.writes.clear()
        self.parked.clear()
        self.syncs.clear()
        for client in self.clients:
            client.waits_for = None
        # A generation is appended only once its leader has assigned. An earlier one is lost.
        self.generation = self.desk.group().generation if GROUP in self.desk.core.groups else 0

    def ask_to_join(self, client: Client, *, lost: bool = False) -> None:
        message = self.desk.join_message(
            client.member_id,
            instance=client.instance,
            protocols=[(name, subscription(client.topic)) for name in client.protocols],
            session_s=client.session_s,
            rebalance_s=client.rebalance_s,
        )
        token = self.send(message, client.version)
        self.joins[token] = client
        client.waits_for = None if lost else token
        self.hear()

    def ask_to_sync(self, client: Client, stale: int = 0, unnamed: int = 0) -> None:
        """Send SyncGroup. A leader may omit members from its assignment."""
        stamp = f"{client.generation}/{self.desk.now:.3f}/{client.member_id}"
        assignments = {each: f"{stamp}/{each}".encode() for each in client.roster[unnamed:]}
        token = self.desk.sync(
            client.member_id,
            client.generation - stale,
            assignments,
            version=min(client.version, 5),
            protocol_name=client.protocol,
            instance=client.instance,
        )
        self.parked.add(token)
        self.syncs.add(token)
        self.hear()

    def client(self, index: int, *, joined: bool = False) -> Client:
        chosen = [each for each in self.clients if each.generation >= 0 or not joined] or self.clients
        return chosen[index % len(chosen)]

    def send(self, message: Any, version: int) -> int:
        self.last = (message, version)
        token = self.desk.send(message, version)
        self.parked.add(token)
        return token

    def hear(self) -> None:
        """Deliver the replies to the clients, except those to requests that a client gave up."""
        for token in [each for each in self.writes if each in self.desk.answers]:
            self.writes.pop(token)()
        for token in [each for each in self.parked if each in self.desk.answers]:
            self.parked.discard(token)
            answer = self.desk.answers[token]
            if token in self.syncs and answer.error_code == ErrorCode.NONE:
                assert any(answer.assignment in (value or b"") for _, value, *_ in self.desk.committed_log)
            client = self.joins.pop(token, None)
            if client is None or client.waits_for != token:
                continue
            client.waits_for = None
            if answer.error_code == ErrorCode.NONE:
                self.joined(client, answer)
            elif answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                client.member_id = answer.member_id
            else:
                self.believe(client, answer.error_code)

    def joined(self, client: Client, answer: JoinGroupResponse) -> None:
        client.member_id = answer.member_id
        client.generation = answer.generation_id
        client.protocol = answer.protocol_name
        leads = answer.leader == answer.member_id and not answer.skip_assignment
        client.roster = [each.member_id for each in answer.members] if leads else []
        assert answer.protocol_name in client.protocols

    def believe(self, client: Client, code: int) -> None:
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            client.member_id, client.generation, client.roster = "", -1, []

    @invariant()
    def every_request_has_one_place(self) -> None:
        waiting = [
            token
            for group in self.desk.core.groups.values()
            for member in group.members.values()
            for token in (member.join, member.sync)
            if token is not None
        ]
        assert sorted(waiting + self.desk.uncommitted_tokens) == sorted(self.parked | self.writes.keys())

    @invariant()
    def a_group_agrees_with_itself(self) -> None:
        for group in self.desk.core.groups.values():
            assert all(member_id == member.member_id for member_id, member in group.members.items())
            assert not group.pending.keys() & group.members.keys()
            assert group.awaiting_sync <= group.members.keys()
            static = {member.group_instance_id: each for each, member in group.members.items() if member.is_static}
            assert static == group.static_members
            assert (group.leader in group.members) if group.members else group.leader is None
            assert all(member.join is None or member.sync is None for member in group.members.values())
            if any(member.join is not None for member in group.members.values()):
                assert group.state is GroupState.PREPARING_REBALANCE
            if any(member.sync is not None for member in group.members.values()) or group.storing is not None:
                assert group.state is GroupState.COMPLETING_REBALANCE
            if group.members:
                assert group.state is not GroupState.EMPTY
                assert finished(group.common_protocols())

    @invariant()
    def a_stable_group_has_one_assignment(self) -> None:
        group = self.desk.core.groups.get(GROUP)
        if group is not None and group.state is GroupState.STABLE:
            told = [member.assignment.decode() for member in group.members.values() if member.assignment]
            stamps = {assignment.rsplit("/", 1)[0] for assignment in told}
            assert len(stamps) <= 1
            assert all(stamp.startswith(f"{group.generation}/") for stamp in stamps)

    @invariant()
    def a_generation_never_comes_back(self) -> None:
        group = self.desk.core.groups.get(GROUP)
        if group is not None:
            assert group.generation >= self.generation
            self.generation = group.generation

    @invariant()
    def the_group_is_not_too_large(self) -> None:
        group = self.desk.core.groups.get(GROUP)
        if group is not None and group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            assert len([each for each in group.members.values() if not each.is_static]) <= 4

    @invariant()
    def nobody_is_woken_too_late(self) -> None:
        due = [group.deadline() for group in self.desk.core.groups.values()]
        assert not due or self.desk.core.deadline <= min(due)

    @invariant()
    def offsets_are_those_of_the_last_commits(self) -> None:
        assert self.desk.committed() == self.offsets

    @invariant()
    def what_is_committed_is_answered_and_nothing_else(self) -> None:
        assert heir_of(self.desk, self.desk.committed_log).offsets.by_group == self.desk.core.offsets.by_group

    @invariant()
    def the_log_tells_it_all(self) -> None:
        """A coordinator that loads the partition now finds the offsets and, of a stable group, the members."""
        heir = heir_of(self.desk, self.desk.written)
        assert heir.offsets.of(GROUP).keys() == self.desk.core.offsets.written(GROUP).keys()
        group = self.desk.core.groups.get(GROUP)
        if group is None:
            assert not heir.groups
        elif group.state is GroupState.STABLE or (group.state is GroupState.EMPTY and group.generation):
            assert described(heir) == described(self.desk.core)

    def teardown(self) -> None:
        """Every parked request gets its reply in the end, even if no client sends another request."""
        self.followers_catch_up()
        self.desk.pass_time(LONG_S)
        self.hear()
        assert not self.parked
        assert not self.writes
        assert all(group.state is GroupState.EMPTY for group in self.desk.core.groups.values())
        self.the_log_tells_it_all()


def heir_of(desk: Desk, log: list[StoredRecord]) -> GroupCoordinator:
    heir = GroupCoordinator(desk.settings, str)
    deque(heir.load(log), maxlen=0)
    deque(heir.begin(desk.now, heir.new_effects()), maxlen=0)
    return heir


def described(core: GroupCoordinator) -> Any:
    group = copy.deepcopy(core.groups[GROUP])
    members = [
        (each.member_id, each.group_instance_id, each.session_timeout_s, each.rebalance_timeout_s, each.assignment,
         each.metadata(group.protocol_name), each.client_id, each.client_host)
        for each in group.members.values()
    ]  # fmt: skip
    return group.state, group.generation, group.protocol_type, group.protocol_name, group.leader, group.topics, members


TestCoordination = pytest.mark.no_cover(Coordination.TestCase)
TestCoordination.settings = settings(
    max_examples=200, stateful_step_count=40, deadline=None, report_multiple_bugs=False
)


UNSHRUNK = settings(TestCoordination.settings, max_examples=500, phases=[Phase.generate])


@pytest.mark.no_cover
class TestPlantedBugs:
    """The test notices a coordinator that shows its clients uncommitted records."""

    def notices(self) -> None:
        with pytest.raises((AssertionError, ExceptionGroup)):
            run_state_machine_as_test(Coordination, settings=UNSHRUNK)

    def test_a_commit_that_is_applied_before_it_is_committed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write = Offsets.write

        def write_and_apply(self: Offsets, step: Step, record: OffsetRecord) -> None:
            write(self, step, record)
            self.replay(record)

        monkeypatch.setattr(Offsets, "write", write_and_apply)
        self.notices()

    def test_an_assignment_that_is_sent_before_it_is_committed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assign = session._assign

        def assign_and_tell(step: Step, group: Group, message: SyncGroupRequest) -> Steps[None]:
            yield from assign(step, group, message)
            if group.storing is not None:
                yield from session.assignment_committed(step, group)

        monkeypatch.setattr(session, "_assign", assign_and_tell)
        self.notices()

    def test_a_deleted_group_that_leaves_uncommitted_offsets_behind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Offsets, "written", Offsets.of)
        self.notices()
