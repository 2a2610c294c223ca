"""The metadata hash of a group: it changes with the subscribed topics, their partitions, and the racks of replicas.

The group's metadata record has it, so the next coordinator knows whether anything has changed since. The bytes that are
hashed are those of Apache Kafka's ``Utils.computeTopicHash`` and ``computeGroupHash``, because the next coordinator may
be one of its brokers. Numbers are little-endian, and a text is its UTF-16 units and then their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from operator import attrgetter
from struct import Struct

import attrs
from xxhash import xxh3_64

from kraft.metadata.image import Image, Topic
from kraft.metadata.steps import Steps

NO_TOPICS = 0
_MAGIC = 0
_TOPIC = Struct("<bQQ")
_INT = Struct("<i")
_HASH = Struct("<Q")
_LONG_LIMIT = 1 << 63
NAMES_AT_ONCE, _NAMES_COST = 200, 10
"""The topics that are looked up in a step, and its cost."""
_PARTITIONS_AT_ONCE, _PARTITIONS_COST = 100, 4


@attrs.frozen
class _Rack:
    """A rack as it is hashed, and its place in Java's order of texts."""

    place: bytes
    hashed: bytes


def hash_of_topics(names: Iterable[str], image: Image) -> Steps[int]:
    """Return the metadata hash of a group that subscribes to these topics: 64 bits, signed, and 0 if none exists."""
    topics = yield from existing_topics(names, image)
    if not topics:
        return NO_TOPICS
    racks = {key: _rack(broker.rack) for key, broker in image.brokers.items() if broker.rack is not None}
    whole = xxh3_64()
    for topic in sorted(topics, key=attrgetter("name")):
        whole.update(_HASH.pack((yield from _hash_of(topic, racks))))
    found = whole.intdigest()
    return found if found < _LONG_LIMIT else found - 2 * _LONG_LIMIT


def existing_topics(names: Iterable[str], image: Image) -> Steps[list[Topic]]:
    """Return the topics that exist. A member may subscribe to many that do not."""
    topics = []
    rest = iter(names)
    while some := list(islice(rest, NAMES_AT_ONCE)):
        topics += [topic for name in some if (topic := image.topic(name)) is not None]
        yield _NAMES_COST
    return topics


def _hash_of(topic: Topic, racks: Mapping[int, _Rack]) -> Steps[int]:
    most, least = divmod(topic.id.int, 1 << 64)
    found = xxh3_64(_TOPIC.pack(_MAGIC, most, least) + _text(topic.name) + _INT.pack(len(topic.partitions)))
    rest = iter(topic.partitions.items())
    while some := list(islice(rest, _PARTITIONS_AT_ONCE)):
        for index, partition in some:
            found.update(_INT.pack(index))
            known = [racks[replica] for replica in partition.replicas if replica in racks]
            for rack in sorted(known, key=attrgetter("place")):
                found.update(rack.hashed)
        yield _PARTITIONS_COST
    return found.intdigest()


def _rack(name: str) -> _Rack:
    """A rack has its length before it, too."""
    return _Rack(name.encode("utf-16-be"), _INT.pack(len(name.encode("utf-16-le")) // 2) + _text(name))


def _text(text: str) -> bytes:
    units = text.encode("utf-16-le")
    return units + _INT.pack(len(units) // 2)
