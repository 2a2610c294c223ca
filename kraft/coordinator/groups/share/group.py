"""A share group: its members, its target assignment, and the partitions whose state is initialized.

The values never change. :mod:`.replay` makes the next group from a record.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from uuid import UUID

import attrs
from immutables import Map

from kraft.coordinator.groups.consumer.group import FIRST_EPOCH, TopicPartitions

JOIN_EPOCH = 0
"""The member epoch of a heartbeat that joins."""
LEAVE_EPOCH = -1
MAX_MEMBER_ID = 36
"""The characters of a UUID with hyphens: no member id of a share group is longer."""

_EMPTY: Map[Any, Any] = Map()


class ShareGroupState(enum.Enum):
    """A group's state. The value is its name in ShareGroupDescribe and ListGroups."""

    EMPTY = "Empty"
    STABLE = "Stable"


@attrs.frozen
class ShareMember:
    """One member. ``assigned`` are the partitions whose records it may fetch."""

    member_id: str
    member_epoch: int = JOIN_EPOCH
    previous_member_epoch: int = -1
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    assigned: TopicPartitions = attrs.Factory(dict)


@attrs.frozen
class StateTopic:
    """The partitions of one topic whose state is, or becomes, initialized."""

    name: str
    partitions: frozenset[int]


@attrs.frozen
class StatePartitions:
    """The states of a group at the share coordinator: those that exist, those to be made, and those to be deleted.

    ``deleting`` maps the ids of topics to their names.
    """

    initializing: Mapping[UUID, StateTopic] = attrs.Factory(dict)
    initialized: Mapping[UUID, StateTopic] = attrs.Factory(dict)
    deleting: Mapping[UUID, str] = attrs.Factory(dict)


@attrs.frozen
class ShareGroup:
    """One group. ``assignment_timestamp_ms`` is 0 before the first target assignment."""

    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    members: Map[str, ShareMember] = _EMPTY
    assignment_epoch: int = 0
    assignment_timestamp_ms: int = 0
    target: Map[str, TopicPartitions] = _EMPTY
    states: StatePartitions = StatePartitions()

    @cached_property
    def has_unassigned(self) -> bool:
        """Whether initialized partitions of subscribed topics differ from those of the target assignment."""
        subscribed = self.subscribed_topics()
        assigned: dict[UUID, set[int]] = {}
        for target in self.target.values():
            for topic_id, partitions in target.items():
                assigned.setdefault(topic_id, set()).update(partitions)
        return any(
            topic.name in subscribed and topic.partitions != frozenset(assigned.get(topic_id, ()))
            for topic_id, topic in self.states.initialized.items()
        )

    def state(self) -> ShareGroupState:
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    def subscribed_topics(self) -> frozenset[str]:
        return frozenset().union(*(member.topics for member in self.members.values()))
