"""What changed over several steps of the metadata, and between two images that no record connects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from kraft.metadata.delta import Changes
from kraft.metadata.image import Image

NO_CHANGES = Changes(frozenset(), {}, {}, frozenset(), frozenset())


def merged(earlier: Changes, later: Changes) -> Changes:
    """What changed from before ``earlier`` to after ``later``."""
    deleted = {key: topic for key, topic in later.topics_deleted.items() if key not in earlier.topics_created}
    partitions = {key: indexes for key, indexes in earlier.partitions.items() if key not in later.topics_deleted}
    for key, indexes in later.partitions.items():
        partitions[key] = partitions.get(key, frozenset()) | indexes
    return Changes(
        topics_created=earlier.topics_created.difference(later.topics_deleted) | later.topics_created,
        topics_deleted={**earlier.topics_deleted, **deleted},
        partitions=partitions,
        configs=earlier.configs | later.configs,
        brokers=earlier.brokers | later.brokers,
    )


def difference(before: Image, after: Image) -> Changes:
    """What changed between two images, as when a snapshot replaced the records in between (KIP-630)."""
    topics = set(_unequal(before.topics, after.topics))
    created = frozenset(key for key in topics if key not in before.topics)
    partitions: dict[UUID, frozenset[int]] = {}
    for key in topics:
        if key not in after.topics:
            continue
        old = {} if key in created else before.topics[key].partitions
        partitions[key] = frozenset(_unequal(old, after.topics[key].partitions))
    return Changes(
        topics_created=created,
        topics_deleted={key: before.topics[key] for key in topics if key not in after.topics},
        partitions=partitions,
        configs=frozenset(_unequal(before.configs, after.configs)),
        brokers=frozenset(_unequal(before.brokers, after.brokers)),
    )


def _unequal(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Iterator[Any]:
    """The keys whose values differ, or that only one of the two has."""
    for key, value in after.items():
        if before.get(key) != value:
            yield key
    for key in before:
        if key not in after:
            yield key
