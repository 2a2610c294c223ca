"""The assignors of the coordinator: ``range`` and ``uniform``, Kafka's default. Their results are deterministic.

``uniform`` keeps as much of the previous target assignment as balance allows. If all members subscribe to the same
topics, the numbers of their partitions differ by one at most. Otherwise each topic is balanced among its subscribers.
Sources: ``RangeAssignor``, ``UniformHomogeneousAssignmentBuilder`` and ``UniformHeterogeneousAssignmentBuilder``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from itertools import chain
from uuid import UUID

import attrs

from kraft.coordinator.groups.consumer.group import TopicPartitions
from kraft.metadata.steps import Steps

_MAX_ROUNDS = 16
"""Apache's ``MAX_ITERATION_COUNT``. How often the heterogeneous assignor balances all topics."""

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
        shared = [topic_id for topic_id in topics if len(self.subscribers[topic_id]) > 1]
        for _ in range(_MAX_ROUNDS):
            moved = 0
            for topic_id in shared:
                moved += yield from self._balance(topic_id)
            if not moved:
                break
        shares: Shares = {member.member_id: {} for member in self.members}
        for topic_id, owners in self.owners.items():
            for partition, owner in enumerate(owners):
                assert owner is not None
                shares[self.members[owner].member_id].setdefault(topic_id, set()).add(partition)
            yield 1 + len(owners) // 10
        return shares

    def _order(self, topic_id: UUID) -> tuple[float, int, UUID]:
        """Topics with many partitions for each subscriber come first."""
        subscribers = len(self.subscribers[topic_id])
        return -self.counts[topic_id] / subscribers, subscribers, topic_id

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
        """Give each partition without an owner to the subscriber with the fewest partitions."""
        owners = self.owners[topic_id]
        least = [(self.sizes[number], number) for number in self.subscribers[topic_id]]
        heapq.heapify(least)
        for partition, owner in enumerate(owners):
            if owner is None:
                size, number = least[0]
                owners[partition] = number
                self.sizes[number] += 1
                heapq.heapreplace(least, (size + 1, number))
                yield 1

    def _balance(self, topic_id: UUID) -> Steps[int]:
        """Move partitions from subscribers with many to those with few. Return the number of moves."""
        owners, numbers = self.owners[topic_id], self.subscribers[topic_id]
        sizes = [self.sizes[number] for number in numbers]
        yield 1 + len(numbers) // 10
        if max(sizes) - min(sizes) <= 1:
            return 0
        held: dict[int, list[int]] = {}
        for partition, owner in enumerate(owners):
            assert owner is not None
            held.setdefault(owner, []).append(partition)
        yield 1 + len(owners) // 10
        least = [(self.sizes[number], number) for number in numbers]
        most = [(-self.sizes[number], -number) for number in held]
        heapq.heapify(least)
        heapq.heapify(most)
        moves = 0
        while most:
            giver = -most[0][1]
            size, taker = least[0]
            if self.sizes[giver] - size <= 1:
                break
            owners[held[giver].pop()] = taker
            self.sizes[giver] -= 1
            self.sizes[taker] += 1
            heapq.heapreplace(least, (size + 1, taker))
            if held[giver]:
                heapq.heapreplace(most, (-self.sizes[giver], -giver))
            else:
                heapq.heappop(most)
            moves += 1
            yield 1
        return moves


Assignor = Callable[[list[AssignedMember], Mapping[UUID, int]], Steps[Shares]]

#: The assignors by name. The first one is the default (``group.consumer.assignors``).
ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
