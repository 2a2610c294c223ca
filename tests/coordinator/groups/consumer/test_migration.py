"""Online migration between the protocols (KIP-848): a group is converted while its members stay.

The codes are those of ``GroupMetadataManager``: ``convertToConsumerGroup``, ``convertToClassicGroup``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import pytest

from kraft.coordinator.framing import VERSION, version_of
from kraft.coordinator.groups.consumer import classic_members
from kraft.coordinator.groups.consumer.embedded import decode_assignment
from kraft.coordinator.groups.consumer.group import FIRST_EPOCH
from kraft.coordinator.groups.group import GroupState
from kraft.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from kraft.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kraft.messages.consumer_protocol_assignment import TopicPartition as AssignedTopic
from kraft.messages.consumer_protocol_subscription import ConsumerProtocolSubscription, TopicPartition
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.wire.codec import encode
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.consumer.desk import GROUP, ConsumerDesk, Member, Owned, T, image_of
from tests.coordinator.groups.desk import REBALANCE_S, SESSION_S, subscription

CODES = ErrorCode


class ClassicConsumer:
    """A client of the classic protocol. It reports the partitions that it has (KIP-429), and may lead."""

    def __init__(self, desk: ConsumerDesk, topics: Iterable[str] = ("t",), instance: str | None = None) -> None:
        self.desk, self.topics, self.instance = desk, list(topics), instance
        self.member_id, self.generation = "", -1
        self.owned: Owned = {}
        self.leads = False
        self.token = self.send_join()
        if instance is None:
            self.member_id = desk.answers[self.token].member_id
            self.token = self.send_join()

    def metadata(self) -> bytes:
        held = [TopicPartition(self.desk.image.topics[each].name, numbers) for each, numbers in self.owned.items()]
        return VERSION.pack(1) + encode(ConsumerProtocolSubscription(self.topics, owned_partitions=held), 1)

    def send_join(self) -> int:
        return self.desk.join(self.member_id, instance=self.instance, protocols=[("range", self.metadata())])

    def joined(self) -> int:
        """Take over the response to the last JoinGroup, and return its code."""
        answer = self.desk.answers[self.token]
        if not answer.error_code:
            self.member_id, self.generation = answer.member_id, answer.generation_id
            self.leads = answer.leader == self.member_id
        return int(answer.error_code)

    def sync(self, assignments: dict[str, bytes] | None = None) -> int:
        answer = self.desk.answers[self.desk.sync(self.member_id, self.generation, assignments, instance=self.instance)]
        if not answer.error_code:
            found = decode_assignment(bytes(answer.assignment), self.desk.image)
            self.owned = {topic_id: sorted(numbers) for topic_id, numbers in found.items() if numbers}
        return int(answer.error_code)

    def heartbeat(self) -> int:
        return self.desk.heartbeat(self.member_id, self.generation, self.instance)

    def rejoin(self) -> int:
        """Join a consumer group again, and get the partitions."""
        self.token = self.send_join()
        return self.joined() or self.sync()


def classic_group(
    desk: ConsumerDesk, *shares: list[int], instances: Iterable[str] = (), user_data: bytes | None = None
) -> list[ClassicConsumer]:
    """Return the members of a stable classic group with these partitions of ``t``."""
    names = list(instances) or [None] * len(shares)
    clients = [ClassicConsumer(desk, instance=name) for name in names]
    desk.gather()
    assert [client.joined() for client in clients] == [0] * len(clients)
    assignments = {
        client.member_id: VERSION.pack(1)
        + encode(ConsumerProtocolAssignment([AssignedTopic("t", share)], user_data=user_data), 1)
        for client, share in zip(clients, shares, strict=True)
    }
    tokens = [
        desk.sync(client.member_id, client.generation, assignments if client.leads else None, instance=client.instance)
        for client in sorted(clients, key=lambda each: each.leads)
    ]
    assert all(desk.answers[token].error_code == 0 for token in tokens)
    for client, share in zip(clients, shares, strict=True):
        client.owned = {T: share}
    return clients


def converge(desk: ConsumerDesk, members: list[Member], clients: list[ClassicConsumer]) -> None:
    """Let all heartbeat and join until nothing changes. No two of them have a partition at the same time."""
    for _ in range(20):
        before = [(each.owned, each.generation) for each in clients], [(each.owned, each.epoch) for each in members]
        for member in members:
            member.beat()
        for client in clients:
            code = client.heartbeat()
            if code == CODES.REBALANCE_IN_PROGRESS:
                assert client.rejoin() == 0
            else:
                assert code == 0
            shares = held(*members, *clients)
            assert len(shares) == len(set(shares)), shares
        after = [(each.owned, each.generation) for each in clients], [(each.owned, each.epoch) for each in members]
        if before == after:
            return
    raise AssertionError("the group does not settle")


def held(*members: Member | ClassicConsumer) -> list[int]:
    return sorted(each for member in members for each in member.owned.get(T, []))


def settings_without(desk: ConsumerDesk, **what: bool) -> None:
    desk.settings = attrs.evolve(desk.settings, consumer=attrs.evolve(desk.settings.consumer, **what))
    desk.core.settings = desk.settings


def test_the_first_consumer_member_upgrades_the_group() -> None:
    """The classic members stay with their partitions, and give up what the target moves when they join again."""
    desk = ConsumerDesk(t=6)
    clients = classic_group(desk, [0, 1, 2], [3, 4, 5])
    assert desk.commit(7, member_id=clients[0].member_id, generation=1) == 0
    member = Member(desk, "m1")
    assert (list(desk.core.groups), member.owned, desk.consumer_group.epoch) == ([], {}, 2)
    assert held(*clients) == [0, 1, 2, 3, 4, 5]
    converge(desk, [member], clients)
    assert held(member, *clients) == [0, 1, 2, 3, 4, 5]
    assert [len(held(each)) for each in (member, *clients)] == [2, 2, 2]
    assert desk.commit(8, member_id=clients[0].member_id, generation=clients[0].generation) == 0
    assert desk.committed() == {("t", 0): 8}
    (described,) = desk.ask(ConsumerGroupDescribeRequest([GROUP]), 1).groups
    assert sorted(each.member_type for each in described.members) == [0, 0, 1]


def test_a_partition_that_is_being_revoked_is_not_free_at_the_upgrade() -> None:
    """KIP-429: a member owns until its SyncGroup what a cooperative rebalance takes from it. KIP-848: nobody gets it
    before the member acknowledged.
    """
    desk = ConsumerDesk(t=2)
    leader, silent = clients = classic_group(desk, [], [0, 1])
    for client in clients:
        client.token = client.send_join()
    assert [client.joined() for client in clients] == [0, 0]
    share = VERSION.pack(1) + encode(ConsumerProtocolAssignment([AssignedTopic("t", [0])]), 1)
    leader.sync({silent.member_id: share})
    member = Member(desk, "m1")
    member.beat()
    assert (member.owned, silent.owned) == ({}, {T: [0, 1]})
    converge(desk, [member], clients)
    assert held(member, *clients) == [0, 1]


def test_a_fenced_classic_member_does_not_return_with_its_partitions() -> None:
    """KIP-429: with UNKNOWN_MEMBER_ID it has lost them. Until then its commits would be accepted, and others' too."""
    desk = ConsumerDesk(t=4)
    clients = classic_group(desk, [0, 1], [2, 3])
    converge(desk, [Member(desk, "m1")], clients)
    fenced = clients[0]
    assert desk.leave((fenced.member_id, None)) == [0]
    assert held(fenced)
    assert fenced.rejoin() == CODES.UNKNOWN_MEMBER_ID
    fenced.owned = {}
    assert fenced.rejoin() == 0


def test_the_offsets_of_an_empty_group_have_a_group_after_a_refused_join() -> None:
    """Otherwise they never expire: the coordinator expires those of its groups (KIP-211)."""
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    assert desk.commit(7, member_id="m1", generation=2, version=9) == 0
    desk.beat("m1", -1)
    assert desk.answers[desk.join("gone")].error_code == CODES.UNKNOWN_MEMBER_ID
    desk.pass_time(8 * 24 * 3600)
    desk.expire()
    assert (desk.committed(), desk.core.group_ids()) == ({}, [])


def test_a_group_whose_members_left_during_a_rebalance_keeps_its_generation() -> None:
    """``ConsumerGroup.fromClassicGroup``: the generation becomes the epoch, unless the group is Empty."""
    desk = ConsumerDesk(t=1)
    (client,) = classic_group(desk, [0])
    desk.join()  # a client that has a member id, and has not joined yet
    assert desk.leave((client.member_id, None)) == [0]
    assert (desk.group().state, desk.group().members) == (GroupState.PREPARING_REBALANCE, {})
    assert desk.beat("m1", 0).member_epoch == client.generation + 1


def test_no_member_gets_epoch_0_of_a_group_without_a_generation() -> None:
    """KIP-848: epoch 0 joins. The interval between assignments does not hold the first one back."""
    desk = ConsumerDesk(interval_s=60.0, t=1)
    desk.join(desk.answers[desk.join()].member_id, protocols=[("range", subscription("nowhere"))])
    assert (desk.group().state, desk.group().generation) == (GroupState.PREPARING_REBALANCE, 0)
    joined = desk.beat("m1", 0, topics=None, subscribed_topic_regex="t.*")
    assert (joined.error_code, joined.member_epoch) == (0, FIRST_EPOCH)
    assert desk.beat("m1", joined.member_epoch).error_code == 0


def test_the_tombstone_of_the_classic_group_comes_first() -> None:
    """Apache removes the group at that tombstone, of whichever type it is by then."""
    desk = ConsumerDesk(t=2)
    classic_group(desk, [0, 1])
    before = len(desk.written)
    desk.beat("m1", 0)
    kinds = [(version_of(each.key or b""), each.value is None) for each in desk.written[before:]]
    assert kinds[0] == (2, True)
    assert kinds.count((2, True)) == 1
    assert kinds[1:6] == [(5, False), (3, False), (7, False), (6, False), (8, False)]


def test_the_last_consumer_member_that_leaves_downgrades_the_group() -> None:
    desk = ConsumerDesk(t=4)
    clients = classic_group(desk, [0, 1], [2, 3])
    member = Member(desk, "m1")
    converge(desk, [member], clients)
    epoch = desk.consumer_group.epoch
    assert desk.beat("m1", -1).error_code == 0
    assert (list(desk.core.consumers.groups), desk.group().generation) == ([], epoch)
    assert desk.group().state is GroupState.PREPARING_REBALANCE
    assert [client.heartbeat() for client in clients] == [CODES.REBALANCE_IN_PROGRESS] * 2
    for client in clients:
        client.token = client.send_join()
    assert [client.joined() for client in clients] == [0, 0]
    assert sum(client.leads for client in clients) == 1
    assert desk.group().state is GroupState.COMPLETING_REBALANCE
    desk.restart()
    assert set(desk.group().members) == {client.member_id for client in clients}
    assert desk.core.consumers.groups == {}


def test_a_downgrade_gives_no_member_what_another_one_still_has() -> None:
    """Until they join, members use what they have. If the group is upgraded again, its coordinator must know that."""
    desk = ConsumerDesk(t=4)
    clients = classic_group(desk, [0, 1, 2, 3], [])
    Member(desk, "m1")  # its target takes partitions from the first client
    desk.beat("m1", -1)
    image = desk.image
    shares = [decode_assignment(desk.group().members[each.member_id].assignment, image) for each in clients]
    assert [each.get(T, frozenset()) for each in shares] == [{0, 1, 2, 3}, frozenset()]


def test_a_static_member_that_leaves_the_consumer_protocol_downgrades_with_a_rebalance_if_needed() -> None:
    desk = ConsumerDesk(t=4)
    classic_group(desk, [0, 1, 2, 3])
    Member(desk, "m1", instance_id="i")
    desk.beat("m1", -2, instance_id="i")
    returned = ClassicConsumer(desk, instance="i")
    assert returned.joined() == 0
    assert list(desk.core.consumers.groups) == []
    assert desk.group().state is GroupState.PREPARING_REBALANCE
    assert returned.sync() == CODES.REBALANCE_IN_PROGRESS


def test_a_silent_consumer_member_downgrades_the_group_too() -> None:
    desk = ConsumerDesk(t=2)
    clients = classic_group(desk, [0, 1])
    member = Member(desk, "m1")
    converge(desk, [member], clients)
    for _ in range(10):
        desk.pass_time(SESSION_S / 2)
        if GROUP in desk.core.consumers.groups:
            clients[0].heartbeat()
    assert set(desk.core.groups) == {GROUP}


def test_a_mixed_group_is_loaded_with_its_classic_members() -> None:
    """ClassicMemberMetadata has the session timeout and the protocols."""
    desk = ConsumerDesk(t=4)
    clients = classic_group(desk, [0, 1], [2, 3])
    member = Member(desk, "m1")
    converge(desk, [member], clients)
    desk.restart()
    converge(desk, [member], clients)
    assert held(member, *clients) == [0, 1, 2, 3]
    desk.pass_time(SESSION_S + 1)  # less than the session timeout of the consumer protocol
    assert set(desk.consumer_group.members) == {"m1"}


@pytest.mark.parametrize("kind", ["policy", "protocol type", "size", "malformed", "custom assignor"])
def test_a_group_that_may_not_be_upgraded_keeps_its_protocol(kind: str) -> None:
    """``validateOnlineUpgrade``: GROUP_ID_NOT_FOUND. Nothing is written."""
    desk = ConsumerDesk(t=2, max_size=1 if kind == "size" else 100)
    if kind == "policy":
        settings_without(desk, may_upgrade=False)
    if kind in ("policy", "size"):
        classic_group(desk, [0], [1])
    elif kind == "custom assignor":  # Apache: "userData from a custom assignor would be lost"
        classic_group(desk, [0], [1], user_data=b"generation")
    else:
        # Its assignments are no bytes of the embedded protocol.
        desk.stable(protocol_type="connect" if kind == "protocol type" else "consumer")
    before = len(desk.written)
    assert desk.beat("m1", 0).error_code == CODES.GROUP_ID_NOT_FOUND
    assert (len(desk.written), list(desk.core.groups)) == (before, [GROUP])


def test_without_migration_no_classic_member_joins_a_consumer_group() -> None:
    """``throwIfClassicMemberCannotJoinConsumerGroup``: also one that is a member already."""
    desk = ConsumerDesk(t=2)
    (client,) = classic_group(desk, [0, 1])
    member = Member(desk, "m1")
    converge(desk, [member], [client])
    settings_without(desk, may_upgrade=False, may_downgrade=False)
    before = len(desk.written)
    for member_id in ("", client.member_id):
        joined = desk.answers[desk.join(member_id=member_id)]
        assert joined.error_code == CODES.INCONSISTENT_GROUP_PROTOCOL
    assert len(desk.written) == before
    assert set(desk.consumer_group.members) == {"m1", client.member_id}


def test_without_the_policy_classic_members_stay_in_the_consumer_group() -> None:
    desk = ConsumerDesk(t=2)
    clients = classic_group(desk, [0, 1])
    settings_without(desk, may_downgrade=False)
    member = Member(desk, "m1")
    converge(desk, [member], clients)
    desk.beat("m1", -1)
    converge(desk, [], clients)
    assert (held(*clients), list(desk.core.groups)) == ([0, 1], [])


def test_parked_requests_are_answered_at_the_upgrade() -> None:
    """Apache: ``completeAllJoinFutures(REBALANCE_IN_PROGRESS)``. The clients then join the consumer group."""
    desk = ConsumerDesk(t=2)
    (first,) = classic_group(desk, [0, 1])
    second = ClassicConsumer(desk)  # parked: the first one has not joined again
    assert second.token not in desk.answers
    member = Member(desk, "m1")
    assert second.joined() == CODES.REBALANCE_IN_PROGRESS
    assert second.rejoin() == 0
    converge(desk, [member], [first, second])
    assert held(member, first, second) == [0, 1]


def test_a_parked_sync_is_answered_at_the_upgrade() -> None:
    """Apache: ``completeAllSyncFutures(REBALANCE_IN_PROGRESS)``. The leader had not assigned yet."""
    desk = ConsumerDesk(t=2)
    clients = [ClassicConsumer(desk), ClassicConsumer(desk)]
    desk.gather()
    assert [client.joined() for client in clients] == [0, 0]
    [follower] = [client for client in clients if not client.leads]
    parked = desk.sync(follower.member_id, follower.generation)
    assert parked not in desk.answers
    member = Member(desk, "m1")
    assert desk.answers[parked].error_code == CODES.REBALANCE_IN_PROGRESS
    converge(desk, [member], clients)
    assert held(member, *clients) == [0, 1]


def test_a_classic_member_that_does_not_join_again_is_fenced() -> None:
    """Apache: the join timeout begins with the first REBALANCE_IN_PROGRESS, and is the rebalance timeout."""
    desk = ConsumerDesk(t=2)
    (client,) = classic_group(desk, [0, 1])
    Member(desk, "m1")
    for _ in range(int(REBALANCE_S / 5)):
        assert client.heartbeat() == CODES.REBALANCE_IN_PROGRESS
        desk.beat("m1", desk.consumer_group.members["m1"].member_epoch, {})
        desk.pass_time(5)
    desk.pass_time(1)
    assert client.heartbeat() == CODES.UNKNOWN_MEMBER_ID


def test_a_classic_member_that_does_not_sync_is_fenced() -> None:
    """Apache: the sync timeout begins with JoinGroup, and is the rebalance timeout."""
    desk = ConsumerDesk(t=2)
    Member(desk, "m1")
    client = ClassicConsumer(desk)
    assert client.joined() == 0
    for _ in range(int(REBALANCE_S / 5)):
        client.heartbeat()
        desk.beat("m1", desk.consumer_group.members["m1"].member_epoch, {})
        desk.pass_time(5)
    assert set(desk.consumer_group.members) == {"m1"}


def test_a_classic_member_joins_a_consumer_group_and_leaves_it() -> None:
    desk = ConsumerDesk(t=2)
    member = Member(desk, "m1")
    client = ClassicConsumer(desk)
    assert (client.joined(), client.sync(), client.owned) == (0, 0, {})
    converge(desk, [member], [client])
    assert (len(held(member)), len(held(client))) == (1, 1)
    assert desk.leave((client.member_id, None), ("nobody", None)) == [0, CODES.UNKNOWN_MEMBER_ID]
    converge(desk, [member], [])
    assert held(member) == [0, 1]


def test_metadata_that_comes_while_a_classic_member_joins_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision about a large group takes several slices. A newer image that it did not use is not seen yet."""
    desk = ConsumerDesk(t=1)
    Member(desk, "m1")
    classic = ClassicConsumer(desk)
    advance = classic_members.advance

    def meanwhile(*arguments: Any) -> Any:
        after = yield from advance(*arguments)
        desk.image = image_of(t=3)
        return after

    with monkeypatch.context() as patch:
        patch.setattr(classic_members, "advance", meanwhile)
        classic.send_join()
    epoch = desk.core.consumers.groups[GROUP].epoch
    desk.beat("m1", desk.core.consumers.groups[GROUP].members["m1"].member_epoch)
    assert desk.core.consumers.groups[GROUP].epoch == epoch + 1


def test_an_administrator_removes_a_member_of_the_consumer_protocol() -> None:
    """Apache: ``classicGroupLeaveToConsumerGroup`` removes members of both protocols."""
    desk = ConsumerDesk(t=2)
    member, other = Member(desk, "m1"), Member(desk, "m2", instance_id="i")
    converge(desk, [member, other], [])
    assert desk.leave(("m1", None), ("", "i")) == [0, 0]
    assert not desk.consumer_group.members


def test_a_group_whose_consumer_members_an_administrator_removed_is_classic_again() -> None:
    """Apache: ``consumerGroupFenceMembers`` converts the group if all others are classic members."""
    desk = ConsumerDesk(t=4)
    clients = classic_group(desk, [0, 1], [2, 3])
    members = [Member(desk, "m1"), Member(desk, "m2")]
    converge(desk, members, clients)
    assert desk.leave(("m1", None), ("m2", None), ("unknown", None)) == [0, 0, CODES.UNKNOWN_MEMBER_ID]
    assert desk.core.consumers.groups == {}
    assert set(desk.group().members) == {client.member_id for client in clients}
    assert [client.heartbeat() for client in clients] == [CODES.REBALANCE_IN_PROGRESS] * 2
    desk.restart()
    assert desk.core.consumers.groups == {}


@pytest.mark.parametrize("cause", ["malformed", "large"])
def test_a_member_leaves_although_the_others_cannot_form_a_classic_group(cause: str) -> None:
    """Apache: ``convertToClassicGroup`` fails the request, each time. Here the group stays one of both protocols."""
    desk = ConsumerDesk(t=4)
    desk.beat("m", 0)
    if cause == "malformed":
        first, second = ("range", subscription("t")), ("rr", b"")
        protocols = [[first, second], [("rr", subscription("t")), ("range", b"")]]
    else:
        desk.max_batch_bytes = 300_000
        large = subscription("t", *(f"{'x' * 200}{number}" for number in range(200)))
        protocols = [[("range", large)]] * 8
    for each in protocols:
        joined = desk.answers[desk.join("", protocols=each)].member_id
        assert not desk.answers[desk.join(joined, protocols=each)].error_code
    assert desk.beat("m", -1).error_code == ErrorCode.NONE
    assert len(desk.consumer_group.members) == len(protocols)
    assert "m" not in desk.consumer_group.members


def test_the_topics_of_the_expressions_of_removed_members_are_deleted() -> None:
    """Apache: ``maybeDeleteResolvedRegularExpressions``."""
    desk = ConsumerDesk(t=2)
    desk.beat("m", 0, subscribed_topic_regex="t.*")
    desk.beat("n", 0)
    desk.resolve()
    assert set(desk.consumer_group.regexes) == {"t.*"}
    assert desk.leave(("m", None)) == [0]
    assert set(desk.consumer_group.members) == {"n"}
    assert not desk.consumer_group.regexes


def test_a_static_member_changes_its_protocol_in_both_directions() -> None:
    """Apache: no member has to leave for it, if one of both protocols is the classic one."""
    desk = ConsumerDesk(t=2)
    (client,) = classic_group(desk, [0, 1], instances=["i1"])
    upgraded = desk.beat("m1", 0, instance_id="i1")
    assert (upgraded.error_code, set(desk.consumer_group.members)) == (0, {"m1"})
    assert client.heartbeat() == CODES.FENCED_INSTANCE_ID
    back = ClassicConsumer(desk, instance="i1")
    assert (back.joined(), list(desk.core.groups), list(desk.core.consumers.groups)) == (0, [GROUP], [])
    assert back.sync() == 0
    assert held(back) == [0, 1]
    assert desk.beat("m1", 1, instance_id="i1").error_code == CODES.GROUP_ID_NOT_FOUND


def test_wrong_classic_requests_are_refused() -> None:
    desk = ConsumerDesk(max_size=2, t=2)
    Member(desk, "m1")
    client = ClassicConsumer(desk)
    assert client.joined() == 0
    generation, member_id = client.generation, client.member_id

    def code(token: int) -> int:
        return int(desk.answers[token].error_code)

    assert code(desk.join()) == CODES.GROUP_MAX_SIZE_REACHED
    assert code(desk.join(member_id, protocols=[("range", b"\0")])) == CODES.INCONSISTENT_GROUP_PROTOCOL
    assert code(desk.join(member_id, protocol_type="connect")) == CODES.INCONSISTENT_GROUP_PROTOCOL
    assert code(desk.join(member_id, protocols=[])) == CODES.INCONSISTENT_GROUP_PROTOCOL
    assert code(desk.join(member_id, session_s=1)) == CODES.INVALID_SESSION_TIMEOUT
    assert code(desk.join(member_id, instance="i1")) == CODES.UNKNOWN_MEMBER_ID
    for wrong, refused in (
        ({"generation": generation + 1}, CODES.ILLEGAL_GENERATION),
        ({"member_id": "nobody"}, CODES.UNKNOWN_MEMBER_ID),
        ({"member_id": "m1"}, CODES.UNKNOWN_MEMBER_ID),
        ({"instance": "i1"}, CODES.UNKNOWN_MEMBER_ID),
    ):
        sent = {"member_id": member_id, "generation": generation, **wrong}
        assert code(desk.sync(**sent)) == refused  # type: ignore[arg-type]
        assert desk.heartbeat(**sent) == refused  # type: ignore[arg-type]
    assert code(desk.sync(member_id, generation, protocol_name="sticky")) == CODES.INCONSISTENT_GROUP_PROTOCOL
    assert code(desk.sync(member_id, generation, protocol_type="connect")) == CODES.INCONSISTENT_GROUP_PROTOCOL
    assert code(desk.sync(member_id, generation, protocol_name=None)) == CODES.INCONSISTENT_GROUP_PROTOCOL
    assert client.sync() == 0


def test_classic_members_need_a_protocol_in_common() -> None:
    """``supportsClassicProtocols``: one of the names must be known to all classic members."""
    desk = ConsumerDesk(t=2)
    Member(desk, "m1")
    ClassicConsumer(desk)
    for name, code in (("sticky", CODES.INCONSISTENT_GROUP_PROTOCOL), ("range", CODES.MEMBER_ID_REQUIRED)):
        answer = desk.answers[desk.join(protocols=[(name, subscription("t"))])]
        assert answer.error_code == code


def test_a_classic_member_that_is_silent_after_the_upgrade_is_fenced() -> None:
    """Apache: ``convertToConsumerGroup`` schedules the session timeout that each classic member brought."""
    desk = ConsumerDesk(t=2)
    classic_group(desk, [0], [1])
    member = Member(desk, "m1")
    for _ in range(3):
        desk.pass_time(SESSION_S / 2)
        member.beat()
    assert set(desk.consumer_group.members) == {"m1"}
    assert held(member) == [0, 1]


def test_a_group_of_the_other_type_is_not_described() -> None:
    """Apache: GROUP_ID_NOT_FOUND, and the text says why (KIP-1043). Older versions of DescribeGroups return Dead."""
    desk = ConsumerDesk(t=1)
    Member(desk, "m1")
    (found,) = desk.ask(DescribeGroupsRequest([GROUP]), 6).groups
    assert (found.error_code, found.error_message) == (CODES.GROUP_ID_NOT_FOUND, "Group g is not a classic group.")
    (found,) = desk.ask(DescribeGroupsRequest([GROUP]), 5).groups
    assert (found.error_code, found.group_state) == (0, "Dead")
    desk = ConsumerDesk(t=1)
    classic_group(desk, [0])
    for group_id, why in ((GROUP, "is not a consumer group"), ("nothing", "not found")):
        (found,) = desk.ask(ConsumerGroupDescribeRequest([group_id]), 1).groups
        assert (found.error_code, found.error_message) == (CODES.GROUP_ID_NOT_FOUND, f"Group {group_id} {why}.")
