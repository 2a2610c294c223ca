"""The states of a share group's partitions: the coordinator assigns a partition once its state is initialized.

1. A heartbeat finds subscribed partitions without a state. The coordinator notes them as initializing, and asks the
   share coordinator to initialize them.
2. Once that has answered, the coordinator notes them as initialized.
3. The next heartbeat raises the group epoch, and the new target assignment has the partitions.

Source: ``GroupMetadataManager.maybeCreateInitializeShareGroupStateRequest`` and ``initializeShareGroupState``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar
from uuid import UUID

import attrs

from kraft.coordinator.groups.share.decision import ShareDecision
from kraft.coordinator.groups.share.effects import NO_START_OFFSET, DeleteStates, InitializeStates
from kraft.coordinator.groups.share.group import StatePartitions, StateTopic
from kraft.coordinator.groups.share.records import state_partitions
from kraft.coordinator.groups.share.registry import ShareGroups
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps

Topics = Mapping[UUID, StateTopic]
V = TypeVar("V")


def forget_deleted(decision: ShareDecision, image: Image) -> Steps[None]:
    """Forget the states of deleted topics. Their share coordinators forget them, too.

    ``image`` has each topic that an earlier coordinator knew: the change of the leader came after it in the metadata.
    """
    states = decision.draft.states
    kept = StatePartitions(
        _existing(states.initializing, image), _existing(states.initialized, image), _existing(states.deleting, image)
    )
    if kept != states:
        yield from decision.add(state_partitions(decision.group_id, kept))


def _existing(topics: Mapping[UUID, V], image: Image) -> dict[UUID, V]:
    return {topic_id: each for topic_id, each in topics.items() if topic_id in image.topics}


def initialize_missing(decision: ShareDecision, shares: ShareGroups, image: Image) -> Steps[None]:
    """Ask for the states of subscribed partitions.

    After ``group.share.initialize.retry.interval.ms`` ask again for those that do not exist yet: a coordinator may have
    failed before it answered.
    """
    group, step = decision.draft, decision.step
    since = shares.initializing_since.get(group.group_id, step.now)
    is_recent = step.now - since < step.settings.share.initialize_retry_interval_s
    missing: dict[UUID, StateTopic] = {}
    for name in sorted(group.subscribed_topics()):
        topic = image.topic(name)
        yield 1
        if topic is None or _is_deleting(decision, shares, topic.id):
            continue
        known = _partitions(group.states.initialized, topic.id)
        if len(known) == len(topic.partitions):  # a topic loses no partitions
            continue
        if is_recent:
            known |= _partitions(group.states.initializing, topic.id)
        partitions = frozenset(range(len(topic.partitions))) - known
        if partitions:
            missing[topic.id] = StateTopic(name, partitions)
            yield 1 + len(partitions) // 100
    if missing:
        offsets = {topic_id: dict.fromkeys(topic.partitions, NO_START_OFFSET) for topic_id, topic in missing.items()}
        yield from begin(decision, shares, missing)
        shares.ask(decision, InitializeStates(group.group_id, group.epoch, offsets))


def _is_deleting(decision: ShareDecision, shares: ShareGroups, topic_id: UUID) -> bool:
    """Return whether the share coordinator may still delete the states of a topic, and so a new one, too.

    Apache Kafka initializes them meanwhile. Its share partition then has no state, and nobody initializes it again.
    """
    noted = topic_id in decision.draft.states.deleting
    return shares.is_under_way(decision.step, decision.group_id, DeleteStates, topic_id, noted=noted)


def begin(decision: ShareDecision, shares: ShareGroups, topics: Topics) -> Steps[None]:
    """Note partitions as initializing."""
    states = decision.draft.states
    initializing = combined(states.initializing, topics)
    deleting = {topic_id: name for topic_id, name in states.deleting.items() if topic_id not in initializing}
    changed = attrs.evolve(states, initializing=initializing, deleting=deleting)
    yield from decision.add(state_partitions(decision.group_id, changed))
    shares.initializing_since[decision.group_id] = decision.step.now


def finish(
    decision: ShareDecision, asked: Mapping[UUID, Collection[int]], image: Image, *, failed: bool
) -> Steps[None]:
    """Note the partitions of a request as initialized, without those of topics that were deleted meanwhile. If it
    failed, forget all: a heartbeat will ask again.
    """
    states = decision.draft.states
    initializing = dict(remaining(states.initializing, asked))
    initialized = states.initialized
    if not failed:
        done = {
            topic_id: StateTopic(image.topics[topic_id].name, frozenset(partitions))
            for topic_id, partitions in asked.items()
            if topic_id in image.topics
        }
        initialized = combined(initialized, done)
    changed = StatePartitions(initializing, initialized, states.deleting)
    if changed != states:
        yield from decision.add(state_partitions(decision.group_id, changed))


def _partitions(topics: Topics, topic_id: UUID) -> frozenset[int]:
    topic = topics.get(topic_id)
    return frozenset() if topic is None else topic.partitions


def combined(topics: Topics, more: Topics) -> dict[UUID, StateTopic]:
    """Return the partitions of both."""
    result = dict(topics)
    for topic_id, topic in more.items():
        result[topic_id] = StateTopic(topic.name, _partitions(topics, topic_id) | topic.partitions)
    return result


def remaining(topics: Topics, without: Mapping[UUID, Collection[int]]) -> Iterator[tuple[UUID, StateTopic]]:
    """Yield the topics without some partitions. A topic that has no others is gone."""
    for topic_id, topic in topics.items():
        partitions = topic.partitions.difference(without.get(topic_id, ()))
        if partitions:
            yield topic_id, StateTopic(topic.name, partitions)
