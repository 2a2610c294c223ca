"""Topics that are created, and partitions that are added to them."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from kraft.zookeeper.controller.active import ActiveController
from kraft.zookeeper.controller.cluster import LegacyTopic
from kraft.zookeeper.controller.effects import PAUSE, Steps
from kraft.zookeeper.controller.partitions import bring_online
from kraft.zookeeper.operations import Failure, Set, Znode
from kraft.zookeeper.znodes.fields import MAX_ZNODE_BYTES, MalformedZnode
from kraft.zookeeper.znodes.topics import (
    TOPICS,
    ReplicaAssignment,
    TopicAssignment,
    decode_topic,
    encode_topic,
    topic_path,
)

_BYTES_IN_A_MICROSECOND = 4
"""The bytes of a topic's znode that are decoded in a microsecond."""


def topics_changed(active: ActiveController) -> Steps[None]:
    """Take new topics in and give their partitions leaders; forget topics whose znodes are gone."""
    created = yield from read_topics(active)
    yield from bring_online(active, created)


def read_topics(active: ActiveController) -> Steps[list[str]]:
    """Read the list of topics, and the assignments of new ones; return the names of the new ones."""
    listed = yield from active.children(TOPICS)
    for topic in set(active.cluster.topics) - set(listed):
        active.cluster.forget_topic(topic)
    new = [topic for topic in listed if topic not in active.cluster.topics]
    nodes = yield from active.read(map(topic_path, new), watch=True)
    found = {topic: node for topic, node in zip(new, nodes, strict=True) if node is not None}
    yield from _take_in(active, found)
    return [topic for topic in found if topic in active.cluster.topics]


def topic_changed(active: ActiveController, topic: str) -> Steps[None]:
    """Take in the partitions that were added to a topic. Replicas change only through reassignments.

    A topic that is not known is taken in as a new one: it was malformed, or its id could not be written at once.
    """
    known = active.cluster.topics.get(topic)
    if known is None:
        (node,) = yield from active.read((topic_path(topic),))  # A watch of a topic that was deleted would never fire.
        if node is not None:
            yield from topics_changed(active)
        return
    (node,) = yield from active.read((topic_path(topic),), watch=True)
    if node is None:
        return  # The list of topics changes too.
    known.version = node.version
    try:
        read = decode_topic(topic, node.data)
    except MalformedZnode as error:
        active.note(f"{error}; the topic keeps its partitions")
        return
    added = {index: each for index, each in read.partitions.items() if index not in known.partitions}
    if added and topic in active.cluster.deletions:
        active.note(f"{topic} is being deleted, so it gets no new partitions")
        yield from write_topic(active, topic)
    elif added:
        known.partitions.update(added)
        yield from bring_online(active, (topic,))


def add_partitions(active: ActiveController, topic: str, added: Mapping[int, ReplicaAssignment]) -> Steps[bool]:
    """Write partitions of a request, and bring them online; return False as :func:`write_topic` does."""
    known = active.cluster.topics[topic]
    before = known.partitions
    known.partitions = {**before, **added}
    if not (yield from write_topic(active, topic)):
        known.partitions = before
        return False
    yield from bring_online(active, (topic,))
    return True


def fits(topic_id: UUID, partitions: Mapping[int, ReplicaAssignment]) -> bool:
    """Whether ZooKeeper accepts a znode with this assignment."""
    return len(encode_topic(TopicAssignment(topic_id, partitions))) <= MAX_ZNODE_BYTES


def write_topic(active: ActiveController, topic: str) -> Steps[bool]:
    """Write the known assignment; return False if another process has just changed the znode."""
    known = active.cluster.topics[topic]
    data = encode_topic(TopicAssignment(known.topic_id, known.partitions))
    (result,) = yield from active.write([Set(topic_path(topic), data, known.version)])
    if isinstance(result, int):
        known.version = result
    return isinstance(result, int)


def _take_in(active: ActiveController, nodes: dict[str, Znode]) -> Steps[None]:
    read: dict[str, TopicAssignment] = {}
    for topic, node in nodes.items():
        try:
            read[topic] = decode_topic(topic, node.data)
        except MalformedZnode as error:
            active.note(f"{error}; the topic is ignored")
        if active.spent(len(node.data) // _BYTES_IN_A_MICROSECOND):
            yield PAUSE
    versions = {topic: nodes[topic].version for topic in read}
    yield from _give_ids(active, read, versions)
    for topic, assigned in read.items():
        if assigned.topic_id is not None:
            known = LegacyTopic(assigned.topic_id, dict(assigned.partitions), versions[topic])
            active.cluster.add_topic(topic, known)


def _give_ids(active: ActiveController, read: dict[str, TopicAssignment], versions: dict[str, int]) -> Steps[None]:
    """Give an id to each topic that a broker older than 2.8 created (KIP-516)."""
    without = [topic for topic, assigned in read.items() if assigned.topic_id is None]
    for topic in without:
        read[topic] = TopicAssignment(active.new_uuid(), read[topic].partitions)
    results = yield from active.write(
        [Set(topic_path(topic), encode_topic(read[topic]), versions[topic]) for topic in without]
    )
    for topic, result in zip(without, results, strict=True):
        if isinstance(result, int):
            versions[topic] = result
        else:
            active.note(f"cannot write the id of {topic}: {result.value if isinstance(result, Failure) else result}")
            del read[topic]
