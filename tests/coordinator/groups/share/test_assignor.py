"""The assignor ``simple``: every partition is shared, and the load is even (``SimpleAssignor``)."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kraft.coordinator.groups.consumer.assignors import AssignedMember, Shares
from kraft.coordinator.groups.share.assignor import assign_simple
from kraft.metadata.steps import finished

T, U, V = (UUID(int=number) for number in (1, 2, 3))


def assigned(
    topics: dict[str, set[UUID]], counts: dict[UUID, int], previous: Shares | None = None, missing: int = 0
) -> Shares:
    """Assign partitions to members with subscriptions. The first ``missing`` partitions of each topic have no state."""
    before = previous or {}
    members = [
        AssignedMember(
            member_id,
            None,
            frozenset(subscribed),
            {topic_id: frozenset(some) for topic_id, some in before.get(member_id, {}).items()},
        )
        for member_id, subscribed in topics.items()
    ]
    return finished(assign_simple(members, {topic_id: range(missing, count) for topic_id, count in counts.items()}))


def test_members_share_partitions_in_turn() -> None:
    """KIP-932, "Assignment": with more members than partitions, each partition has several members."""
    shares = assigned({each: {T} for each in "abcde"}, {T: 2})
    assert [shares[each] for each in "abcde"] == [{T: {0, 1}}, {T: {0}}, {T: {0}}, {T: {1}}, {T: {1}}]


def test_a_member_has_several_partitions() -> None:
    shares = assigned({"a": {T, U}, "b": {T, U}}, {T: 3, U: 2})
    assert shares == {"a": {T: {0, 2}, U: {1}}, "b": {T: {1}, U: {0}}}


def test_partitions_stay_with_their_members() -> None:
    before = assigned({"a": {T}, "b": {T}}, {T: 4})
    assert assigned({"a": {T}, "b": {T}}, {T: 4}, before) == before
    grown = assigned({"a": {T}, "b": {T}, "c": {T}}, {T: 4}, before)
    assert sum(len(grown[each][T] & before[each][T]) for each in ("a", "b")) == 3


def test_each_topic_is_balanced_if_subscriptions_differ() -> None:
    shares = assigned({"a": {T}, "b": {T, U}, "c": {U}}, {T: 2, U: 1})
    assert shares == {"a": {T: {0}}, "b": {T: {1}, U: {0}}, "c": {U: {0}}}


def test_without_members_or_states_nothing_is_assigned() -> None:
    assert assigned({}, {T: 3}) == {}
    assert assigned({"a": {T}}, {T: 3}, missing=3) == {"a": {}}


SUBSCRIPTIONS = st.dictionaries(
    st.sampled_from("abcdefgh"), st.sets(st.sampled_from([T, U, V]), min_size=1), min_size=1, max_size=8
)
COUNTS = st.fixed_dictionaries({T: st.integers(1, 7), U: st.integers(1, 7), V: st.integers(1, 7)})


@given(
    topics=SUBSCRIPTIONS,
    earlier=SUBSCRIPTIONS,
    counts=COUNTS,
    missing=st.integers(0, 2),
    is_equal=st.booleans(),
)
def test_each_initialized_partition_has_a_subscriber_and_no_other_is_assigned(
    topics: dict[str, set[UUID]], earlier: dict[str, set[UUID]], counts: dict[UUID, int], missing: int, is_equal: bool
) -> None:
    """A partition without a member would never be read, and one without a state cannot be (KIP-932)."""
    if is_equal:
        topics = dict.fromkeys(topics, next(iter(topics.values())))
    previous = assigned(earlier, counts)
    shares = assigned(topics, counts, previous, missing)
    holders = Counter((topic_id, each) for share in shares.values() for topic_id in share for each in share[topic_id])
    subscribed = {topic_id for some in topics.values() for topic_id in some}
    wanted = {(topic_id, each) for topic_id in subscribed for each in range(missing, counts[topic_id])}
    assert set(holders) == wanted
    for member_id, share in shares.items():
        assert share.keys() <= topics[member_id]
        assert all(share.values())
    assert assigned(topics, counts, shares, missing) == shares, "what is balanced stays"
    if is_equal and wanted:
        sizes = [sum(map(len, share.values())) for share in shares.values()]
        assert max(sizes) - min(sizes) <= 1
        assert min(sizes) >= 1, "every member has work"
        assert max(holders.values()) <= -(-len(topics) // len(wanted))
