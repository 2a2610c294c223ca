"""The target assignment of a group: subscriptions and metadata in, records of the changed members out.

Source: ``TargetAssignmentBuilder``.
"""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from kraft.coordinator.groups.consumer.assignors import ASSIGNORS, AssignedMember
from kraft.coordinator.groups.consumer.decision import GroupDecision
from kraft.coordinator.groups.consumer.group import ConsumerGroup
from kraft.coordinator.groups.consumer.metadata_hash import NAMES_AT_ONCE, existing_topics, hash_of_topics
from kraft.coordinator.groups.consumer.records import assignment_epoch, target_assignment
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps

DEFAULT_ASSIGNOR = next(iter(ASSIGNORS))


def assignor_of(group: ConsumerGroup) -> str:
    """Return the assignor that most members prefer, or the default."""
    votes = Counter(member.assignor for member in group.members.values() if member.assignor is not None)
    return max(sorted(votes), key=votes.__getitem__) if votes else DEFAULT_ASSIGNOR


def metadata_hash(group: ConsumerGroup, image: Image) -> Steps[int]:
    """Return the metadata hash of the topics to which the members subscribe."""
    names: set[str] = set()
    for member in group.members.values():
        names |= group.topics_of(member)
        yield 1
    return (yield from hash_of_topics(names, image))


def may_assign(timestamp_ms: int, last_timestamp_ms: int, interval_s: float) -> bool:
    """Return whether the last target assignment is old enough for the next one. Its timestamp is 0 if there is none.

    One of the future is of a coordinator whose clock was ahead. Its age is unknown, so it counts as old.
    """
    age_ms = timestamp_ms - last_timestamp_ms
    return not last_timestamp_ms or not interval_s or not 0 <= age_ms < interval_s * 1000


def assign(decision: GroupDecision, image: Image) -> Steps[None]:
    """Compute the target assignment for the group's epoch, and add the records of what changes."""
    group = decision.draft
    members = []
    counts: dict[UUID, int] = {}
    existing: dict[frozenset[str], frozenset[UUID]] = {}  # by subscription: most members share one
    for member_id, member in sorted(group.members.items()):
        names = group.topics_of(member)
        if names not in existing:
            topics = yield from existing_topics(names, image)
            counts.update((topic.id, len(topic.partitions)) for topic in topics)
            existing[names] = frozenset(each.id for each in topics)
        previous = group.target.get(member_id, {})
        members.append(AssignedMember(member_id, member.instance_id, existing[names], previous))
        yield 1 + len(names) // NAMES_AT_ONCE
    shares = yield from ASSIGNORS[assignor_of(group)](members, counts)
    for member_id, share in sorted(shares.items()):
        target = {topic_id: frozenset(partitions) for topic_id, partitions in share.items()}
        if target != group.target.get(member_id):
            yield from decision.add(target_assignment(group.group_id, member_id, target))
        yield 1
    yield from decision.add(assignment_epoch(group.group_id, group.epoch, decision.step.timestamp_ms))
