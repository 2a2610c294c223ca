"""Incremental fetch sessions (KIP-227): the broker keeps the partitions of a client and the state it last returned.

A request names only the partitions that changed. A response holds only partitions with something new. A client without
a session costs no memory. Pure: session ids come from the caller's random source, time is an argument in seconds.

A request may name 100,000 partitions. So the work for one is a generator, which yields 1 after ``AT_ONCE`` of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple
from uuid import UUID

import attrs

from kraft.messages.fetch_request import FetchPartition, FetchRequest
from kraft.messages.fetch_response import FetchableTopicResponse, PartitionData
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

FINAL_EPOCH = -1
"""The request closes its session, or requests none."""
INITIAL_EPOCH = 0
"""The request names all its partitions and may open a session."""
CHANGING = INITIAL_EPOCH
"""The epoch of a session while a request changes it: no other request can continue the session then."""
MAX_EPOCH = 2**31 - 1
NO_SESSION = 0
MAX_PARTITIONS = 250_000
"""Not a Kafka setting. A partition of a session takes about 0.4 KB."""
AT_ONCE = 1024
"""Not a Kafka setting. The partitions or topics that a step looks at: about half a millisecond of work."""


def next_epoch(epoch: int) -> int:
    """Return the epoch of the next request. It skips 0, which would open a new session."""
    return 1 if epoch == MAX_EPOCH else epoch + 1


class TopicKey(NamedTuple):
    """Identifies a topic in a request: by name up to version 12, by id from version 13 on. The other field is empty."""

    name: str
    topic_id: UUID


@attrs.define
class CachedPartition:
    """One partition of a session: the client's last request for it and the state that the broker last returned."""

    request: FetchPartition
    high_watermark: int = -1
    log_start_offset: int = -1
    is_returned: bool = False
    topic: str = ""
    """The name of its topic, once the broker has known it during the session. The id may become unknown."""

    def changed(self, answer: PartitionData) -> bool:
        """Return whether ``answer`` differs from the state last returned, and store it as the state last returned."""
        fresh = (
            not self.is_returned
            or answer.error_code != ErrorCode.NONE
            or bool(answer.records)
            or answer.high_watermark != self.high_watermark
            or answer.log_start_offset != self.log_start_offset
            or answer.preferred_read_replica != -1
            or answer.diverging_epoch.epoch != -1
        )
        self.high_watermark = answer.high_watermark
        self.log_start_offset = answer.log_start_offset
        # KIP-227: the next response repeats a partition that returned an error.
        self.is_returned = answer.error_code == ErrorCode.NONE
        return fresh


Wanted = tuple[TopicKey, FetchPartition]
Answered = tuple[TopicKey, PartitionData]


@attrs.define
class FetchSession:
    """The partitions that one client fetches, kept between its requests. ``partitions`` is in fetch order."""

    session_id: int
    uses_topic_ids: bool
    is_follower: bool = False
    epoch: int = CHANGING
    last_used_at: float = 0.0
    created_at: float = 0.0
    counted: int = 0
    """Its part of the partitions that the cache counts."""
    partitions: OrderedDict[tuple[TopicKey, int], CachedPartition] = attrs.Factory(OrderedDict)

    def update(self, request: FetchRequest, named: list[Wanted]) -> Steps[None]:
        """Add or replace the partitions that the request names. Remove those in its ``forgotten_topics_data``."""
        for number, (key, partition) in enumerate(named, 1):
            entry = self.partitions.get((key, partition.partition))
            if entry is None:
                self.partitions[key, partition.partition] = CachedPartition(partition)
            else:
                entry.request = partition
            if not number % AT_ONCE:
                yield 1
        seen = 0
        for forgotten in request.forgotten_topics_data:
            key = TopicKey(forgotten.topic, forgotten.topic_id)
            for index in forgotten.partitions:
                self.partitions.pop((key, index), None)
                seen += 1
                if not seen % AT_ONCE:
                    yield 1
            seen += 1
            if not seen % AT_ONCE:
                yield 1

    def wanted(self) -> Steps[list[Wanted]]:
        wanted: list[Wanted] = []
        for (key, _), entry in self.partitions.items():
            wanted.append((key, entry.request))
            if not len(wanted) % AT_ONCE:
                yield 1
        return wanted

    def answer(self, answers: Iterable[Answered], name_of: Callable[[TopicKey], str]) -> list[Answered]:
        """Return the answers that differ from the client's state.

        A partition that returned records moves to the end of the fetch order. So a small ``fetch.max.bytes`` starves no
        partition.
        """
        changed = []
        for key, data in answers:
            entry = self.partitions.get((key, data.partition_index))
            if entry is None or entry.changed(data):
                changed.append((key, data))
            if entry is not None:
                entry.topic = entry.topic or name_of(key)
                if data.records:
                    self.partitions.move_to_end((key, data.partition_index))
        return changed


def named_partitions(request: FetchRequest) -> Steps[list[Wanted]]:
    """Return the partitions that the request itself names, in its order."""
    wanted: list[Wanted] = []
    for number, topic in enumerate(request.topics, 1):
        key = TopicKey(topic.topic, topic.topic_id)
        for partition in topic.partitions:
            wanted.append((key, partition))
            if not len(wanted) % AT_ONCE:
                yield 1
        if not number % AT_ONCE:
            yield 1
    return wanted


@attrs.frozen
class FetchContext:
    """The partitions that one request fetches, and the session of its response. ``epoch`` is the request's."""

    wanted: list[Wanted]
    session: FetchSession | None = None
    epoch: int = FINAL_EPOCH

    def known_topic(self, key: TopicKey, index: int) -> str:
        """Return the name of a topic that the broker has known during the session, else an empty string."""
        entry = None if self.session is None else self.session.partitions.get((key, index))
        return "" if entry is None else entry.topic

    def respond(
        self, answers: list[Answered], name_of: Callable[[TopicKey], str]
    ) -> Steps[tuple[int, list[FetchableTopicResponse]]]:
        """Return the session id and the topics of the response. ``name_of`` returns an empty string for an unknown id.

        Raises KafkaError INVALID_FETCH_SESSION_EPOCH if a later request of the session came while this one waited.
        """
        if self.session is None:
            return NO_SESSION, (yield from grouped_by_topic(answers))
        self._check_epoch(self.session)
        changed: list[Answered] = []
        for first in range(0, len(answers), AT_ONCE):
            changed += self.session.answer(answers[first : first + AT_ONCE], name_of)
            if first + AT_ONCE < len(answers):
                yield 1
                self._check_epoch(self.session)
        grouped = yield from grouped_by_topic(answers if self.epoch == INITIAL_EPOCH else changed)
        return self.session.session_id, grouped

    def _check_epoch(self, session: FetchSession) -> None:
        if session.epoch != next_epoch(self.epoch):
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)


def grouped_by_topic(answers: Iterable[Answered]) -> Steps[list[FetchableTopicResponse]]:
    """Group consecutive answers of one topic."""
    topics: list[FetchableTopicResponse] = []
    last: TopicKey | None = None
    for number, (key, data) in enumerate(answers, 1):
        if key != last:
            topics.append(FetchableTopicResponse(topic=key.name, topic_id=key.topic_id))
            last = key
        topics[-1].partitions.append(data)
        if not number % AT_ONCE:
            yield 1
    return topics


@attrs.define
class FetchSessionCache:
    """The fetch sessions of a broker, at most ``slots`` of them (``max.incremental.fetch.session.cache.slots``).

    When all slots are taken, a new session first evicts a session that was idle for more than ``eviction_s``. Without
    such a session it evicts the lightest one, if that one is lighter than itself:

    - A follower outweighs a consumer.
    - Of two sessions of the same kind, the one with more partitions outweighs the other.
    - Only a follower evicts a session that is younger than ``eviction_s``, and only a consumer's.

    All sessions together have at most ``max_partitions``. Kafka has no such bound. A client that gets no session sends
    full requests. Times are seconds on the caller's clock.
    """

    slots: int
    new_id: Callable[[], int]
    eviction_s: float = 120.0
    max_partitions: int = MAX_PARTITIONS
    sessions: OrderedDict[int, FetchSession] = attrs.Factory(OrderedDict)
    evictions: int = 0
    partitions: int = 0
    """The partitions of all sessions."""

    def context(self, request: FetchRequest, *, uses_topic_ids: bool, now: float) -> Steps[FetchContext]:
        """Find, open, change or close the session that ``request`` names.

        Raises KafkaError FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH or FETCH_SESSION_TOPIC_ID_ERROR.
        """
        if request.session_epoch in (FINAL_EPOCH, INITIAL_EPOCH):
            self._close(request.session_id)
            named = yield from named_partitions(request)
            if request.session_epoch == FINAL_EPOCH:
                return FetchContext(named)
            opened = self._open(request, len(named), uses_topic_ids, now)
            if opened is not None:
                yield from self._update(opened, request, named)
                opened.epoch = next_epoch(INITIAL_EPOCH)
            return FetchContext(named, opened, INITIAL_EPOCH)
        session = self.sessions.get(request.session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.epoch = CHANGING
        session.last_used_at = now
        self.sessions.move_to_end(session.session_id)
        yield from self._update(session, request, (yield from named_partitions(request)))
        if not session.partitions:
            self._close(session.session_id)
            return FetchContext([])
        if self.partitions > self.max_partitions:
            self._close(session.session_id)
        wanted = yield from session.wanted()
        if self.sessions.get(session.session_id) is not session:  # or evicted while other tasks ran
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        session.epoch = next_epoch(request.session_epoch)
        return FetchContext(wanted, session, request.session_epoch)

    def _open(self, request: FetchRequest, size: int, uses_topic_ids: bool, now: float) -> FetchSession | None:
        """Return a session without partitions, for which ``size`` of them are counted."""
        # From version 15 on the request has its replica id in ``replica_state`` (KIP-903).
        is_follower = max(request.replica_id, request.replica_state.replica_id) >= 0
        if size > self.max_partitions:
            return None
        while len(self.sessions) >= self.slots or self.partitions + size > self.max_partitions:
            victim = self._victim(is_follower, size, now)
            if victim is None:
                return None
            self._close(victim.session_id)
            self.evictions += 1
        session_id = self.new_id()
        while session_id == NO_SESSION or session_id in self.sessions:
            session_id = self.new_id()
        session = FetchSession(session_id, uses_topic_ids, is_follower, last_used_at=now, created_at=now, counted=size)
        self.partitions += size
        self.sessions[session_id] = session
        return session

    def _update(self, session: FetchSession, request: FetchRequest, named: list[Wanted]) -> Steps[None]:
        yield from session.update(request, named)
        if self.sessions.get(session.session_id) is session:
            self.partitions += len(session.partitions) - session.counted
            session.counted = len(session.partitions)

    def _close(self, session_id: int) -> None:
        session = self.sessions.pop(session_id, None)
        if session is not None:
            self.partitions -= session.counted

    def _victim(self, is_follower: bool, size: int, now: float) -> FetchSession | None:
        """Return the session to evict. Scans all sessions, but runs only when no slot is free."""
        if not self.sessions:
            return None
        idlest = next(iter(self.sessions.values()))
        if now - idlest.last_used_at > self.eviction_s:
            return idlest
        mature = [
            each
            for each in self.sessions.values()
            if now - each.created_at > self.eviction_s or (is_follower and not each.is_follower)
        ]
        lightest = min(mature, key=_weight, default=None)
        return lightest if lightest is not None and (is_follower, size) > _weight(lightest) else None


def _weight(session: FetchSession) -> tuple[bool, int]:
    return session.is_follower, session.counted


__all__ = [
    "FINAL_EPOCH",
    "INITIAL_EPOCH",
    "NO_SESSION",
    "CachedPartition",
    "FetchContext",
    "FetchSession",
    "FetchSessionCache",
    "TopicKey",
    "grouped_by_topic",
    "named_partitions",
]
