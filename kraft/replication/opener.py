"""Opens the logs of partitions. Creates those of new ones, and renames those of deleted ones, beside the event loop.

The files of a new partition take a millisecond of system calls on some file systems. Creation of many partitions would
then hold the event loop for a share of its time that a neighbour feels, even in short steps.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final
from uuid import UUID

import attrs

from kraft.config.topic import LogConfig
from kraft.metadata.image import Topic
from kraft.replication.checkpoints import Checkpoints
from kraft.storage.checkpoint import LOG_START_OFFSET, RECOVERY_POINT, TopicPartition
from kraft.storage.directory import LastStop, LogDirectory
from kraft.storage.errors import StorageError
from kraft.storage.log import Log
from kraft.wire.uuids import ZERO_UUID, uuid_to_text
from kraft.world.world import World

CREATED_AT_ONCE: Final = 16
"""Not a Kafka setting. The logs that a worker thread creates at a time."""
RENAMED_AT_ONCE: Final = 64
"""Not a Kafka setting. The directories of deleted logs that a worker thread renames at a time."""
MAX_PREFERRED: Final = 10_000
"""Not a Kafka setting. The partitions whose directory is chosen before they are here."""

NOTHING_CHECKPOINTED: Final = Checkpoints()


@attrs.define(eq=False)
class Opener:
    """Chooses the directory of each new log, and opens logs."""

    world: World
    directories: Sequence[LogDirectory]
    hosted_in: Counter[str] = attrs.Factory(Counter)
    """The number of partitions by the path of their directory."""
    undeleted: dict[TopicPartition, LogDirectory] = attrs.Factory(dict)
    """The directories of the deleted logs that are not renamed yet."""
    _preferred: dict[TopicPartition, LogDirectory] = attrs.Factory(dict)
    """The directories that AlterReplicaLogDirs chose for new partitions."""
    _created: dict[TopicPartition, Log] = attrs.Factory(dict)

    async def open(
        self, topic: Topic, index: int, config: LogConfig, directory: LogDirectory, checkpoints: Checkpoints
    ) -> Log:
        """Open the log of a partition in its directory. Raises StorageError, OSError."""
        opening = self._opening(topic, index, config, directory, checkpoints)
        if directory.last_stop is LastStop.POWER_LOST:  # it reads all that was not flushed, and the quorum runs already
            log: Log = await self.world.in_thread(opening)
            return log
        return opening()

    def create(self, topic: Topic, index: int, config: LogConfig) -> Log:
        """Create the log of a new partition, or open that of an earlier attempt.

        Raises:
            StorageError: A log of an earlier topic, or a deleted one, has the name.
            OSError: The log cannot be created.
        """
        holder = self.undeleted.get((topic.name, index))
        if holder is not None:
            path = os.path.join(holder.path, f"{topic.name}-{index}")
            raise StorageError(f"{path}: the deleted log cannot be renamed; check the disk, then start again")
        return self._opening(topic, index, config, self._directory_for((topic.name, index), self.hosted_in))()

    def created(self, topic: str, index: int) -> Log | None:
        """Take a log that ``create_ahead`` has created."""
        return self._created.pop((topic, index), None)

    async def create_ahead(self, wanted: Iterable[tuple[Topic, int, LogConfig]]) -> None:
        """Create the logs of new partitions on a worker thread, for ``created``.

        It lacks a log that cannot be created. ``create`` then raises the error.
        """
        hosted_in, openings = self.hosted_in.copy(), {}
        for topic, index, config in wanted:
            if (topic.name, index) in self.undeleted:
                continue
            directory = self._directory_for((topic.name, index), hosted_in)
            hosted_in[directory.path] += 1
            openings[topic.name, index] = self._opening(topic, index, config, directory)
        self._created = await self.world.in_thread(_open_all, openings) if openings else {}

    async def rename_undeleted(self) -> tuple[list[str], dict[TopicPartition, OSError]]:
        """Rename the directories of all deleted logs, as far as they can be. Return the new paths, and the error of
        each other log. An error keeps no other log from its deletion, as in ``LogManager.asyncDelete``.
        """
        waiting, renamed, failures = list(self.undeleted.items()), list[str](), dict[TopicPartition, OSError]()
        for first in range(0, len(waiting), RENAMED_AT_ONCE):
            several = [(*each, self.world.new_uuid()) for each in waiting[first : first + RENAMED_AT_ONCE]]
            paths, failed = await self.world.in_thread(_rename_all, several)
            renamed += paths
            failures |= failed
        self.undeleted = {where: directory for where, directory in waiting if where in failures}
        return renamed, failures

    def _opening(
        self,
        topic: Topic,
        index: int,
        config: LogConfig,
        directory: LogDirectory,
        checkpoints: Checkpoints = NOTHING_CHECKPOINTED,
    ) -> Callable[[], Log]:
        """Return a call that opens or creates a log. Any thread may call it."""
        where = (topic.name, index)
        opening = partial(
            Log.open,
            directory.path,
            f"{topic.name}-{index}",
            config,
            now_ms=self.world.clock.now_ms(),
            last_stop=directory.last_stop,
            recovery_point=checkpoints.offset(RECOVERY_POINT, where),
            log_start_offset=checkpoints.offset(LOG_START_OFFSET, where),
            roll_jitter_ms=self.world.random.randrange(max(config.segment_jitter_ms, 1)),
        )
        return partial(_with_topic_id, opening, topic.id)

    def prefer(self, where: TopicPartition, directory: LogDirectory) -> None:
        """Create a partition that this broker may get in ``directory``. Beyond MAX_PREFERRED they are forgotten."""
        if len(self._preferred) < MAX_PREFERRED:
            self._preferred[where] = directory

    def _directory_for(self, where: TopicPartition, hosted_in: Counter[str]) -> LogDirectory:
        """Return the preferred directory of a new partition, or that with the fewest partitions, as Kafka does."""
        preferred = self._preferred.pop(where, None)
        return preferred or min(self.directories, key=lambda directory: hosted_in[directory.path])

    def directory_of(self, log: Log) -> LogDirectory:
        parent = os.path.dirname(log.directory)
        return next(directory for directory in self.directories if directory.path == parent)


def _with_topic_id(opening: Callable[[], Log], topic_id: UUID) -> Log:
    """Open a log of this topic. Raises StorageError for one of another topic (``InconsistentTopicIdException``)."""
    log = opening()
    if log.topic_id is None and topic_id != ZERO_UUID:
        log.assign_topic_id(topic_id)
    elif log.topic_id not in (None, topic_id):
        log.abandon()
        ids = f"the log of topic id {uuid_to_text(log.topic_id)}, and the topic has {uuid_to_text(topic_id)}"
        raise StorageError(f"{log.directory}: {ids}; move the directory away")
    return log


def _open_all(openings: Mapping[TopicPartition, Callable[[], Log]]) -> dict[TopicPartition, Log]:
    """Open several logs, without those that fail."""
    logs = {}
    for where, opening in openings.items():
        with suppress(OSError, StorageError):
            logs[where] = opening()
    return logs


def _rename_all(
    logs: Iterable[tuple[TopicPartition, LogDirectory, UUID]],
) -> tuple[list[str], dict[TopicPartition, OSError]]:
    renamed, failures = [], {}
    for (topic, index), directory, token in logs:
        try:
            renamed.append(directory.retire_partition(f"{topic}-{index}", token))
        except FileNotFoundError:
            pass  # a person has removed it
        except OSError as error:
            failures[topic, index] = error
    return renamed, failures
