"""The partitions that this broker holds, kept in step with the metadata.

Each image that the quorum publishes goes through :meth:`Replicas.apply`: logs are created, retuned, or taken away as
the records say. At the start the directories are compared with the metadata: a log that the metadata does not know is
set aside as ``-stray``, never deleted.

Roles come later: what the metadata says of this broker before it shows its present registration is said of a former
incarnation, whose log may have been longer.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from uuid import UUID

import attrs
import trio

from kraft.broker.leadership import Conditions, Proposal
from kraft.config.topic import LogConfig, log_config
from kraft.metadata.delta import Changes
from kraft.metadata.image import Image, ResourceType, Topic
from kraft.metadata.partitions import NO_LEADER, Partition
from kraft.replication.checkpoints import (
    Checkpoints,
    write_checkpoints,
    write_cleaned_offsets,
    write_high_watermarks,
    write_start_offsets,
)
from kraft.replication.partition import HostedPartition
from kraft.storage.checkpoint import TopicPartition
from kraft.storage.directory import LogDirectory
from kraft.storage.log import Log
from kraft.storage.partition_metadata import read_topic_id
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.world import World

logger = logging.getLogger("kraft.replicas")

METADATA_TOPIC = "__cluster_metadata"
NOTHING_CHECKPOINTED = Checkpoints({}, {}, {}, {})


@attrs.frozen
class LeaderChanges:
    """Partitions that this broker began or ceased to lead in one step of the metadata."""

    gained: list[HostedPartition]
    lost: list[HostedPartition]


@attrs.define(eq=False)
class Replicas:
    """All partitions on this broker, by topic name and number. ``lag_max_ms`` is ``replica.lag.time.max.ms``."""

    node_id: int
    world: World
    directories: list[LogDirectory]
    static_values: Mapping[str, str]
    lag_max_ms: int = 30_000
    image: Image = attrs.Factory(Image)
    partitions: dict[str, dict[int, HostedPartition]] = attrs.Factory(dict)
    retired: list[str] = attrs.Factory(list)
    """Directories of deleted partitions, renamed already; they go when the maintenance task comes by."""
    broker_epoch: int = -1
    """That of this broker's registration, -1 until it has one. Kept here alone: who acts in its name asks here."""
    roles_changed: trio.Event = attrs.Factory(trio.Event)
    """Set, and replaced, when this broker may have others to follow."""
    _active_epochs: Mapping[int, int] = attrs.Factory(dict)
    """Of the brokers that may be in an ISR, by the image."""
    _has_roles: bool = False
    _proposals: dict[HostedPartition, Proposal] = attrs.Factory(dict)
    _proposed: trio.Event = attrs.Factory(trio.Event)
    _dropped: bool = False
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

    def followed(self) -> Iterator[tuple[int, HostedPartition]]:
        """What this broker follows, and whom."""
        for partition in self.all():
            leader = partition.state.leader
            if self._has_roles and leader not in (NO_LEADER, self.node_id):
                yield leader, partition

    # What the metadata says.

    async def apply(self, image: Image, changes: Changes) -> LeaderChanges:
        """Follow one step of the metadata."""
        self.image = image
        if changes.brokers:
            self._active_epochs = _active_epochs(image)
        result = LeaderChanges([], [])
        for gone in changes.topics_deleted.values():
            for partition in self.partitions.pop(gone.name, {}).values():
                self._drop(partition, result)
        for topic_id, indexes in changes.partitions.items():
            topic = image.topics.get(topic_id)
            if topic is not None:
                for index in sorted(indexes):
                    self._partition_changed(topic, index, topic.partitions[index], result)
        if changes.brokers:
            # After the partitions: a replica that the same step brought into an ISR is one whose epoch may be news.
            self._tell_leaders(self.all())
        if self._dropped:
            self._dropped = False
            await self._forget_deleted()
        self._retune(changes)
        if changes.partitions or changes.topics_deleted or changes.brokers:
            self._announce()
        return self._with_roles(result)

    def registered(self, broker_epoch: int) -> LeaderChanges:
        """This broker's registration has a new epoch, which fetches and proposals tell from now on."""
        self.broker_epoch = broker_epoch
        return self._with_roles(LeaderChanges([], []))

    def _with_roles(self, result: LeaderChanges) -> LeaderChanges:
        """Begin to play roles once the metadata is that of this incarnation."""
        known = self.image.brokers.get(self.node_id)
        if not self._has_roles and known is not None and known.epoch == self.broker_epoch:
            self._has_roles = True
            for partition in self.all():
                self._take_role(partition, partition.state, result)
            self._announce()
        return result

    def _announce(self) -> None:
        self.roles_changed.set()
        self.roles_changed = trio.Event()

    def _propose(self, partition: HostedPartition, proposal: Proposal) -> None:
        self._proposals[partition] = proposal
        self._proposed.set()

    async def proposals(self) -> dict[HostedPartition, Proposal]:
        """Wait for something that the controller is to be asked, and return all of it, once."""
        pending: dict[HostedPartition, Proposal] = {}
        while not pending:
            await self._proposed.wait()
            self._proposed = trio.Event()
            proposals, self._proposals = self._proposals, {}
            pending = {
                partition: proposal
                for partition, proposal in proposals.items()
                if partition.leadership is not None and partition.leadership.pending == proposal
            }
        return pending

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
            self._tell_leaders(self.partitions[name].values())

    def _tell_leaders(self, partitions: Iterable[HostedPartition]) -> None:
        """Bring the conditions of those that this broker leads up to date."""
        now_ms = self.world.clock.now_ms()
        for partition in partitions:
            partition.step(now_ms, self._conditions(partition))

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
        self.image, self._active_epochs = image, _active_epochs(image)
        checkpointed: set[TopicPartition] = set()
        for directory in self.directories:
            checkpoints = Checkpoints.read(directory.path)
            for name, index in directory.partitions():
                if name != METADATA_TOPIC:
                    self._load_one(directory, (name, index), checkpoints)
                await trio.lowlevel.checkpoint()
            self.retired += directory.retired()
            checkpointed |= checkpoints.known
        if any(index not in self.partitions.get(name, {}) for name, index in checkpointed):
            await self._forget_deleted()
        for topic, index, state in image.partitions():
            if self.node_id in state.replicas and index not in self.partitions.get(topic.name, {}):
                self._host(topic, index, state, self._emptiest())

    async def _forget_deleted(self) -> None:
        """Take what is not here any more out of the checkpoints: after a kill, a new topic of the same name would begin
        at the old one's start offset, and lose what lies before it, or never be compacted before what was cleaned."""
        try:
            await self.write_checkpoints()
            await self.write_cleaned_offsets()
        except OSError as error:  # a full disk must not keep topics from being deleted
            logger.error("cannot write checkpoints: %s", error)

    def _load_one(self, directory: LogDirectory, where: TopicPartition, checkpoints: Checkpoints) -> None:
        name, index = where
        path = os.path.join(directory.path, f"{name}-{index}")
        topic = self.image.topic(name)
        state = None if topic is None else topic.partitions.get(index)
        known = topic is not None and state is not None and self.node_id in state.replicas
        if not known or read_topic_id(path) not in (None, topic.id if topic else None):
            aside = directory.retire_partition(f"{name}-{index}", self.world.new_uuid(), "stray")
            logger.warning("%s is of no partition in the metadata: kept as %s", path, aside)
            return
        assert topic is not None
        assert state is not None
        partition = self._host(topic, index, state, directory, checkpoints)
        if partition.log.recovery:
            logger.warning("%s: %s", path, partition.log.recovery)

    def _drop(self, partition: HostedPartition, result: LeaderChanges) -> None:
        """Let go of a partition that is not this broker's any more; its files are deleted later."""
        if partition.is_leader:
            result.lost.append(partition)
        partition.follow(partition.state)
        partition.log.abandon()
        directory = self._directory_of(partition)
        self.retired.append(directory.retire_partition(partition.name, self.world.new_uuid()))
        self._dropped = True

    def _partition_changed(self, topic: Topic, index: int, state: Partition, result: LeaderChanges) -> None:
        hosted = self.partitions.get(topic.name, {})
        partition = hosted.get(index)
        if self.node_id not in state.replicas:
            if partition is not None:
                del hosted[index]
                self._drop(partition, result)
            return
        if partition is None:
            partition = self._host(topic, index, state, self._emptiest())
        self._take_role(partition, state, result)

    def _take_role(self, partition: HostedPartition, state: Partition, result: LeaderChanges) -> None:
        led = partition.is_leader
        if self._has_roles and state.leader == self.node_id:
            partition.lead(self._conditions(partition), state, self.world.clock.now_ms())
        else:
            partition.follow(state)
        if partition.is_leader and not led:
            result.gained.append(partition)
        elif led and not partition.is_leader:
            result.lost.append(partition)

    def _conditions(self, partition: HostedPartition) -> Conditions:
        min_isr = partition.log.config.min_insync_replicas
        return Conditions(self.node_id, self.lag_max_ms, self._active_epochs, min_isr)

    def _host(
        self,
        topic: Topic,
        index: int,
        state: Partition,
        directory: LogDirectory,
        checkpoints: Checkpoints = NOTHING_CHECKPOINTED,
    ) -> HostedPartition:
        siblings = self.partitions.get(topic.name)
        # Working settings out costs more than making the files: all partitions of a topic share theirs.
        config = next(iter(siblings.values())).log.config if siblings else self._log_config(topic.name)
        where = (topic.name, index)
        log = Log.open(
            directory.path,
            f"{topic.name}-{index}",
            config,
            now_ms=self.world.clock.now_ms(),
            last_stop=directory.last_stop,
            recovery_point=checkpoints.recovery_points.get(where, 0),
            log_start_offset=checkpoints.start_offsets.get(where, 0),
            roll_jitter_ms=self.world.random.randrange(config.segment_jitter_ms + 1),
        )
        if log.topic_id is None:
            log.assign_topic_id(topic.id)
        high_watermark = min(max(checkpoints.high_watermarks.get(where, 0), log.log_start_offset), log.log_end_offset)
        partition = HostedPartition(
            topic.name,
            topic.id,
            index,
            log,
            state,
            high_watermark,
            checkpointed_start_offset=checkpoints.start_offsets.get(where, 0),
            cleaned_offset=checkpoints.cleaned_offsets.get(where, 0),
            propose=self._propose,
        )
        self.partitions.setdefault(topic.name, {})[index] = partition
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
        """Recovery points, log starts and high watermarks, as Kafka keeps them in each directory. Raises: OSError."""
        async with self._checkpointing:
            for directory in self.directories:
                await write_checkpoints(directory.path, list(self.in_directory(directory)), self.world.in_thread)

    async def write_start_offsets(self) -> None:
        """Where logs begin, so that deleted records stay deleted after a kill (KIP-107). Raises: OSError."""
        async with self._checkpointing:
            for directory in self.directories:
                await write_start_offsets(directory.path, list(self.in_directory(directory)), self.world.in_thread)

    async def write_high_watermarks(self) -> None:
        """What is committed, for a start after a kill. Raises: OSError."""
        async with self._checkpointing:
            for directory in self.directories:
                await write_high_watermarks(directory.path, list(self.in_directory(directory)), self.world.in_thread)

    async def write_cleaned_offsets(self) -> None:
        """What is compacted. Raises: OSError."""
        async with self._checkpointing:
            for directory in self.directories:
                await write_cleaned_offsets(directory.path, list(self.in_directory(directory)), self.world.in_thread)

    async def close(self) -> None:
        """A controlled stop: everything durable. Raises: OSError."""
        for partition in self.all():
            partition.log.close()
            await trio.lowlevel.checkpoint()
        await self.write_checkpoints()


def _active_epochs(image: Image) -> dict[int, int]:
    return {broker_id: broker.epoch for broker_id, broker in image.brokers.items() if broker.active}
