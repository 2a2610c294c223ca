"""The assignor of share groups, ``simple``: each partition has as many members as balance allows, and at least one.

With more members than partitions, several members share a partition. With more partitions than members, a member has
several. If all members subscribe to the same topics, all partitions are balanced together. Otherwise each topic is
balanced among its subscribers. A partition stays with its members where balance allows. Sources: ``SimpleAssignor``,
``SimpleHomogeneousAssignmentBuilder`` and ``SimpleHeterogeneousAssignmentBuilder``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from uuid import UUID

import attrs

from kraft.coordinator.groups.consumer.assignors import AssignedMember, Shares, is_homogeneous
from kraft.metadata.steps import Steps

NAME = "simple"
_AT_ONCE = 10
"""The partitions of a member that are examined in a step."""

SharedPartition = tuple[UUID, int]


def assign_simple(members: list[AssignedMember], assignable: Mapping[UUID, Collection[int]]) -> Steps[Shares]:
    """Return the partitions of each member. ``assignable`` are the partitions of the subscribed topics."""
    ordered = sorted(members, key=lambda each: each.member_id)
    shares: Shares = {member.member_id: {} for member in ordered}
    if not ordered:
        return shares
    if is_homogeneous(ordered):
        pools = [(ordered, sorted(ordered[0].topics))]
    else:
        topics = sorted({topic_id for member in ordered for topic_id in member.topics})
        pools = [([each for each in ordered if topic_id in each.topics], [topic_id]) for topic_id in topics]
    for readers, topics in pools:
        partitions = [(topic_id, each) for topic_id in topics for each in sorted(assignable.get(topic_id, ()))]
        yield len(readers)
        if partitions:
            yield from _Pool(readers, partitions).share_out(shares)
    return shares


@attrs.define
class _Pool:
    """Some partitions, and the members that may share them. Members are numbered in the order of their ids."""

    members: list[AssignedMember]
    partitions: list[SharedPartition]
    held: list[set[SharedPartition]] = attrs.Factory(list)
    holders: dict[SharedPartition, set[int]] = attrs.Factory(dict)
    wanted: list[int] = attrs.Factory(list)
    """The number of partitions of each member."""

    def share_out(self, shares: Shares) -> Steps[None]:
        sharing = -(-len(self.members) // len(self.partitions))
        mean = sharing * len(self.partitions) / len(self.members)
        self.wanted = [math.ceil(mean * (number + 1)) - math.ceil(mean * number) for number in range(len(self.members))]
        self.holders = {partition: set() for partition in self.partitions}
        yield from self._keep_previous()
        yield from self._revoke(sharing)
        yield from self._assign(sharing)
        for member, held in zip(self.members, self.held, strict=True):
            for topic_id, partition in held:
                shares[member.member_id].setdefault(topic_id, set()).add(partition)
            yield 1 + len(held) // _AT_ONCE

    def _keep_previous(self) -> Steps[None]:
        """Keep as many partitions of each member as it shall have. The first ones go."""
        for number, member in enumerate(self.members):
            previous = [
                (topic_id, each)
                for topic_id in sorted(member.previous)
                for each in sorted(member.previous[topic_id])
                if (topic_id, each) in self.holders
            ]
            kept = previous[max(len(previous) - self.wanted[number], 0) :]
            self.held.append(set(kept))
            for partition in kept:
                self.holders[partition].add(number)
            yield 1 + len(previous) // _AT_ONCE

    def _revoke(self, sharing: int) -> Steps[None]:
        """Take partitions with too many members from the first of them."""
        for partition, holders in self.holders.items():
            for number in sorted(holders)[: max(len(holders) - sharing, 0)]:
                holders.remove(number)
                self.held[number].remove(partition)
                yield 1
            yield 1

    def _assign(self, sharing: int) -> Steps[None]:
        """Give partitions with too few members to those with too few partitions, in turn."""
        unfilled = [number for number, held in enumerate(self.held) if len(held) < self.wanted[number]]
        turn = 0
        for partition, holders in self.holders.items():
            passed = 0
            while len(holders) < sharing and passed < len(unfilled):
                turn %= len(unfilled)
                number = unfilled[turn]
                if number in holders:
                    # The member shares it already. If all of them do, the partition has fewer members than others.
                    turn += 1
                    passed += 1
                else:
                    holders.add(number)
                    self.held[number].add(partition)
                    passed = 0
                    if len(self.held[number]) < self.wanted[number]:
                        turn += 1
                    else:
                        del unfilled[turn]
                yield 1
            yield 1
