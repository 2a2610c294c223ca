"""Worlds whose topics come and go, and group coordinators that learn of it late."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

import attrs

from kraft.coordinator.core import StoredRecord
from kraft.metadata.image import Image, Topic
from kraft.metadata.partitions import Partition, Partitions
from tests.coordinator.groups.desk import stored
from tests.coordinator.world import CoordinatedWorld, Coordinator, Ledger

OwnedPartition = tuple[UUID, int]
_PARTITION = Partition((1,), (1,), 1, 0, 0, ())

W = TypeVar("W", bound="WorldOfTopics[Any]")
C = TypeVar("C", bound="InformedCoordinator[Any]")


class InformedCoordinator(Coordinator[W]):
    """A coordinator of groups that knows the topics of ``world.images[image_number]``."""

    def __init__(self, world: W, ledger: Ledger[Any]) -> None:
        # A new leader knows all that the one before knew: its election is in the same metadata log.
        known = 0 if ledger.epoch == 0 else ledger.leader.image_number
        self.image_number = world.random.randint(known, len(world.images) - 1)
        super().__init__(world, ledger)

    @property
    def image(self) -> Image:
        return self.world.images[self.image_number]

    def stored(self, record: Any, offset: int) -> StoredRecord:
        return stored(record)._replace(offset=offset)


class CompactedLedger(Ledger[C]):
    def loaded(self) -> list[StoredRecord]:
        """A part of the log is compacted: it has the last record of each key. Old tombstones are deleted."""
        random = self.world.random
        end = random.choice([0, random.randint(0, len(self.committed))])
        last = {record.key: record for record in self.committed[:end]}
        keeps_tombstones = random.random() < 0.5
        compacted = [each for each in self.committed[:end] if last[each.key] is each]
        return [
            *(each for each in compacted if keeps_tombstones or each.value is not None),
            *self.committed[end:],
        ]


class WorldOfTopics(CoordinatedWorld[C]):
    """``images`` are the versions of the metadata, the newest last."""

    names: dict[UUID, str]
    images: list[Image]

    def create_topics(self) -> None:
        self._topic_ids = count(1)
        self.names = {}
        self.images = [Image()]
        for number in range(3):
            self.add_topic(f"t{number}")
        del self.images[:-1]

    @property
    def image(self) -> Image:
        return self.images[-1]

    def add_topic(self, name: str) -> None:
        topic_id = UUID(int=next(self._topic_ids))
        self.names[topic_id] = name
        self._change_topic(Topic(topic_id, name, Partitions()), self.random.randint(1, 4))

    def _change_topic(self, topic: Topic, partitions: int) -> None:
        changed = Topic(topic.id, topic.name, Partitions().changed(dict.fromkeys(range(partitions), _PARTITION)))
        image = self.image
        self.images.append(
            attrs.evolve(
                image,
                offset=image.offset + 1,
                topics=image.topics.set(topic.id, changed),
                topic_ids=image.topic_ids.set(topic.name, topic.id),
            )
        )

    def change_metadata(self) -> None:
        """Create a topic, add a partition, or delete a topic. No two topics ever have one name."""
        kind = self.random.random()
        names = sorted(self.image.topic_ids)
        topic = self.image.topics[self.image.topic_ids[self.random.choice(names)]]
        if kind < 0.4 and len(names) < 5:
            self.add_topic(f"{self.random.choice('tu')}{next(self._topic_ids)}")
        elif kind < 0.8 and len(topic.partitions) < 6:
            self._change_topic(topic, len(topic.partitions) + 1)
        elif len(names) > 2:
            image = self.image
            self.images.append(
                attrs.evolve(
                    image,
                    offset=image.offset + 1,
                    topics=image.topics.delete(topic.id),
                    topic_ids=image.topic_ids.delete(topic.name),
                )
            )
        self.note("the topics are", {each.name: len(each.partitions) for each in self.image.topics.values()})

    def named(self, partitions: Iterable[OwnedPartition]) -> list[str]:
        return [f"{self.names[topic_id]}-{index}" for topic_id, index in sorted(partitions)]

    def partitions_of(self, image: Image, names: Iterable[str]) -> set[OwnedPartition]:
        topics = [image.topics[image.topic_ids[name]] for name in names if name in image.topic_ids]
        return {(topic.id, index) for topic in topics for index in range(len(topic.partitions))}

    def propagate_metadata(self) -> None:
        """Each coordinator learns of some changes."""
        for driver in self.coordinators():
            driver.image_number = self.random.randint(driver.image_number, len(self.images) - 1)
