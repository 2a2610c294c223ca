"""The partitions that this broker holds, kept in step with the metadata.

Each image that the quorum publishes goes through :meth:`Replicas.apply`: logs are created, retuned, or taken away as
the records say. At the start the directories are compared with the metadata: a log that the metadata does not know is
set aside as ``-stray``, never deleted.
"""

from __future__ import annotations

import logging
import os
import random
import uuid
from collections.abc import Iterator, Mapping
from uuid import UUID

import attrs
import trio

from kraft.config.topic import LogConfig, log_config
from kraft.metadata.delta import Changes
from kraft.metadata.image import Image, ResourceType, Topic
from kraft.metadata.partitions import NO_LEADER, Partition
from kraft.node.clock import Clock
from kraft.node.partition import HostedPartition
from kraft.storage.checkpoint import (
    LOG_START_OFFSET,
    RECOVERY_POINT,
    TopicPartition,
    known_offsets,
    write_offsets,
)
from kraft.storage.directory import LogDirectory
from kraft.storage.log import Log
from kraft.storage.partition_metadata import read_topic_id
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.replicas")

METADATA_TOPIC = "__cluster_metadata"


@attrs.frozen
class LeaderChanges:
    """Partitions that this broker began or ceased to lead in one step of the metadata."""

    gained: list[HostedPartition]
    lost: list[HostedPartition]


@attrs.define(eq=False)
class Replicas:
    """All partitions on this broker, by topic name and number."""

    node_id: int
    clock: Clock
    directories: list[LogDirectory]
    static_values: Mapping[str, str]
    image: Image = attrs.Factory(Image)
    partitions: dict[str, dict[int, HostedPartition]] = attrs.Factory(dict)
    retired: list[str] = attrs.Factory(list)
    """Directories of deleted partitions, renamed already; they go when the maintenance task comes by."""
    _checkpointing: trio.Lock = attrs.Factory(trio.Lock)

    # What handlers ask.

    def leader_of(self, topic: str, index: int) -> HostedPartition:
        """The partition, if this broker leads it.

        Raises:
            KafkaError: UNKNOWN_TOPIC_OR_PARTITION or NOT_LEADER_OR_FOLLOWER.
        """
        hosted = self.partitions.get(topic)
        partition = None if hosted is None else hosted.get(index)
        if partition is not None and partition.is_leader:
            return partition
        known = self.image.topic(topic)
        if known is None or index not in known.partitions:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def name_of(self, topic_id: UUID) -> str:
        """Raises: KafkaError UNKNOWN_TOPIC_ID."""
        topic = self.image.topics.get(topic_id)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        return topic.name

    def partition_count(self, topic: str) -> int:
        """0 if there is no such topic."""
        known = self.image.topic(topic)
        return 0 if known is None else len(known.partitions)

    def known_leader(self, topic: str, index: int) -> tuple[int, int]:
        """Leader and leader epoch by the metadata; -1 and -1 if it knows nothing of the partition."""
        known = self.image.topic(topic)
        partition = None if known is None else known.partitions.get(index)
        return (NO_LEADER, -1) if partition is None else (partition.leader, partition.leader_epoch)

    def holds(self, partition: HostedPartition) -> bool:
        """Whether it is still here, and not deleted."""
        return self.partitions.get(partition.topic, {}).get(partition.index) is partition

    def all(self) -> Iterator[HostedPartition]:
        for hosted in self.partitions.values():
            yield from hosted.values()

    # What the metadata says.

    async def apply(self, image: Image, changes: Changes) -> LeaderChanges:
        """Follow one step of the metadata."""
        self.image = image
        result = LeaderChanges([], [])
        for gone in changes.topics_deleted.values():
            self._topic_deleted(gone, result)
        if changes.topics_deleted:
            await self._forget_deleted()
        for topic_id, indexes in changes.partitions.items():
            topic = image.topics.get(topic_id)
            if topic is not None:
                for index in sorted(indexes):
                    self._partition_changed(topic, index, topic.partitions[index], result)
        self._retune(changes)
        return result

    def _retune(self, changes: Changes) -> None:
        """Give logs the settings that are theirs now; a broker's dynamic settings are the defaults of all topics."""
        if any(resource_type == ResourceType.BROKER for resource_type, _ in changes.configs):
            names = set(self.partitions)
        else:
            names = {name for resource_type, name in changes.configs if resource_type == ResourceType.TOPIC}
        for name in names & set(self.partitions):
            config = self._log_config(name)
            for partition in self.partitions[name].values():
                partition.log.config = config

    def _log_config(self, topic: str) -> LogConfig:
        defaults = {
            **self.static_values,
            **self.image.config(ResourceType.BROKER, ""),
            **self.image.config(ResourceType.BROKER, str(self.node_id)),
        }
        return log_config(self.image.config(ResourceType.TOPIC, topic), defaults)

    async def load(self, image: Image) -> None:
        """Open every log that the image gives this broker, and set aside the others. Called once, before any client.

        Raises:
            StorageError: a log is damaged in a way that nobody but a person may mend, or OSError.
        """
        self.image = image
        checkpointed: set[TopicPartition] = set()
        for directory in self.directories:
            starts = known_offsets(os.path.join(directory.path, LOG_START_OFFSET))
            recovered = known_offsets(os.path.join(directory.path, RECOVERY_POINT))
            for name, index in directory.partitions():
                if name != METADATA_TOPIC:
                    where = (name, index)
                    self._load_one(directory, where, starts.get(where, 0), recovered.get(where, 0))
                await trio.lowlevel.checkpoint()
            self.retired += directory.retired()
            checkpointed |= starts.keys() | recovered.keys()
        if any(index not in self.partitions.get(name, {}) for name, index in checkpointed):
            await self._forget_deleted()
        for topic, index, state in image.partitions():
            if self.node_id in state.replicas and index not in self.partitions.get(topic.name, {}):
                self._host(topic, index, state, self._emptiest())

    async def _forget_deleted(self) -> None:
        """Take what is not here any more out of the checkpoints: after a kill, a new topic of the same name would begin
        at the old one's start offset, and lose what lies before it."""
        try:
            await self.write_checkpoints()
        except OSError as error:  # a full disk must not keep topics from being deleted
            logger.error("cannot write checkpoints: %s", error)

    def _load_one(self, directory: LogDirectory, where: TopicPartition, start: int, recovery_point: int) -> None:
        name, index = where
        path = os.path.join(directory.path, f"{name}-{index}")
        topic = self.image.topic(name)
        state = None if topic is None else topic.partitions.get(index)
        known = topic is not None and state is not None and self.node_id in state.replicas
        if not known or read_topic_id(path) not in (None, topic.id if topic else None):
            aside = directory.retire_partition(f"{name}-{index}", uuid.uuid4(), "stray")
            logger.warning("%s is of no partition in the metadata: kept as %s", path, aside)
            return
        assert topic is not None
        assert state is not None
        partition = self._host(topic, index, state, directory, recovery_point=recovery_point, start=start)
        if partition.log.recovery:
            logger.warning("%s: %s", path, partition.log.recovery)

    def _topic_deleted(self, topic: Topic, result: LeaderChanges) -> None:
        for partition in self.partitions.pop(topic.name, {}).values():
            partition.is_leader = False
            result.lost.append(partition)
            partition.log.abandon()
            directory = self._directory_of(partition)
            self.retired.append(directory.retire_partition(partition.name, uuid.uuid4()))
            partition.wake()

    def _partition_changed(self, topic: Topic, index: int, state: Partition, result: LeaderChanges) -> None:
        partition = self.partitions.get(topic.name, {}).get(index)
        if self.node_id not in state.replicas:
            return
        led = partition is not None and partition.is_leader
        if partition is None:
            partition = self._host(topic, index, state, self._emptiest())
        else:
            self._follow(partition, state)
        if partition.is_leader and not led:
            result.gained.append(partition)
        elif led and not partition.is_leader:
            result.lost.append(partition)
            partition.wake()

    def _follow(self, partition: HostedPartition, state: Partition) -> None:
        partition.state = state
        partition.is_leader = state.leader == self.node_id

    def _host(
        self,
        topic: Topic,
        index: int,
        state: Partition,
        directory: LogDirectory,
        *,
        recovery_point: int = 0,
        start: int = 0,
    ) -> HostedPartition:
        siblings = self.partitions.get(topic.name)
        # Working settings out costs more than making the files: all partitions of a topic share theirs.
        config = next(iter(siblings.values())).log.config if siblings else self._log_config(topic.name)
        log = Log.open(
            directory.path,
            f"{topic.name}-{index}",
            config,
            now_ms=self.clock.now_ms(),
            last_stop=directory.last_stop,
            recovery_point=recovery_point,
            log_start_offset=start,
            roll_jitter_ms=random.randrange(config.segment_jitter_ms + 1),
        )
        if log.topic_id is None:
            log.assign_topic_id(topic.id)
        partition = HostedPartition(topic.name, topic.id, index, log, state, is_leader=False)
        self.partitions.setdefault(topic.name, {})[index] = partition
        self._follow(partition, state)
        return partition

    def _directory_of(self, partition: HostedPartition) -> LogDirectory:
        parent = os.path.dirname(partition.log.directory)
        return next(directory for directory in self.directories if directory.path == parent)

    def in_directory(self, directory: LogDirectory) -> Iterator[HostedPartition]:
        return (each for each in self.all() if os.path.dirname(each.log.directory) == directory.path)

    def _emptiest(self) -> LogDirectory:
        """New partitions go where there are fewest, as in Kafka."""
        if len(self.directories) == 1:
            return self.directories[0]
        return min(self.directories, key=lambda directory: sum(1 for _ in self.in_directory(directory)))

    # What is written down now and then, and at the end.

    async def write_checkpoints(self) -> None:
        """Recovery points and log start offsets, as Kafka keeps them in each directory. Raises: OSError."""
        async with self._checkpointing:
            for directory in self.directories:
                hosted = list(self.in_directory(directory))
                recovered = {(each.topic, each.index): each.log.recovery_point for each in hosted}
                starts = {(each.topic, each.index): each.log.log_start_offset for each in hosted}
                for name, offsets in ((RECOVERY_POINT, recovered), (LOG_START_OFFSET, starts)):
                    await trio.to_thread.run_sync(write_offsets, os.path.join(directory.path, name), offsets)

    async def close(self) -> None:
        """A controlled stop: everything durable. Raises: OSError."""
        for partition in self.all():
            partition.log.close()
            await trio.lowlevel.checkpoint()
        await self.write_checkpoints()
