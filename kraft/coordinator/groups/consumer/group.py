"""A consumer group of KIP-848, as an immutable value. :mod:`.replay` alone makes the next one.

Three epochs drive it. The *group epoch* rises when subscriptions or the metadata of topics change. The *assignment
epoch* is the group epoch for which the target assignment was computed. The *member epoch* is the assignment epoch with
which a member is reconciled.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from uuid import UUID

import attrs
from immutables import Map

from kraft.messages.consumer_group_member_metadata_value import ClassicMemberMetadata

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
LEAVE_STATIC_EPOCH = -2
"""The member epochs of a heartbeat that joins or leaves. A static member that leaves with -2 keeps its partitions."""
NO_ASSIGNMENT_EPOCH = -1
FIRST_EPOCH = 1
"""The epoch of a group without a record of its epoch. The first member raises it to 2."""
NO_TIMEOUT = -0.001
"""The rebalance timeout of a member that has never set it: -1 ms."""

TopicPartitions = Mapping[UUID, frozenset[int]]
"""Partitions by topic id, such as the target assignment of a member."""
OwnedPartitions = Mapping[UUID, Mapping[int, int]]
"""The member epoch in which each partition was assigned, by topic id and partition."""

_EMPTY: Map[Any, Any] = Map()


class MemberState(enum.IntEnum):
    """How far a member is reconciled. The value is in its record."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127
    """A state that a newer Kafka wrote. The member must join again."""


class ConsumerGroupState(enum.Enum):
    """A group's state. The value is its name in ConsumerGroupDescribe and ListGroups."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


@attrs.frozen
class ConsumerMember:
    """One member. ``assigned`` are the partitions that it may use, ``revoking`` those that it must give up first."""

    member_id: str
    member_epoch: int = JOIN_EPOCH
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_s: float = NO_TIMEOUT
    topics: frozenset[str] = frozenset()
    regex: str = ""
    assignor: str | None = None
    classic: ClassicMemberMetadata | None = None
    assigned: OwnedPartitions = _EMPTY
    revoking: OwnedPartitions = _EMPTY

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == epoch

    def moved(
        self, epoch: int, state: MemberState, assigned: OwnedPartitions, revoking: OwnedPartitions
    ) -> ConsumerMember:
        """Return the member at ``epoch`` with other partitions."""
        return attrs.evolve(
            self,
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            state=state,
            assigned=assigned,
            revoking=revoking,
        )


@attrs.frozen
class ResolvedRegex:
    """The topics that match a regular expression, and when they were searched."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


@attrs.frozen
class ConsumerGroup:
    """One group. ``owners`` maps each partition that a member owns or revokes to that member.

    ``assignment_timestamp_ms`` is 0 before the first target assignment.
    """

    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    members: Map[str, ConsumerMember] = _EMPTY
    static_members: Map[str, str] = _EMPTY
    assignment_epoch: int = 0
    assignment_timestamp_ms: int = 0
    target: Map[str, TopicPartitions] = _EMPTY
    owners: Map[tuple[UUID, int], str] = _EMPTY
    regexes: Map[str, ResolvedRegex] = _EMPTY

    @cached_property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """Return the topics to which a member subscribes, by name or by its regular expression."""
        resolved = self.regexes.get(member.regex) if member.regex else None
        return member.topics if resolved is None else member.topics | resolved.topics

    def subscribed_topics(self) -> frozenset[str]:
        return frozenset().union(*(self.topics_of(member) for member in self.members.values()))
