"""The target assignment of a group: subscriptions and metadata in, records of the changed members out.

Source: ``TargetAssignmentBuilder``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from itertools import islice
from operator import attrgetter
from uuid import UUID

from kraft.coordinator.groups.consumer.assignors import ASSIGNORS, AssignedMember
from kraft.coordinator.groups.consumer.decision import GroupDecision
from kraft.coordinator.groups.consumer.group import ConsumerGroup
from kraft.coordinator.groups.consumer.records import assignment_epoch, target_assignment
from kraft.metadata.image import Image, Topic
from kraft.metadata.steps import Steps

DEFAULT_ASSIGNOR = next(iter(ASSIGNORS))
_HASH_BYTES = 8
_NAMES_AT_ONCE, _NAMES_COST = 200, 10
"""The topics that are looked up in a step, and its cost."""


def assignor_of(group: ConsumerGroup) -> str:
    """Return the assignor that most members prefer, or the default."""
    votes = Counter(member.assignor for member in group.members.values() if member.assignor is not None)
    return max(sorted(votes), key=votes.__getitem__) if votes else DEFAULT_ASSIGNOR


def metadata_hash(group: ConsumerGroup, image: Image) -> Steps[int]:
    """Return a hash of the subscribed topics that exist: their names, ids and numbers of partitions.

    Apache Kafka hashes them in another way. A group that moves between the two coordinators gets one epoch more.
    """
    names: set[str] = set()
    for member in group.members.values():
        names |= group.topics_of(member)
        yield 1
    return (yield from hash_of_topics(names, image))


def hash_of_topics(names: Iterable[str], image: Image) -> Steps[int]:
    """Return the metadata hash of a group that subscribes to these topics."""
    topics = yield from _existing(names, image)
    found = blake2b(digest_size=_HASH_BYTES)
    for topic in sorted(topics, key=attrgetter("name")):
        found.update(f"{topic.name} {topic.id} {len(topic.partitions)}\n".encode())
        yield 1
    return int.from_bytes(found.digest(), "big", signed=True) if topics else 0


def _existing(names: Iterable[str], image: Image) -> Steps[list[Topic]]:
    """Return the topics that exist. A member may subscribe to many that do not."""
    topics = []
    rest = iter(names)
    while some := list(islice(rest, _NAMES_AT_ONCE)):
        topics += [topic for name in some if (topic := image.topic(name)) is not None]
        yield _NAMES_COST
    return topics


def may_assign(now: float, last_timestamp_ms: int, interval_s: float) -> bool:
    """Return whether the last target assignment is old enough for the next one. Its timestamp is 0 if there is none."""
    return not last_timestamp_ms or not interval_s or now >= last_timestamp_ms / 1000 + interval_s


def assign(decision: GroupDecision, image: Image) -> Steps[None]:
    """Compute the target assignment for the group's epoch, and add the records of what changes."""
    group = decision.draft
    members = []
    counts: dict[UUID, int] = {}
    existing: dict[frozenset[str], frozenset[UUID]] = {}  # by subscription: most members share one
    for member_id, member in sorted(group.members.items()):
        names = group.topics_of(member)
        if names not in existing:
            topics = yield from _existing(names, image)
            counts.update((topic.id, len(topic.partitions)) for topic in topics)
            existing[names] = frozenset(each.id for each in topics)
        previous = group.target.get(member_id, {})
        members.append(AssignedMember(member_id, member.instance_id, existing[names], previous))
        yield 1 + len(names) // _NAMES_AT_ONCE
    shares = yield from ASSIGNORS[assignor_of(group)](members, counts)
    for member_id, share in sorted(shares.items()):
        target = {topic_id: frozenset(partitions) for topic_id, partitions in share.items()}
        if target != group.target.get(member_id):
            yield from decision.add(target_assignment(group.group_id, member_id, target))
        yield 1
    yield from decision.add(assignment_epoch(group.group_id, group.epoch, decision.step.timestamp_ms))
