"""The partitions that this broker holds, kept equal to the metadata.

:mod:`kraft.node.publisher` passes each image to :meth:`Replicas.apply`, which creates, reconfigures or removes logs. At
startup :meth:`Replicas.load` compares the directories with the metadata. It renames a log that the metadata does not
contain to ``-stray``, and never deletes it.

The broker ignores roles until the image contains its current epoch. Earlier roles belong to a previous incarnation,
whose log may have been longer.

With ZooKeeper the roles come from the controller's requests instead (:mod:`kraft.replication.commands`), each of
which names the broker's epoch. The image then has only brokers, topics and settings.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from uuid import UUID

import attrs
import trio

from kraft.broker.leadership import Conditions, Proposal
from kraft.config.setting import one_line, usable
from kraft.config.topic import TOPIC_CONFIGS, TOPIC_DEFAULT_CONFIGS, LogConfig, log_config
from kraft.metadata.delta import Changes
from kraft.metadata.image import DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED, Image, ResourceType, Topic
from kraft.metadata.levels import DIRECTORIES
from kraft.metadata.partitions import NO_LEADER, Partition, Partitions
from kraft.replication.checkpoints import CheckpointFiles, Checkpoints
from kraft.replication.flushes import run_flushes
from kraft.replication.opener import CREATED_AT_ONCE, NOTHING_CHECKPOINTED, Opener
from kraft.replication.partition import HostedPartition
from kraft.storage.checkpoint import CLEANER_OFFSET, HIGH_WATERMARK, LOG_START_OFFSET, TopicPartition
from kraft.storage.directory import LogDirectory
from kraft.storage.errors import StorageError
from kraft.storage.future import settle_futures
from kraft.storage.log import Log
from kraft.storage.partition_metadata import read_topic_id
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC, is_internal
from kraft.wire.uuids import ZERO_UUID, uuid_to_text
from kraft.world.slices import Slices
from kraft.world.world import World

logger = logging.getLogger("kraft.replicas")

UNASSIGNED = Partition((), (), NO_LEADER, -1, -1, ())
"""The state of a partition whose log is on disk, before a ZooKeeper-era controller has sent its state."""
_PARTITIONS_IN_A_ROW = 3
"""Not a Kafka setting. The partitions that a start opens, or a change closes, before other tasks run."""
_ASSIGNED_IN_A_ROW = 10
"""Not a Kafka setting. The partitions that get their role before other tasks run, once their logs are created."""
_CONDITIONS_IN_A_ROW = 200
_LOOKS_IN_A_ROW = 2000
"""The same for the partitions that get new roles or conditions, and for those that are looked up."""


@attrs.frozen
class LeaderChanges:
    """Partitions whose leadership this broker gained or lost with one image."""

    gained: list[HostedPartition]
    lost: list[HostedPartition]

    async def forget(self) -> None:
        """Drop the partitions in slices. Deleted ones are freed with it, which takes some 2 µs for each."""
        slices = Slices(_CONDITIONS_IN_A_ROW)
        for partitions in (self.gained, self.lost):
            while partitions:
                partitions.pop()
                await slices.spend()


@attrs.define(eq=False)
class Replicas:
    """All partitions on this broker, by topic name and index. ``lag_max_s`` is ``replica.lag.time.max.ms``."""

    node_id: int
    world: World
    directories: list[LogDirectory]
    static_values: Mapping[str, str]
    lag_max_s: float = 30.0
    image: Image = attrs.Factory(Image)
    partitions: dict[str, dict[int, HostedPartition]] = attrs.Factory(dict)
    retired: list[str] = attrs.Factory(list)
    """Renamed directories of deleted partitions. The maintenance task deletes them."""
    broker_epoch: int = -1
    """The epoch of this broker's registration, -1 before the first. Other modules read it here and keep no copy."""
    is_commanded: bool = False
    """Whether a ZooKeeper-era controller commands the roles, and the image may lack topics."""
    interrupted_moves: Mapping[TopicPartition, LogDirectory] = attrs.Factory(dict)
    """The directories to which replicas were being moved when the broker stopped."""
    unreported: dict[HostedPartition, None] = attrs.Factory(dict)
    """The replicas whose directory the controller does not have, in the order of the reports."""
    directory_noted: trio.Event = attrs.Factory(trio.Event)
    """Set when there are unreported replicas."""
    roles_changed: trio.Event = attrs.Factory(trio.Event)
    """Set, and replaced by a new event, when the partitions that this broker follows may have changed."""
    _active_epochs: Mapping[int, int] = attrs.Factory(dict)
    """The epochs of the brokers that may be in an ISR, by the image."""
    _topic_defaults: Mapping[str, str] | None = None
    """The settings of this broker that are the defaults of its topics; None after a change."""
    _has_roles: bool = False
    _proposals: dict[HostedPartition, Proposal] = attrs.Factory(dict)
    _proposed: trio.Event = attrs.Factory(trio.Event)
    checkpoints: CheckpointFiles = attrs.field(
        init=False,
        default=attrs.Factory(
            lambda self: CheckpointFiles(self.world, self.directories, self.partitions), takes_self=True
        ),
    )
    opener: Opener = attrs.field(
        init=False, default=attrs.Factory(lambda self: Opener(self.world, self.directories), takes_self=True)
    )

    # Queries of the handlers.

    def leader_of(self, topic: str, index: int) -> HostedPartition:
        """Return the partition, if this broker leads it.

        Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION or NOT_LEADER_OR_FOLLOWER.
        """
        hosted = self.partitions.get(topic)
        partition = None if hosted is None else hosted.get(index)
        if partition is not None and partition.leadership is not None:
            return partition
        raise self._not_here(topic, index)

    def replica_of(self, topic: str, index: int) -> HostedPartition:
        """Return the partition, if this broker has a replica. Raises as :meth:`leader_of`."""
        partition = self.partitions.get(topic, {}).get(index)
        if partition is None or not partition.is_assigned:
            raise self._not_here(topic, index)
        return partition

    def _not_here(self, topic: str, index: int) -> KafkaError:
        known = self.image.topic(topic)
        is_elsewhere = known is not None and index in known.partitions
        return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER if is_elsewhere else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def name_of(self, topic_id: UUID) -> str:
        """Return the name of a topic. Raises KafkaError UNKNOWN_TOPIC_ID."""
        topic = self.image.topics.get(topic_id)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        return topic.name

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a topic; 0 for an unknown topic."""
        known = self.image.topic(topic)
        return 0 if known is None else len(known.partitions)

    def known_leader(self, topic: str, index: int) -> tuple[int, int]:
        """Return leader and leader epoch by the metadata; -1 and -1 for an unknown partition."""
        known = self.image.topic(topic)
        partition = None if known is None else known.partitions.get(index)
        return (NO_LEADER, -1) if partition is None else (partition.leader, partition.leader_epoch)

    def holds(self, partition: HostedPartition) -> bool:
        """Whether this broker still has the partition, and did not delete it."""
        return self.partitions.get(partition.topic, {}).get(partition.index) is partition

    def all(self) -> Iterator[HostedPartition]:
        for hosted in self.partitions.values():
            yield from hosted.values()

    def followed(self) -> Iterator[tuple[int, HostedPartition]]:
        """Yield (leader id, partition) of each partition that this broker follows."""
        for partition in self.all():
            leader = partition.state.leader
            if self._has_roles and leader not in (NO_LEADER, self.node_id):
                yield leader, partition

    # Changes of the metadata.

    async def apply(self, image: Image, changes: Changes) -> LeaderChanges:
        """Apply the changes of one new image. Other tasks run in between, and see some of the changes.

        Raises StorageError, OSError.
        """
        self.image = image
        if changes.brokers:
            self._active_epochs = _active_epochs(image)
        result = LeaderChanges([], [])
        failures = await self._delete(await self._take_away(image, changes), result)
        if failures:  # the node ends, and its next start sets the logs aside
            raise next(iter(failures.values()))
        own, looks = list[tuple[Topic, int, Partition]](), Slices(_LOOKS_IN_A_ROW)
        for changed in _changed(image, changes):
            await looks.spend()
            if self.node_id in changed[2].replicas:
                own.append(changed)
        slices = Slices(_ASSIGNED_IN_A_ROW)
        for first in range(0, len(own), CREATED_AT_ONCE):
            several = own[first : first + CREATED_AT_ONCE]
            await self.create_logs([(topic, index) for topic, index, _ in several])
            for topic, index, state in several:
                await slices.spend()
                self.assign(topic, index, state, result)
        if changes.brokers:
            # After the partitions, because the same image may bring a replica into an ISR and give it a new epoch.
            await self._update_conditions(list(self.all()))
        await self._retune(changes)
        if changes.partitions or changes.topics_deleted or changes.brokers:
            self.announce()
        return await self._with_roles(result)

    async def registered(self, broker_epoch: int) -> LeaderChanges:
        """Take the new epoch of this broker's registration. Later fetches and proposals carry it.

        Other tasks run in between, but not ``apply``: the caller applies one change at a time.
        """
        self.broker_epoch = broker_epoch
        return await self._with_roles(LeaderChanges([], []))

    async def _with_roles(self, result: LeaderChanges) -> LeaderChanges:
        """Take all roles once the image contains this broker's current epoch."""
        known = self.image.brokers.get(self.node_id)
        if not self._has_roles and known is not None and known.epoch == self.broker_epoch:
            self._has_roles = True
            slices = Slices(_CONDITIONS_IN_A_ROW)
            for partition in list(self.all()):
                await slices.spend()
                self._take_role(partition, partition.state, result)
            self.announce()
        await self.coordinating(result)
        return result

    async def coordinating(self, led: LeaderChanges) -> None:
        """Prepare the gained partitions of internal topics. Their coordinators append in the event loop."""
        await self.make_ids_durable(each for each in led.gained if is_internal(each.topic))

    # Commands of a ZooKeeper-era controller.

    async def show(self, image: Image, changes: Changes) -> None:
        """Take what a new image says of brokers, topics and settings. All roles stay as they are. Other tasks run in
        between.
        """
        self.image = image
        if changes.brokers:
            self._active_epochs = _active_epochs(image)
            await self._update_conditions(list(self.all()))
        await self._retune(changes)
        self.announce()

    async def create_logs(self, wanted: Iterable[tuple[Topic, int]]) -> None:
        """Create the logs of partitions that ``assign`` will add next, on a worker thread, if they have none.

        A few logs are left to ``assign``. For them a change of threads would take longer than it saves.
        """
        configs = dict[str, LogConfig]()
        new = [each for each in wanted if each[1] not in self.partitions.get(each[0].name, {})]
        await self.checkpoints.prepare_for((topic.name, index) for topic, index in new)
        if len(new) <= _PARTITIONS_IN_A_ROW:
            return
        for topic, _ in new:
            if topic.name not in configs:
                configs[topic.name] = self._config_of(topic.name)
        await self.opener.create_ahead((topic, index, configs[topic.name]) for topic, index in new)

    def assign(self, topic: Topic, index: int, state: Partition, result: LeaderChanges) -> None:
        """Lead or follow the partition as ``state`` says. Its log is created unless ``create_logs`` has.

        Raises StorageError, OSError.
        """
        partition = self.partitions.get(topic.name, {}).get(index)
        if partition is None:
            log = self.opener.created(topic.name, index)
            if log is None:
                log = self.opener.create(topic, index, self._config_of(topic.name))
            partition = self._host(topic, index, state, log)
        elif partition.topic_id == ZERO_UUID:  # a log from before topic ids
            partition.topic_id = topic.id
            partition.log.assign_topic_id(topic.id)
        self._take_role(partition, state, result)

    def stop(self, partition: HostedPartition, result: LeaderChanges) -> None:
        """Neither lead nor follow the partition. Its log stays."""
        self._take_role(partition, attrs.evolve(partition.state, leader=NO_LEADER), result)

    async def remove(
        self, partitions: list[HostedPartition], result: LeaderChanges
    ) -> Mapping[TopicPartition, OSError]:
        """Delete the partitions and their logs. Return the error of each log that cannot be deleted.

        Each later call tries these logs again. Until then ``assign`` raises StorageError for their partitions.
        """
        for partition in partitions:
            hosted = self.partitions[partition.topic]
            del hosted[partition.index]
            if not hosted:
                del self.partitions[partition.topic]
        return await self._delete(partitions, result)

    @property
    def _has_reports(self) -> bool:
        """Whether the controller keeps the directories of replicas (KIP-858)."""
        return not self.is_commanded and self.image.metadata_version >= DIRECTORIES

    def note_directory(self, partition: HostedPartition) -> None:
        """Have the directory of a replica reported."""
        if self._has_reports:
            self.unreported[partition] = None
            self.directory_noted.set()

    def _check_directory(self, partition: HostedPartition) -> None:
        """Have the directory of a replica reported, unless the image has it.

        The last member of an ISR may have an empty log in the place of one that is missing. The controller must not
        elect it, except in an unclean election. Any other replica has caught up before it is in the ISR.
        """
        if not self._has_reports:
            return
        state, own = partition.state, self.opener.directory_of(partition.log).directory_id
        known = state.directory(self.node_id)
        if known == own:
            return
        is_new = not partition.log.log_end_offset and not partition.is_leader
        if is_new and self.node_id in state.isr and known not in self._directories_here():
            what = "%s: empty, but in sync in the missing directory %s: only an unclean election makes it the leader"
            logger.warning(what, partition.name, uuid_to_text(known))
        else:
            self.note_directory(partition)

    def _directories_here(self) -> set[UUID]:
        """The directories of the metadata in which the controller takes a replica of this broker for online."""
        return {DIRECTORY_UNASSIGNED, DIRECTORY_MIGRATING, *(each.directory_id for each in self.directories)}

    def announce(self) -> None:
        """Wake the fetchers: the partitions that this broker follows, or their leaders, may have changed."""
        self.roles_changed.set()
        self.roles_changed = trio.Event()

    def _propose(self, partition: HostedPartition, proposal: Proposal) -> None:
        self._proposals[partition] = proposal
        self._proposed.set()

    async def proposals(self, most: int) -> dict[HostedPartition, Proposal]:
        """Wait for proposals to the controller, and return the first ``most`` pending ones. Each is returned once."""
        pending: dict[HostedPartition, Proposal] = {}
        while not pending:
            await self._proposed.wait()
            for partition in list(islice(self._proposals, most)):
                proposal = self._proposals.pop(partition)
                if partition.leadership is not None and partition.leadership.pending == proposal:
                    pending[partition] = proposal
            if not self._proposals:
                self._proposed = trio.Event()
        return pending

    async def _retune(self, changes: Changes) -> None:
        """Apply new topic settings to the logs. A broker's dynamic settings are the defaults of all topics."""
        if any(resource_type == ResourceType.BROKER for resource_type, _ in changes.configs):
            self._topic_defaults = None
            names = set(self.partitions)
        else:
            names = {name for resource_type, name in changes.configs if resource_type == ResourceType.TOPIC}
        slices = Slices(_PARTITIONS_IN_A_ROW)
        for name in names & set(self.partitions):
            await slices.spend()
            config = self._log_config(name)
            for partition in self.partitions[name].values():
                partition.log.config = config
            await self._update_conditions(list(self.partitions[name].values()))

    async def _update_conditions(self, partitions: Collection[HostedPartition]) -> None:
        """Pass the present conditions to the leaderships of these partitions."""
        slices = Slices(_CONDITIONS_IN_A_ROW)
        for partition in partitions:
            await slices.spend()
            partition.change_conditions(self.world.clock.now_s(), self._conditions(partition))

    def _log_config(self, topic: str) -> LogConfig:
        if self._topic_defaults is None:
            cluster_wide, own = (self._usable(ResourceType.BROKER, name) for name in ("", str(self.node_id)))
            self._topic_defaults = {**self.static_values, **cluster_wide, **own}
        return log_config(self._usable(ResourceType.TOPIC, topic), self._topic_defaults)

    def _usable(self, kind: ResourceType, name: str) -> dict[str, str]:
        """Return the settings of a topic or of brokers, without values that this broker refuses."""
        values = self.image.config(kind, name)
        taken = usable(values, TOPIC_CONFIGS if kind is ResourceType.TOPIC else TOPIC_DEFAULT_CONFIGS)
        for setting in values.keys() - taken.keys():
            logger.warning("ignoring %s=%s of %s %r", setting, one_line(values[setting]), kind.name.lower(), name)
        return taken

    async def load(self, image: Image | None) -> None:
        """Open every log that the image assigns to this broker, and set the others aside. Called once, before the first
        request.

        Without an image, in ZooKeeper mode, every log is opened and kept, and gets its role from the controller.

        Raises:
            StorageError: A log is damaged, and only a person may repair it.
            OSError: A directory cannot be read or written.
        """
        self.is_commanded = self._has_roles = image is None
        self.image = image or Image()
        self._active_epochs = _active_epochs(self.image)
        interrupted = settle_futures(self.directories)
        self.interrupted_moves, self.retired = interrupted.moves, interrupted.copies
        for directory in self.directories:
            checkpoints = Checkpoints.read(directory.path)
            for name, index in directory.partitions():
                if name != CLUSTER_METADATA_TOPIC:
                    await self._load_one(directory, (name, index), checkpoints)
                await trio.lowlevel.checkpoint()
            self.retired += directory.retired()
            await self.checkpoints.compare(directory, checkpoints)
        await self.checkpoints.forget_deleted()
        slices = Slices(_PARTITIONS_IN_A_ROW)
        for topic, index, state in self.image.partitions():
            if self.node_id in state.replicas and index not in self.partitions.get(topic.name, {}):
                await self.checkpoints.prepare_for([(topic.name, index)])
                log = self.opener.create(topic, index, self._config_of(topic.name))
                self._host(topic, index, state, log)
                await slices.spend()

    async def _load_one(self, directory: LogDirectory, where: TopicPartition, checkpoints: Checkpoints) -> None:
        name, index = where
        path = os.path.join(directory.path, f"{name}-{index}")
        topic_id = read_topic_id(path)
        topic = self.image.topic(name)
        state = None if topic is None else topic.partitions.get(index)
        if self.is_commanded:
            topic, state = Topic(topic_id or ZERO_UUID, name, Partitions()), UNASSIGNED
        elif topic is None or state is None or self.node_id not in state.replicas or topic_id != topic.id:
            aside = directory.retire_partition(f"{name}-{index}", self.world.new_uuid(), "stray")
            why = "no topic id" if topic_id is None else "not in the metadata"
            logger.warning("%s: %s, renamed to %s", path, why, aside)
            return
        other = self.partitions.get(name, {}).get(index)
        if other is not None:
            what = f"{path}: {other.log.directory} is a log of the same partition"
            raise StorageError(f"{what}; move one of the two away, that of the directory that failed if one did")
        log = await self.opener.open(topic, index, self._config_of(name), directory, checkpoints)
        partition = self._host(topic, index, state, log, checkpoints)
        if partition.log.recovery:
            logger.warning("%s: %s", path, partition.log.recovery)

    async def _take_away(self, image: Image, changes: Changes) -> list[HostedPartition]:
        """Remove the partitions that this broker no longer has, and return them."""
        gone: list[HostedPartition] = []
        looks = Slices(_LOOKS_IN_A_ROW)
        for deleted in changes.topics_deleted.values():
            gone += self.partitions.pop(deleted.name, {}).values()
        for topic, index, state in _changed(image, changes):
            await looks.spend()
            hosted = self.partitions.get(topic.name, {})
            if self.node_id not in state.replicas and index in hosted:
                gone.append(hosted.pop(index))
        return gone

    async def _delete(self, gone: list[HostedPartition], result: LeaderChanges) -> Mapping[TopicPartition, OSError]:
        """Close and rename the logs of removed partitions, and empty the list. Maintenance deletes the files later.

        The checkpoint entries go first. They identify a log by its name, and a new topic may use the name after the
        rename.

        Returns the error of each log, also one of an earlier call, that cannot be renamed.
        """
        slices = Slices(_PARTITIONS_IN_A_ROW)
        gone.reverse()
        while gone:
            await slices.spend()
            partition = gone.pop()
            if partition.is_leader:
                result.lost.append(partition)
            partition.follow(partition.state)
            partition.log.abandon()
            self.opener.undeleted[partition.where] = directory = self.opener.directory_of(partition.log)
            self.opener.hosted_in[directory.path] -= 1
            self.checkpoints.are_outdated = True
        await self.checkpoints.forget_deleted()
        renamed, failures = await self.opener.rename_undeleted()
        self.retired.extend(renamed)  # with +=, the list from before the await would take its place
        return failures

    def _take_role(self, partition: HostedPartition, state: Partition, result: LeaderChanges) -> None:
        led = partition.is_leader
        if self._has_roles and state.leader == self.node_id:
            partition.lead(self._conditions(partition), state, self.world.clock.now_s())
        else:
            partition.follow(state)
        if partition.is_leader and not led:
            result.gained.append(partition)
        elif led and not partition.is_leader:
            result.lost.append(partition)
        if self._has_roles:
            self._check_directory(partition)

    def _conditions(self, partition: HostedPartition) -> Conditions:
        min_isr = partition.log.config.min_insync_replicas
        return Conditions(self.node_id, self.lag_max_s, self._active_epochs, min_isr)

    def _config_of(self, topic: str) -> LogConfig:
        """Return the configuration that all partitions of a topic share, because it is long to compute."""
        siblings = self.partitions.get(topic)
        return next(iter(siblings.values())).log.config if siblings else self._log_config(topic)

    def _host(
        self, topic: Topic, index: int, state: Partition, log: Log, checkpoints: Checkpoints = NOTHING_CHECKPOINTED
    ) -> HostedPartition:
        where = (topic.name, index)
        committed = checkpoints.offset(HIGH_WATERMARK, where)
        partition = HostedPartition(
            topic.name,
            topic.id,
            index,
            log,
            state,
            high_watermark=min(max(committed, log.log_start_offset), log.log_end_offset),
            checkpointed_start_offset=checkpoints.offset(LOG_START_OFFSET, where),
            cleaned_offset=min(checkpoints.offset(CLEANER_OFFSET, where), log.log_end_offset),
            propose=self._propose,
            clock=self.world.clock,
        )
        self.partitions.setdefault(topic.name, {})[index] = partition
        self.opener.hosted_in[os.path.dirname(log.directory)] += 1
        return partition

    def rehost(self, partition: HostedPartition, log: Log) -> None:
        """Put ``log``, which has the same records in another directory, in the place of the partition's log.

        The caller calls ``checkpoints.forget_deleted`` next: the files have the offsets of the old one.
        """
        for each, change in ((partition.log, -1), (log, 1)):
            self.opener.hosted_in[os.path.dirname(each.directory)] += change
        partition.log, partition.checkpointed_start_offset = log, 0
        self.checkpoints.are_outdated = True
        partition.wake()

    # Durability.

    async def make_ids_durable(self, partitions: Iterable[HostedPartition]) -> None:
        """Sync the topic ids of new logs on worker threads. Their first append would do so in the event loop.

        A log whose id cannot be synced rejects the append.
        """
        new = [each for each in partitions if each.log.has_unsynced_id]
        if new:
            with suppress(OSError):
                await run_flushes(new, lambda log: log.begin_flush(0), self.world, self.holds)

    async def flush_due(self, partitions: Iterable[HostedPartition]) -> None:
        """Flush the logs that have ``flush.messages`` records since their last flush, on worker threads.

        Raises OSError if a flush failed. That log rejects appends.
        """
        due = [each for each in partitions if each.log.must_flush]
        if due:
            await run_flushes(due, Log.begin_flush, self.world, self.holds)

    async def close(self) -> None:
        """Close all logs in a controlled stop, durably. Raises OSError."""
        partitions = [each for each in self.all() if not each.log.is_closed]
        for partition in partitions:
            partition.log.complete()  # before the syncs: while they run, a file system lets new files wait
            await trio.lowlevel.checkpoint()
        await run_flushes(partitions, Log.begin_close, self.world, self.holds)
        for partition in partitions:
            partition.log.abandon()
        await self.checkpoints.write()


def _changed(image: Image, changes: Changes) -> Iterator[tuple[Topic, int, Partition]]:
    """Yield the changed partitions that still exist."""
    for topic_id, indexes in changes.partitions.items():
        topic = image.topics.get(topic_id)
        if topic is not None:
            yield from ((topic, index, topic.partitions[index]) for index in sorted(indexes))


def _active_epochs(image: Image) -> dict[int, int]:
    return {broker_id: broker.epoch for broker_id, broker in image.brokers.items() if broker.active}
