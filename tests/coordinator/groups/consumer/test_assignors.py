"""The assignors: every partition has one owner who subscribes to it, shares are even, and few partitions move."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kraft.coordinator.groups.consumer.assignors import ASSIGNORS, AssignedMember, Shares, assign_range, assign_uniform
from kraft.metadata.steps import finished

TOPICS = [UUID(int=number) for number in range(3)]
counts_of_topics = st.fixed_dictionaries({topic: st.integers(0, 7) for topic in TOPICS})
subscriptions = st.lists(st.frozensets(st.sampled_from(TOPICS)), min_size=1, max_size=5)


def members(topics: list[frozenset[UUID]], before: Shares | None = None) -> list[AssignedMember]:
    previous = {
        name: {topic: frozenset(each) for topic, each in share.items()} for name, share in (before or {}).items()
    }
    return [AssignedMember(f"m{n}", None, each, previous.get(f"m{n}", {})) for n, each in enumerate(topics)]


def sizes(shares: Shares) -> list[int]:
    return sorted(sum(map(len, share.values())) for share in shares.values())


@given(st.sampled_from(sorted(ASSIGNORS)), subscriptions, subscriptions, counts_of_topics, counts_of_topics)
def test_each_partition_has_one_owner_that_subscribes(
    name: str,
    first: list[frozenset[UUID]],
    then: list[frozenset[UUID]],
    counts: dict[UUID, int],
    later: dict[UUID, int],
) -> None:
    """Also after any change of members, subscriptions and partitions."""
    shares = finished(ASSIGNORS[name](members(first), counts))
    for topics, now, before in ((first, counts, None), (then, later, shares)):
        shares = finished(ASSIGNORS[name](members(topics, before), now))
        owned = [(t, p) for share in shares.values() for t, each in share.items() for p in each]
        read = frozenset().union(*topics)
        assert sorted(owned) == [(topic, p) for topic in sorted(read) for p in range(now[topic])]
        for number, wanted in enumerate(topics):
            assert set(shares[f"m{number}"]) <= wanted


@given(st.integers(1, 6), st.integers(1, 6), counts_of_topics)
def test_uniform_is_even_and_sticky_with_equal_subscriptions(size: int, then: int, counts: dict[UUID, int]) -> None:
    """``UniformHomogeneousAssignmentBuilder``: a member keeps its partitions up to its quota. The members that keep one
    more come before those that would get one.
    """
    everything = frozenset(TOPICS)
    before = finished(assign_uniform(members([everything] * size), counts))
    after = finished(assign_uniform(members([everything] * then, before), counts))
    for shares in (before, after):
        assert sizes(shares)[-1] - sizes(shares)[0] <= 1
    quota, extra = divmod(sum(counts.values()), then)
    had = [sum(map(len, before[f"m{number}"].values())) for number in range(min(size, then))]
    kept = 0
    for number in range(min(size, then)):
        new = after[f"m{number}"]
        kept += sum(len(new.get(topic, set()) & some) for topic, some in before[f"m{number}"].items())
    assert kept == sum(min(each, quota) for each in had) + min(extra, sum(each > quota for each in had))


def test_uniform_balances_each_topic_among_its_subscribers() -> None:
    """``UniformHeterogeneousAssignmentBuilder``: the member that reads one topic takes more of it."""
    t, u, _ = TOPICS
    shares = finished(assign_uniform(members([frozenset({t, u}), frozenset({t})]), {t: 4, u: 4}))
    assert shares == {"m0": {u: {0, 1, 2, 3}}, "m1": {t: {0, 1, 2, 3}}}


def test_range_gives_neighbours_to_one_member_and_static_members_come_first() -> None:
    """``RangeAssignor``: co-partitioned topics have the same owners."""
    t, u, _ = TOPICS
    both = frozenset({t, u})
    named = [AssignedMember("a", None, both, {}), AssignedMember("z", "i", both, {})]
    assert finished(assign_range(named, {t: 3, u: 3})) == {"z": {t: {0, 1}, u: {0, 1}}, "a": {t: {2}, u: {2}}}


def test_uniform_moves_partitions_to_a_new_subscriber_of_one_topic() -> None:
    t, u, _ = TOPICS
    before: Shares = {"m0": {t: {0, 1, 2, 3}}}
    shares = finished(assign_uniform(members([frozenset({t, u}), frozenset({t})], before), {t: 4, u: 0}))
    assert shares == {"m0": {t: {0, 1}}, "m1": {t: {2, 3}}}


def test_wrong_previous_targets_are_corrected() -> None:
    """A damaged log must not give a partition to two members, nor assign one that does not exist."""
    t = TOPICS[0]
    wrong = {t: {0, 1, 7}}
    shares = finished(assign_uniform(members([frozenset({t})] * 2, {"m0": wrong, "m1": wrong}), {t: 4}))
    assert shares == {"m0": {t: {0, 1}}, "m1": {t: {2, 3}}}
