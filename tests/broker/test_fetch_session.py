"""Incremental fetch sessions (KIP-227): single rules, then a random client that relies on incremental responses."""

from __future__ import annotations

import contextlib
import itertools
import uuid
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from kraft.broker import fetch_session
from kraft.broker.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MAX_EPOCH,
    NO_SESSION,
    Answered,
    FetchContext,
    FetchSessionCache,
    TopicKey,
    next_epoch,
)
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState
from kraft.messages.fetch_response import EpochEndOffset, PartitionData
from kraft.metadata.steps import Steps, finished
from kraft.wire.errors import ErrorCode, KafkaError

EVICTION_S = 120.0
NO_ID = uuid.UUID(int=0)
NAME = attrgetter("name")
"""The name of a topic in a session by names."""


def cache(slots: int = 10) -> FetchSessionCache:
    ids = itertools.count(1)
    return FetchSessionCache(slots, lambda: next(ids))


def request(
    session_id: int, epoch: int, wanted: dict[int, int] | None = None, forget: list[int] | None = None
) -> FetchRequest:
    """A request for partitions of topic ``t`` with these fetch offsets."""
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic("t", partitions=[FetchPartition(i, fetch_offset=o) for i, o in (wanted or {}).items()])],
        forgotten_topics_data=[ForgottenTopic("t", partitions=forget or [])],
    )


def full(partitions: int = 1, *, follower: bool = False) -> FetchRequest:
    made = request(NO_SESSION, INITIAL_EPOCH, dict.fromkeys(range(partitions), 0))
    made.replica_state = ReplicaState(replica_id=7 if follower else -1)
    return made


def data(partition: int, records: bytes = b"", high_watermark: int = 5, **what: object) -> Answered:
    answer = PartitionData(
        partition_index=partition, records=records, high_watermark=high_watermark, log_start_offset=0, **what
    )
    return TopicKey("t", NO_ID), answer


def ask(sessions: FetchSessionCache, message: FetchRequest, now: float = 0.0) -> FetchContext:
    return finished(sessions.context(message, uses_topic_ids=False, now=now))


def told(context: FetchContext, *answers: Answered) -> list[int]:
    return [
        each.partition_index for topic in finished(context.respond(list(answers), NAME))[1] for each in topic.partitions
    ]


def opened(sessions: FetchSessionCache, partitions: int = 1, now: float = 0.0, *, follower: bool = False) -> int:
    context = ask(sessions, full(partitions, follower=follower), now)
    return finished(context.respond([data(index) for index in range(partitions)], NAME))[0]


def refused(sessions: FetchSessionCache, message: FetchRequest, *, uses_topic_ids: bool = False) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        finished(sessions.context(message, uses_topic_ids=uses_topic_ids, now=0))
    return caught.value.code


def test_all_sessions_together_have_a_bound() -> None:
    """A thousand slots with 100,000 partitions each would be 70 GB. A client without a session sends full requests."""
    sessions = cache()
    sessions.max_partitions = 10
    first = ask(sessions, full(6), now=0).session
    second = ask(sessions, full(4), now=0).session
    assert first is not None
    assert second is not None
    for size in (1, 11):
        context = ask(sessions, full(size), now=1)
        assert (context.session, len(context.wanted)) == (None, size)
    assert sessions.partitions == 10
    # The idlest session goes, and the next one if the first was too small.
    third = ask(sessions, full(9), now=EVICTION_S + 2).session
    assert third is not None
    assert list(sessions.sessions) == [third.session_id]
    assert (sessions.evictions, sessions.partitions) == (2, 9)


def test_a_session_that_outgrows_the_bound_is_closed() -> None:
    """The client then sends a full request (KIP-227: FETCH_SESSION_ID_NOT_FOUND)."""
    sessions = cache()
    sessions.max_partitions = 10
    session = ask(sessions, full(6), now=0).session
    assert session is not None
    grown = request(session.session_id, 1, dict.fromkeys(range(6, 10), 0))
    assert len(ask(sessions, grown, now=0).wanted) == 10
    with pytest.raises(KafkaError) as refused:
        ask(sessions, request(session.session_id, 2, {10: 0}), now=0)
    assert refused.value.code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (sessions.partitions, len(sessions.sessions)) == (0, 0)


class TestOpening:
    def test_a_full_request_opens_a_session_and_is_answered_in_full(self) -> None:
        sessions = cache()
        context = ask(sessions, full(2))
        session_id, topics = finished(context.respond([data(0), data(1)], NAME))
        assert session_id in sessions.sessions
        assert [each.partition_index for each in topics[0].partitions] == [0, 1]

    def test_epoch_minus_one_wants_none(self) -> None:
        sessions = cache()
        context = ask(sessions, request(NO_SESSION, FINAL_EPOCH, {0: 0}))
        assert len(context.wanted) == 1
        assert finished(context.respond([data(0)], NAME))[0] == NO_SESSION
        assert not sessions.sessions

    def test_epoch_minus_one_closes_the_session_that_it_names(self) -> None:
        sessions = cache()
        session_id = opened(sessions)
        ask(sessions, request(session_id, FINAL_EPOCH))
        assert refused(sessions, request(session_id, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND

    def test_epoch_zero_closes_it_and_opens_another(self) -> None:
        sessions = cache()
        session_id = opened(sessions)
        ask(sessions, request(session_id, INITIAL_EPOCH, {0: 0}))
        assert len(sessions.sessions) == 1
        assert session_id not in sessions.sessions

    def test_an_id_is_never_zero_nor_taken(self) -> None:
        ids = iter([0, 4, 4, 0, 9])
        sessions = FetchSessionCache(10, lambda: next(ids))
        assert (opened(sessions), opened(sessions)) == (4, 9)


class TestIncremental:
    def test_an_unknown_session_is_refused(self) -> None:
        assert refused(cache(), request(77, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert refused(cache(), request(NO_SESSION, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND

    def test_epochs_go_up_by_one(self) -> None:
        sessions = cache()
        session_id = opened(sessions)
        assert refused(sessions, request(session_id, 2)) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
        ask(sessions, request(session_id, 1))
        assert refused(sessions, request(session_id, 1)) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
        ask(sessions, request(session_id, 2))

    def test_after_the_last_epoch_comes_one(self) -> None:
        assert [next_epoch(each) for each in (INITIAL_EPOCH, 1, MAX_EPOCH)] == [1, 2, 1]

    def test_a_session_by_name_is_not_continued_by_id(self) -> None:
        """Version 13 of Fetch names topics by id (KIP-516). The broker checks the epoch first."""
        sessions = cache()
        session_id = opened(sessions)
        wrong = refused(sessions, request(session_id, 1), uses_topic_ids=True)
        assert wrong == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        wrong = refused(sessions, request(session_id, 5), uses_topic_ids=True)
        assert wrong == ErrorCode.INVALID_FETCH_SESSION_EPOCH

    def test_unnamed_partitions_stay_in_the_session(self) -> None:
        sessions = cache()
        session_id = opened(sessions, 3)
        context = ask(sessions, request(session_id, 1, {1: 10, 5: 50}, forget=[0]))
        assert {each.partition: each.fetch_offset for _, each in context.wanted} == {1: 10, 2: 0, 5: 50}

    def test_without_partitions_it_is_closed(self) -> None:
        sessions = cache()
        session_id = opened(sessions, 1)
        context = ask(sessions, request(session_id, 1, forget=[0]))
        assert (context.wanted, finished(context.respond([], NAME))) == ([], (NO_SESSION, []))
        assert not sessions.sessions

    def test_a_request_overtaken_by_the_next_one_is_refused(self) -> None:
        """The client could not match its response to a state of the session."""
        sessions = cache()
        session_id = opened(sessions)
        slow = ask(sessions, request(session_id, 1))
        fast = ask(sessions, request(session_id, 2))
        with pytest.raises(KafkaError) as caught:
            finished(slow.respond([data(0)], NAME))
        assert caught.value.code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
        assert finished(fast.respond([data(0)], NAME)) == (session_id, [])


class TestWhatIsNews:
    """An incremental response holds only partitions with something new."""

    def context(self) -> FetchContext:
        sessions = cache()
        return ask(sessions, request(opened(sessions, 2), 1))

    def test_an_unchanged_partition_is_not_in_the_response(self) -> None:
        assert told(self.context(), data(0), data(1)) == []

    @pytest.mark.parametrize(
        "news",
        [
            data(1, b"records"),
            data(1, high_watermark=6),
            data(1, preferred_read_replica=2),
            data(1, diverging_epoch=EpochEndOffset(epoch=1, end_offset=3)),
            data(1, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ],
    )
    def test_news_is(self, news: Answered) -> None:
        assert told(self.context(), data(0), news) == [1]

    def test_a_new_log_start_is(self) -> None:
        news = data(1)
        news[1].log_start_offset = 3
        assert told(self.context(), data(0), news) == [1]

    def test_a_later_partition_is_in_the_first_response(self) -> None:
        sessions = cache()
        context = ask(sessions, request(opened(sessions, 1), 1, {4: 0}))
        assert told(context, data(0), data(4, high_watermark=-1)) == [4]

    def test_an_error_is_logged_again_and_its_end_too(self) -> None:
        sessions = cache()
        session_id = opened(sessions)
        broken = data(0, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, high_watermark=-1)
        heard = [
            told(ask(sessions, request(session_id, epoch + 1)), answer)
            for epoch, answer in enumerate([broken, broken, data(0), data(0)])
        ]
        assert heard == [[0], [0], [0], []]


def test_a_session_keeps_the_names_of_its_topics() -> None:
    """As in Kafka (``CachedPartition.maybeResolveUnknownName``). The id of a deleted topic has no name any more."""
    sessions = cache()
    context = ask(sessions, full(2))
    names = {0: "t", 1: ""}

    def known() -> list[str]:
        return [context.known_topic(TopicKey("t", NO_ID), index) for index in range(3)]

    assert known() == ["", "", ""], "before the first answer"
    for index, name in names.items():
        finished(context.respond([data(index)], lambda _, name=name: name))  # type: ignore[misc]
    assert known() == ["t", "", ""]
    finished(context.respond([data(0), data(1)], lambda _: ""))
    assert known() == ["t", "", ""], "it is kept"
    finished(context.respond([data(0), data(1)], lambda _: "u"))
    assert known() == ["t", "u", ""]
    assert FetchContext([]).known_topic(TopicKey("t", NO_ID), 0) == "", "without a session"


def test_a_partition_that_gave_records_goes_to_the_end_of_the_line() -> None:
    """A small ``fetch.max.bytes`` must starve no partition."""
    sessions = cache()
    session_id = opened(sessions, 3)
    told(ask(sessions, request(session_id, 1)), data(0, b"r"), data(1), data(2, b"r"))
    assert [each.partition for _, each in ask(sessions, request(session_id, 2)).wanted] == [1, 0, 2]


class TestEviction:
    """``max.incremental.fetch.session.cache.slots``."""

    def test_no_slots_no_sessions(self) -> None:
        assert opened(cache(0)) == NO_SESSION

    def test_a_full_cache_gives_none(self) -> None:
        sessions = cache(1)
        first = opened(sessions)
        assert opened(sessions, now=EVICTION_S) == NO_SESSION
        assert list(sessions.sessions) == [first]

    def test_the_least_recently_used_goes_if_it_is_idle(self) -> None:
        sessions = cache(2)
        first, second = opened(sessions), opened(sessions)
        ask(sessions, request(first, 1), now=1)
        third = opened(sessions, now=EVICTION_S + 1)
        assert (list(sessions.sessions), sessions.evictions) == ([first, third], 1)
        assert second not in sessions.sessions

    def test_a_larger_one_displaces_a_smaller_one_that_had_its_time(self) -> None:
        sessions = cache(2)
        small, large = opened(sessions, 2), opened(sessions, 5)
        for epoch in (1, 2):
            for each in (small, large):
                ask(sessions, request(each, epoch), now=epoch * 100.0)
        assert opened(sessions, 2, now=200.0) == NO_SESSION
        assert opened(sessions, 3, now=200.0) in sessions.sessions
        assert small not in sessions.sessions

    def test_a_follower_displaces_a_consumer_at_once(self) -> None:
        sessions = cache(1)
        opened(sessions, 9)
        follower = opened(sessions, 1, follower=True)
        assert list(sessions.sessions) == [follower]
        assert opened(sessions, 9, now=EVICTION_S) == NO_SESSION

    def test_a_consumer_never_displaces_a_busy_follower(self) -> None:
        sessions = cache(1)
        follower = opened(sessions, 1, follower=True)
        ask(sessions, request(follower, 1), now=EVICTION_S)
        assert opened(sessions, 9, now=EVICTION_S + 1) == NO_SESSION


class IncrementalClient(RuleBasedStateMachine):
    """A client that keeps the last returned state of each partition. Incremental responses alone must keep it up to
    date.
    """

    @initialize(partitions=st.sets(st.integers(0, 5), min_size=1))
    def open(self, partitions: set[int]) -> None:
        self.sessions = cache(1)
        self.truth = dict.fromkeys(range(6), (0, 0, ErrorCode.NONE))
        """High watermark, log start and error of each partition."""
        self.offsets = dict.fromkeys(partitions, 0)
        self.believed: dict[int, tuple[int, int, ErrorCode]] = {}
        self.session_id, self.epoch = NO_SESSION, INITIAL_EPOCH
        self.fetch(dict(self.offsets), [])

    def fetch(self, named: dict[int, int], forget: list[int], *, limit: int = 6) -> None:
        context = ask(self.sessions, request(self.session_id, self.epoch, named, forget))
        assert {each.partition: each.fetch_offset for _, each in context.wanted} == self.offsets
        answers = []
        for _, wanted in context.wanted:
            high_watermark, log_start, code = self.truth[wanted.partition]
            has_more = code is ErrorCode.NONE and wanted.fetch_offset < high_watermark and limit > 0
            limit -= has_more
            key, answer = data(wanted.partition, b"r" * has_more, high_watermark, error_code=code)
            answer.log_start_offset = log_start
            answers.append((key, answer))
        self.session_id, topics = finished(context.respond(answers, NAME))
        heard = [each for topic in topics for each in topic.partitions]
        if self.epoch != INITIAL_EPOCH:
            for each in heard:
                news = (each.high_watermark, each.log_start_offset, ErrorCode(each.error_code))
                quiet = each.error_code == ErrorCode.NONE and not each.records
                assert not (quiet and self.believed.get(each.partition_index) == news), "told twice"
        self.epoch = next_epoch(self.epoch) if self.session_id else INITIAL_EPOCH
        for each in heard:
            index = each.partition_index
            self.believed[index] = (each.high_watermark, each.log_start_offset, ErrorCode(each.error_code))
            self.offsets[index] += len(bytes(each.records or b""))
        self.believed = {index: self.believed[index] for index in self.offsets}
        assert self.believed == {index: self.truth[index] for index in self.offsets}
        # The next request names the partitions whose fetch offset moved.
        self.dirty = {each.partition_index: self.offsets[each.partition_index] for each in heard if each.records}

    @rule(index=st.integers(0, 5), grown=st.integers(1, 3))
    def a_partition_grows(self, index: int, grown: int) -> None:
        high_watermark, log_start, code = self.truth[index]
        self.truth[index] = (high_watermark + grown, log_start, code)

    @rule(index=st.integers(0, 5))
    def old_records_go(self, index: int) -> None:
        high_watermark, log_start, code = self.truth[index]
        self.truth[index] = (high_watermark, min(log_start + 1, high_watermark), code)

    @rule(index=st.integers(0, 5))
    def a_leader_goes_or_comes(self, index: int) -> None:
        high_watermark, log_start, code = self.truth[index]
        other = ErrorCode.NOT_LEADER_OR_FOLLOWER if code is ErrorCode.NONE else ErrorCode.NONE
        self.truth[index] = (high_watermark, log_start, other)

    @rule(
        add=st.sets(st.integers(0, 5), max_size=2),
        forget=st.sets(st.integers(0, 5), max_size=2),
        limit=st.integers(0, 3),
    )
    def fetch_again(self, add: set[int], forget: set[int], limit: int) -> None:
        gone = forget & self.offsets.keys()
        self.offsets = {index: offset for index, offset in self.offsets.items() if index not in gone}
        new = dict.fromkeys(add - self.offsets.keys() - gone, 0)
        self.offsets |= new
        named = {index: offset for index, offset in self.dirty.items() if index in self.offsets} | new
        if self.epoch == INITIAL_EPOCH:
            named = self.offsets
        self.fetch(named, sorted(gone) if self.epoch != INITIAL_EPOCH else [], limit=limit)

    @precondition(lambda self: self.session_id)
    @rule()
    def the_broker_forgets_the_session(self) -> None:
        self.sessions.sessions.clear()
        assert refused(self.sessions, request(self.session_id, self.epoch)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        self.session_id, self.epoch = NO_SESSION, INITIAL_EPOCH
        self.fetch(dict(self.offsets), [])


TestIncrementalClient = IncrementalClient.TestCase
TestIncrementalClient.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


class TestLongRequests:
    """A request may name 100,000 partitions. Other tasks run between its steps, and may use the same session."""

    @pytest.fixture(autouse=True)
    def steps_of_one_partition(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fetch_session, "AT_ONCE", 1)

    def test_each_part_of_the_work_has_steps(self) -> None:
        sessions = cache()
        opening = sessions.context(full(3), uses_topic_ids=False, now=0)
        assert len(list(opening)) >= 6  # finds the partitions, then opens the session
        session_id = max(sessions.sessions)
        change = sessions.context(request(session_id, 1, {0: 1, 4: 0}, forget=[1, 2]), uses_topic_ids=False, now=0)
        assert len(list(change)) >= 2 + 2 + 2 + 2  # also forgets, and collects the session's partitions
        answers = [data(index) for index in range(3)]
        assert len(list(ask(sessions, full(3)).respond(answers, NAME))) >= 2 + 3

    def test_a_session_that_a_request_changes_is_not_continued(self) -> None:
        sessions = cache()
        session_id = opened(sessions, 2)
        change = sessions.context(request(session_id, 1, {0: 5, 1: 5}), uses_topic_ids=False, now=0)
        next(change)
        for epoch in (1, 2, -2):
            assert refused(sessions, request(session_id, epoch)) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
        finished(change)
        assert [each.fetch_offset for _, each in ask(sessions, request(session_id, 2)).wanted] == [5, 5]

    def test_a_session_that_is_evicted_while_it_changes_is_gone(self) -> None:
        sessions = cache(1)
        session_id = opened(sessions)
        change = sessions.context(request(session_id, 1, {3: 0, 4: 0}), uses_topic_ids=False, now=0)
        while len(sessions.sessions[session_id].partitions) == 1:
            next(change)
        opened(sessions, 1, follower=True)
        with pytest.raises(KafkaError) as caught:
            finished(change)
        assert caught.value.code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert sessions.partitions == 1

    def test_a_request_that_is_overtaken_while_it_responds_is_refused(self) -> None:
        sessions = cache()
        session_id = opened(sessions, 2)
        slow = ask(sessions, request(session_id, 1)).respond([data(0, b"r"), data(1, b"r")], NAME)
        next(slow)
        ask(sessions, request(session_id, 2))
        with pytest.raises(KafkaError) as caught:
            finished(slow)
        assert caught.value.code == ErrorCode.INVALID_FETCH_SESSION_EPOCH

    @settings(max_examples=60)
    @given(plan=st.data())
    def test_in_any_order_of_steps_the_cache_counts_its_partitions(self, plan: st.DataObject) -> None:
        """``FetchSessionCache.partitions`` is the sum over its sessions once no request is under way."""
        sessions = cache(2)
        sessions.max_partitions = 8
        under_way: list[Steps[Any]] = []
        answers = [data(index, b"r") for index in range(3)]
        for _ in range(plan.draw(st.integers(1, 25))):
            if plan.draw(st.booleans()) or not under_way:
                known = plan.draw(st.sampled_from([NO_SESSION, *sessions.sessions]))
                current = sessions.sessions[known].epoch if known else INITIAL_EPOCH
                epoch = plan.draw(st.sampled_from([current, current, INITIAL_EPOCH, FINAL_EPOCH, 1, 2]))
                wanted = dict.fromkeys(plan.draw(st.sets(st.integers(0, 5), max_size=4)), 0)
                forget = plan.draw(st.lists(st.integers(0, 5), max_size=2))
                asked = request(known, epoch, wanted, forget)
                asked.replica_id = plan.draw(st.sampled_from([-1, 7]))
                now = plan.draw(st.sampled_from([0.0, 200.0]))
                under_way.append(answered(sessions, asked, now, answers))
            else:
                position = plan.draw(st.integers(0, len(under_way) - 1))
                if next(under_way[position], None) is None:
                    del under_way[position]
        for each in under_way:
            finished(each)
        assert sessions.partitions == sum(len(each.partitions) for each in sessions.sessions.values())
        assert len(sessions.sessions) <= sessions.slots


def answered(sessions: FetchSessionCache, asked: FetchRequest, now: float, answers: list[Answered]) -> Steps[None]:
    """A request from its decision to its response."""
    with contextlib.suppress(KafkaError):
        context = yield from sessions.context(asked, uses_topic_ids=False, now=now)
        yield from context.respond(answers, NAME)
