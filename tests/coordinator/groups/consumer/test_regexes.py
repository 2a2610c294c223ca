"""Subscriptions by a regular expression (KIP-848): ``ConsumerGroup.maybeUpdateRegularExpressions``."""

from __future__ import annotations

import pytest

from kraft.coordinator.groups.consumer.group import ResolvedRegex
from kraft.coordinator.groups.consumer.regexes import MIN_PAUSE_S, RegexesResolved
from tests.coordinator.groups.consumer.desk import GROUP, ConsumerDesk, Member, T, U, assignment, image_of

REFRESH_S = 600.0


def joined(desk: ConsumerDesk, member_id: str = "m1", regex: str = "t|u") -> Member:
    return Member(desk, member_id, subscribed_topic_regex=regex)


def test_a_member_gets_the_topics_that_match() -> None:
    """KIP-848: the coordinator resolves the expression beside the heartbeat. The member's next heartbeats get the
    topics.
    """
    desk = ConsumerDesk(t=2, u=1, v=1)
    member = joined(desk)
    assert (member.epoch, member.owned) == (1, {})
    assert desk.resolve() == [("t|u",)]
    desk.settle_all(member)
    assert (member.epoch, member.owned) == (2, {T: [0, 1], U: [0]})
    assert desk.consumer_group.regexes["t|u"].topics == {"t", "u"}


def test_names_and_an_expression_go_together() -> None:
    desk = ConsumerDesk(t=1, u=1)
    member = Member(desk, "m1", topics=["t"], subscribed_topic_regex="u.*")
    assert member.owned == {T: [0]}
    desk.resolve()
    desk.settle_all(member)
    assert member.owned == {T: [0], U: [0]}


def test_a_group_has_one_search_at_a_time() -> None:
    desk = ConsumerDesk(t=1)
    first, second = joined(desk), joined(desk, "m2", "t")
    first.beat()
    assert desk.resolve() == [("t|u",)]  # the second expression waits for the next search
    second.beat()
    assert desk.resolve() == []
    desk.pass_time(MIN_PAUSE_S + 1)
    first.beat()  # its own expression is resolved: that of the other member is not its business
    assert desk.resolve() == []
    second.beat()
    assert desk.resolve() == [("t", "t|u")]


def test_another_member_uses_a_resolved_expression_at_once() -> None:
    """Apache: a resolved expression raises the group epoch with the heartbeat."""
    desk = ConsumerDesk(t=2)
    first = joined(desk)
    desk.resolve()
    desk.settle_all(first)
    second = joined(desk, "m2")
    desk.settle_all(first, second)
    assert (first.owned, second.owned) == ({T: [0]}, {T: [1]})
    assert desk.resolve() == []


def test_new_topics_are_found_after_the_pause() -> None:
    """Apache: ``REGEX_BATCH_REFRESH_MIN_INTERVAL_MS`` is 10 s. The heartbeat of any member begins the search."""
    desk = ConsumerDesk(t=1)
    member = joined(desk)
    desk.resolve()
    desk.image = image_of(t=1, u=1)
    desk.pass_time(MIN_PAUSE_S - 1)
    member.beat()
    assert desk.resolve() == []
    desk.pass_time(2)
    member.beat()
    assert desk.resolve() == [("t|u",)]
    desk.settle_all(member)
    assert member.owned == {T: [0], U: [0]}
    desk.pass_time(MIN_PAUSE_S + 1)
    member.beat()
    assert desk.resolve() == []  # nothing is new


def test_a_search_is_repeated_after_the_refresh_interval() -> None:
    """``group.consumer.regex.refresh.interval.ms``. Equal topics do not raise the epoch."""
    desk = ConsumerDesk(t=1)
    member = joined(desk)
    desk.resolve()
    desk.settle_all(member)
    epoch = desk.consumer_group.epoch
    for _ in range(20):
        desk.pass_time(REFRESH_S / 20)
        member.beat()
    assert desk.resolve() == []
    desk.pass_time(1)
    member.beat()
    assert desk.resolve() == [("t|u",)]
    assert desk.consumer_group.epoch == epoch


def test_an_expression_without_members_is_forgotten() -> None:
    """Apache writes a tombstone when the last member drops the expression, leaves or is fenced."""
    desk = ConsumerDesk(t=2, u=1)
    first, second = joined(desk), joined(desk, "m2")
    desk.resolve()
    desk.settle_all(first, second)
    desk.beat("m1", -1)
    assert set(desk.consumer_group.regexes) == {"t|u"}
    second.beat(topics=["u"], subscribed_topic_regex="")
    assert not desk.consumer_group.regexes
    desk.settle_all(second)
    assert second.owned == {U: [0]}


def test_a_changed_expression_gives_up_the_old_topics_and_waits() -> None:
    desk = ConsumerDesk(t=1, u=1)
    member = joined(desk, regex="t")
    desk.resolve()
    desk.settle_all(member)
    assert member.owned == {T: [0]}
    desk.pass_time(MIN_PAUSE_S + 1)
    told = desk.beat("m1", member.epoch, member.owned, subscribed_topic_regex="u")
    assert assignment(told) == {}
    member.owned = {}
    assert desk.resolve() == [("u",)]
    desk.settle_all(member)
    assert member.owned == {U: [0]}


def test_a_result_for_a_group_or_an_expression_that_is_gone_changes_nothing() -> None:
    desk = ConsumerDesk(t=1)
    member = joined(desk)
    search = desk.searches[0]
    found = {"t|u": ResolvedRegex(frozenset("t"), 1, 2)}
    desk.step(RegexesResolved("another", found, search.image))
    desk.beat("m1", member.epoch, {}, subscribed_topic_regex="")
    before = len(desk.written)
    desk.step(RegexesResolved(GROUP, found, search.image))
    assert (len(desk.written), len(desk.consumer_group.regexes)) == (before, 0)


def test_a_result_that_cannot_be_appended_is_searched_again() -> None:
    desk = ConsumerDesk(t=1)
    member = joined(desk)
    desk.may_write = False
    desk.resolve()
    assert not desk.consumer_group.regexes
    desk.may_write = True
    desk.pass_time(MIN_PAUSE_S + 1)
    member.beat()
    assert desk.resolve() == [("t|u",)]
    assert desk.consumer_group.regexes


def test_a_new_coordinator_keeps_the_topics_and_searches_again() -> None:
    """The records have the time of the last search, but a topic may be new since it."""
    desk = ConsumerDesk(t=1)
    member = joined(desk)
    desk.resolve()
    desk.settle_all(member)
    desk.restart()
    member.beat()
    assert (member.owned, desk.resolve()) == ({T: [0]}, [])
    desk.pass_time(MIN_PAUSE_S + 1)
    member.beat()
    assert desk.resolve() == [("t|u",)]


@pytest.mark.parametrize("set_s", [700, -700])
def test_the_age_of_a_search_is_measured_by_the_system_s_clock(set_s: int) -> None:
    """``ConsumerGroup.lastResolvedRegularExpressionRefreshTimeMs`` is compared with ``time.milliseconds()``. The
    system's clock may have been set since the start of a node.
    """
    desk = ConsumerDesk(t=1)
    desk.clock_set_s = set_s
    member = joined(desk)
    desk.resolve()
    desk.restart()
    member.beat()
    assert desk.resolve() == [], "the last search was just now"
