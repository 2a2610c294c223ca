"""The changes of several batches of records, and the difference of two images that no record connects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any
from uuid import UUID

import attrs

from kraft.metadata.delta import Changes
from kraft.metadata.image import ConfigResource, Image, Topic

NO_CHANGES = Changes(frozenset(), {}, {}, frozenset(), frozenset())


@attrs.define
class Accumulated:
    """The changes of several batches, merged in place. Adding a batch costs its own changes, not those before it."""

    topics_created: set[UUID] = attrs.Factory(set)
    topics_deleted: dict[UUID, Topic] = attrs.Factory(dict)
    partitions: dict[UUID, Set[int]] = attrs.Factory(dict)
    configs: set[ConfigResource] = attrs.Factory(set)
    brokers: set[int] = attrs.Factory(set)

    def add(self, step: Changes) -> None:
        """Add the changes of the next batch. A topic that was created and deleted in between leaves no trace."""
        for key, topic in step.topics_deleted.items():
            self.partitions.pop(key, None)
            if key in self.topics_created:
                self.topics_created.remove(key)
            else:
                self.topics_deleted[key] = topic
        self.topics_created |= step.topics_created
        for key, indexes in step.partitions.items():
            known = self.partitions.get(key)
            if isinstance(known, set):
                known |= indexes
            else:  # most topics change once: then their partitions are not copied
                self.partitions[key] = indexes if known is None else {*known, *indexes}
        self.configs |= step.configs
        self.brokers |= step.brokers

    def total(self) -> Changes:
        """The changes from before the first batch to after the last."""
        return Changes(
            topics_created=frozenset(self.topics_created),
            topics_deleted=self.topics_deleted,
            partitions={key: frozenset(indexes) for key, indexes in self.partitions.items()},
            configs=frozenset(self.configs),
            brokers=frozenset(self.brokers),
        )


def difference(before: Image, after: Image) -> Changes:
    """The changes between two images, as when a snapshot replaces the records in between (KIP-630)."""
    topics = set(_unequal(before.topics, after.topics))
    created = frozenset(key for key in topics if key not in before.topics)
    partitions: dict[UUID, frozenset[int]] = {}
    for key in topics:
        if key not in after.topics:
            continue
        old = {} if key in created else before.topics[key].partitions
        new = after.topics[key].partitions.items()
        partitions[key] = frozenset(index for index, partition in new if old.get(index) != partition)
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
