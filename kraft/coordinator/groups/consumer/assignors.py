"""The assignors of the coordinator: ``range`` and ``uniform``, Kafka's default. Their results are deterministic.

``uniform`` keeps as much of the previous target assignment as balance allows. If all members subscribe to the same
topics, the numbers of their partitions differ by one at most. Otherwise each topic is balanced among its subscribers.
Apache Kafka numbers the members in the order of a hash map, and this module in the order of their ids.
Sources: ``RangeAssignor``, ``UniformHomogeneousAssignmentBuilder`` and ``UniformHeterogeneousAssignmentBuilder``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from uuid import UUID

import attrs

from kraft.coordinator.groups.consumer.group import TopicPartitions
from kraft.metadata.steps import Steps

_MAX_ROUNDS = 16
"""Apache's ``MAX_ITERATION_COUNT``. How often the heterogeneous assignor balances all topics."""
_SIGNS = 1 << 127 | 1 << 63
"""Java orders the two halves of a UUID as signed numbers."""

Shares = dict[str, dict[UUID, set[int]]]
"""The partitions of each member."""


@attrs.frozen
class AssignedMember:
    """The input for one member: its topics, and its previous target."""

    member_id: str
    instance_id: str | None
    topics: frozenset[UUID]
    previous: TopicPartitions


def is_homogeneous(members: list[AssignedMember]) -> bool:
    topics = members[0].topics
    return all(member.topics is topics or member.topics == topics for member in members)


def assign_range(members: list[AssignedMember], counts: Mapping[UUID, int]) -> Steps[Shares]:
    """Give each subscriber of a topic a range of its partitions. Static members come first, by instance id."""
    ordered = sorted(members, key=lambda each: (each.instance_id is None, each.instance_id or each.member_id))
    shares: Shares = {member.member_id: {} for member in ordered}
    subscribers: dict[UUID, list[str]] = {}
    for member in ordered:
        for topic_id in member.topics:
            subscribers.setdefault(topic_id, []).append(member.member_id)
        yield 1 + len(member.topics)
    for topic_id, readers in subscribers.items():
        quota, extra = divmod(counts[topic_id], len(readers))
        start = 0
        for place, member_id in enumerate(readers):
            end = start + quota + (place < extra)
            if start < end:
                shares[member_id][topic_id] = set(range(start, end))
            start = end
            yield 1 + quota // 10
    return shares


def assign_uniform(members: list[AssignedMember], counts: Mapping[UUID, int]) -> Steps[Shares]:
    """Balance the partitions, and move as few as possible."""
    ordered = sorted(members, key=lambda each: each.member_id)
    if not ordered:
        return {}
    if is_homogeneous(ordered):
        return (yield from _homogeneous(ordered, counts))
    return (yield from _Heterogeneous(ordered, counts).assigned())


def _homogeneous(members: list[AssignedMember], counts: Mapping[UUID, int]) -> Steps[Shares]:
    """Some members get one partition more than others: first those that keep it, then the last members."""
    topics = sorted(members[0].topics)
    quota, extra = divmod(sum(counts[topic_id] for topic_id in topics), len(members))
    shares: Shares = {}
    taken: dict[UUID, set[int]] = {topic_id: set() for topic_id in topics}
    revoked: dict[tuple[UUID, int], None] = {}
    left: dict[str, int] = {}
    for place, member in enumerate(members):
        space = quota + (extra > 0)
        kept: dict[UUID, set[int]] = {}
        for topic_id in topics:
            previous = sorted(each for each in member.previous.get(topic_id, ()) if each < counts[topic_id])
            mine = [each for each in previous if each not in taken[topic_id]]
            stays = mine[:space]
            revoked.update(dict.fromkeys((topic_id, each) for each in mine[space:]))
            if stays:
                kept[topic_id] = set(stays)
                space -= len(stays)
                taken[topic_id].update(stays)
            yield 1 + len(previous) // 10
        if extra and not (space and len(members) - place > extra):
            extra -= 1
        elif extra:
            space -= 1
        shares[member.member_id] = kept
        left[member.member_id] = space
    unowned = (
        (topic_id, each)
        for topic_id in topics
        for each in range(counts[topic_id])
        if each not in taken[topic_id] and (topic_id, each) not in revoked
    )
    free = chain(unowned, ((topic_id, each) for topic_id, each in revoked if each not in taken[topic_id]))
    for member_id, space in left.items():
        for _ in range(space):
            topic_id, partition = next(free)
            shares[member_id].setdefault(topic_id, set()).add(partition)
        yield 1 + space // 10
    return shares


@attrs.define
class _Heterogeneous:
    """The assignment under construction. Members are numbered in the order of their ids."""

    members: list[AssignedMember]
    counts: Mapping[UUID, int]
    subscribers: dict[UUID, list[int]] = attrs.Factory(dict)
    owners: dict[UUID, list[int | None]] = attrs.Factory(dict)
    sizes: list[int] = attrs.Factory(list)

    def assigned(self) -> Steps[Shares]:
        yield from self._keep_previous()
        topics = sorted(self.subscribers, key=self._order)
        for topic_id in topics:
            yield from self._assign_unowned(topic_id)
        yield from self._balance_all([topic_id for topic_id in topics if len(self.subscribers[topic_id]) > 1])
        shares: Shares = {member.member_id: {} for member in self.members}
        for topic_id, owners in self.owners.items():
            for partition, owner in enumerate(owners):
                assert owner is not None
                shares[self.members[owner].member_id].setdefault(topic_id, set()).add(partition)
            yield 1 + len(owners) // 10
        return shares

    def _order(self, topic_id: UUID) -> tuple[float, int, int]:
        """Topics with many partitions for each subscriber come first."""
        subscribers = len(self.subscribers[topic_id])
        return -self.counts[topic_id] / subscribers, subscribers, topic_id.int ^ _SIGNS

    def _keep_previous(self) -> Steps[None]:
        for number, member in enumerate(self.members):
            self.sizes.append(0)
            for topic_id in member.topics:
                self.subscribers.setdefault(topic_id, []).append(number)
                owners = self.owners.setdefault(topic_id, [None] * self.counts[topic_id])
                previous = member.previous.get(topic_id, ())
                for partition in previous:
                    if partition < len(owners) and owners[partition] is None:
                        owners[partition] = number
                        self.sizes[number] += 1
                yield 1 + len(previous) // 10

    def _assign_unowned(self, topic_id: UUID) -> Steps[None]:
        """Give the partitions without an owner to the subscribers with the fewest partitions."""
        owners = self.owners[topic_id]
        unowned = [partition for partition, owner in enumerate(owners) if owner is None]
        yield 1 + len(owners) // 10
        if not unowned:
            return
        loads = _Loads(self.sizes, self.subscribers[topic_id])
        for partition in unowned:
            number = loads.least()
            owners[partition] = number
            self.sizes[number] += 1
            yield 1

    def _balance_all(self, topics: list[UUID]) -> Steps[None]:
        """Balance one topic after the other until no partition has moved since the last topic that lost one."""
        last = None
        for _ in range(_MAX_ROUNDS):
            for topic_id in topics:
                if topic_id == last:
                    return
                moves = yield from self._balance(topic_id)
                if moves or last is None:
                    last = topic_id

    def _balance(self, topic_id: UUID) -> Steps[int]:
        """Move partitions from subscribers with many to those with few. Return the number of moves."""
        owners, numbers = self.owners[topic_id], self.subscribers[topic_id]
        loads = _Loads(self.sizes, numbers)
        yield 1 + len(numbers) // 10
        if loads.spread() <= 1:
            return 0
        held: dict[int, list[int]] = {}
        for partition, owner in enumerate(owners):
            assert owner is not None
            held.setdefault(owner, []).append(partition)
        yield 1 + len(owners) // 10
        moves = 0
        while not loads.is_balanced():
            giver = loads.most()
            while giver is not None and not held.get(giver):
                loads.exclude()
                yield 1
                giver = loads.most()
            if giver is None:
                break
            partition, taker = held[giver].pop(), loads.least()
            if loads.is_balanced():
                break
            owners[partition] = taker
            self.sizes[giver] -= 1
            self.sizes[taker] += 1
            moves += 1
            yield 1
        return moves


class _Loads:
    """The subscribers of a topic, by the number of their partitions, which the caller changes as it moves them.

    Two ranges grow towards each other. The least loaded members have ``low`` partitions, and each of them gets one
    before any gets a second. The most loaded have ``high``, and each of them gives one before any gives a second.
    """

    def __init__(self, sizes: list[int], subscribers: list[int]) -> None:
        self._sizes = sizes
        self._order = sorted(subscribers, key=lambda number: (sizes[number], number))
        self._low, self._high = sizes[self._order[0]] - 1, sizes[self._order[-1]] + 1
        self._low_end = self._low_next = 0
        self._high_start = self._high_end = len(self._order)
        self._high_next = len(self._order) - 1

    def spread(self) -> int:
        """Return how many partitions the most loaded member has more than the least loaded one."""
        return self._sizes[self._order[-1]] - self._sizes[self._order[0]]

    def is_balanced(self) -> bool:
        return self._high - self._low <= 1

    def least(self) -> int:
        """Return the member that gets the next partition."""
        if self._low_next >= self._low_end:
            self._low += 1
            while self._low_end < len(self._order) and self._sizes[self._order[self._low_end]] == self._low:
                self._low_end += 1
            self._low_next = 0
        number = self._order[self._low_next]
        self._low_next += 1
        return number

    def most(self) -> int | None:
        """Return the member that gives the next partition. None if all are excluded."""
        if self._high_next < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                self._high = self._sizes[self._order[self._high_start - 1]]
            else:
                self._high -= 1
            while self._high_start > 0 and self._sizes[self._order[self._high_start - 1]] == self._high:
                self._high_start -= 1
            self._high_next = self._high_end - 1
        if self._high_next < 0:
            return None
        number = self._order[self._high_next]
        self._high_next -= 1
        return number

    def exclude(self) -> None:
        """Exclude the member that :meth:`most` has returned: it has no partition of the topic to give."""
        place, end = self._high_next + 1, self._high_end - 1
        self._order[place], self._order[end] = self._order[end], self._order[place]
        self._high_end = end


Assignor = Callable[[list[AssignedMember], Mapping[UUID, int]], Steps[Shares]]

#: The assignors by name. The first one is the default (``group.consumer.assignors``).
ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
