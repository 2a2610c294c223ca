"""Moves of replicas between the directories of this broker (KIP-113, AlterReplicaLogDirs).

A move copies the log in slices to a ``-future`` directory, while the replica leads or follows as before. When the copy
has everything, it takes the place of the log, and the controller gets to know the directory (KIP-858). One replica
moves at a time. A move that a stop interrupts begins again with the next start.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import attrs
import trio

from kraft.records.batch import CorruptBatch, TruncatedBatch, check_batch, iter_headers, parse_header
from kraft.replication.directory_reports import DirectoryReports
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.replication.throttle import Throttle
from kraft.storage.atomic import sync_directory
from kraft.storage.directory import LONGEST_NAME, LastStop, LogDirectory
from kraft.storage.errors import StorageError
from kraft.storage.future import future_name, mark_complete, take_name
from kraft.storage.log import Log, remove_files
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.uuids import ZERO_UUID
from kraft.world.slices import next_slice

logger = logging.getLogger("kraft.replicas")

COPIED_AT_ONCE_BYTES: Final = 1 << 20
"""Not a Kafka setting. The bytes that are copied before other tasks run: a millisecond or two."""
_BATCH_BYTES: Final = 8 * 1024
"""The cost of a batch beside its bytes. The unit is the time to check and copy one byte."""


@attrs.define(eq=False)
class DirectoryMove:
    """One replica on its way to ``directory``."""

    partition: HostedPartition
    directory: LogDirectory
    is_wanted: bool = True
    future: Log | None = None
    """The copy, once it has begun."""
    cuts: int = -1
    """How often the log had been truncated when the copy began. Another truncation makes the copy begin again."""

    @property
    def lag(self) -> int:
        """The offsets that the copy is behind its log."""
        end_offset = 0 if self.future is None else self.future.log_end_offset
        return max(self.partition.log.log_end_offset - end_offset, 0)

    @property
    def is_outdated(self) -> bool:
        """Whether the copy must begin again: its log was truncated, or begins behind the end of the copy."""
        log = self.partition.log
        return self.cuts != log.cuts or (self.future is not None and self.future.log_end_offset < log.log_start_offset)


@attrs.define(eq=False)
class DirectoryMoves:
    """All moves of this broker, in the order of their requests. ``assign`` sends a request to the controller."""

    replicas: Replicas
    assign: Callable[[Any], Awaitable[Any]]
    throttle: Throttle
    copies: dict[HostedPartition, DirectoryMove] = attrs.Factory(dict)
    _requested: trio.Event = attrs.Factory(trio.Event)

    def request(self, topic: str, index: int, path: str) -> None:
        """Move a replica to the log directory ``path``, or keep it there. A later request replaces an earlier one.

        A replica that is not here yet will be created there.

        Raises KafkaError LOG_DIR_NOT_FOUND, REPLICA_NOT_AVAILABLE for a replica that is not here yet,
        UNKNOWN_TOPIC_OR_PARTITION, or INVALID_TOPIC_EXCEPTION for a topic whose name is too long for that of a copy.
        """
        if len(future_name(f"{topic}-{index}", ZERO_UUID)) > LONGEST_NAME:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        directory = next((each for each in self.replicas.directories if each.path == path), None)
        if directory is None:
            raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND)
        partition = self.replicas.partitions.get(topic, {}).get(index)
        if partition is None:
            self.replicas.opener.prefer((topic, index), directory)
            known = self.replicas.image.topic(topic)
            is_elsewhere = known is not None and index in known.partitions
            refusal = ErrorCode.REPLICA_NOT_AVAILABLE if is_elsewhere else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise KafkaError(refusal)
        under_way = self.copies.get(partition)
        if under_way is not None:
            if under_way.directory is directory:
                return
            under_way.is_wanted = False
            del self.copies[partition]
        if self.replicas.opener.directory_of(partition.log) is not directory:
            self.copies[partition] = DirectoryMove(partition, directory)
            self._requested.set()

    async def run(self) -> None:
        """Move one replica after the other, and report their directories to the controller, until cancelled.

        Error handling: StorageError if a log cannot be replaced by its copy, so that the node must end. A copy that
        fails before is logged, and its replica stays where it is.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(DirectoryReports(self.replicas, self.assign).run, name="directories of replicas")
            await self._move_all()

    async def _move_all(self) -> None:
        for (topic, index), directory in self.replicas.interrupted_moves.items():
            if index in self.replicas.partitions.get(topic, {}):
                self.request(topic, index, directory.path)
        while True:
            await self._requested.wait()
            self._requested = trio.Event()
            while self.copies:
                partition, move = next(iter(self.copies.items()))
                try:
                    await self._move(move)
                except (OSError, KafkaError) as failure:
                    logger.error("%s stays in %s: %s", partition.name, partition.log.directory, failure)
                if self.copies.get(partition) is move:
                    del self.copies[partition]

    async def _move(self, move: DirectoryMove) -> None:
        partition, world = move.partition, self.replicas.world
        logger.info("%s moves to %s", partition.name, move.directory.path)
        name = future_name(partition.name, world.new_uuid())
        future = Log.open(move.directory.path, name, partition.log.config, now_ms=world.clock.now_ms())
        move.future = future
        partition.is_moving = True
        try:
            if partition.topic_id != ZERO_UUID:
                future.assign_topic_id(partition.topic_id)
            is_done = False
            while not is_done and self._goes_on(move):
                while self._goes_on(move) and (copied := self._copy(move, future)):
                    self.throttle.record(copied)
                    if dropped := future.segments.take_dropped():  # the copy began again
                        await world.in_thread(remove_files, dropped)
                    await next_slice()
                    while self._goes_on(move) and self.throttle.is_exceeded:
                        await self.throttle.rest()
                flush = future.begin_flush()
                await world.in_thread(world.sync, flush)
                future.flushed(flush)
                async with partition.appending():
                    is_done = self._goes_on(move) and self._complete(move, future)
        except trio.Cancelled:
            future.abandon()  # under its name, by which the next start begins the move again
            raise
        finally:
            partition.is_moving = False
            if not future.is_closed:
                future.abandon()
                self._retire(move, future)
        if is_done:
            await self.replicas.checkpoints.forget_deleted()
            logger.info("%s is in %s", partition.name, move.directory.path)
            self.replicas.note_directory(partition)

    def _retire(self, move: DirectoryMove, future: Log) -> None:
        """Take away the name by which the next start would begin the move again, and delete the copy soon."""
        path = future.directory
        with suppress(OSError):  # of a failed disk
            path = move.directory.retire_partition(os.path.basename(path), self.replicas.world.new_uuid())
        self.replicas.retired.append(path)

    def _goes_on(self, move: DirectoryMove) -> bool:
        return move.is_wanted and self.replicas.holds(move.partition)

    def _copy(self, move: DirectoryMove, future: Log) -> int:
        """Copy a piece of the log and return its bytes; 0 if the copy has everything.

        Raises KafkaError, CORRUPT_MESSAGE where the log is damaged, and OSError.
        """
        try:
            return self._copy_piece(move, future)
        except CorruptBatch as damage:
            log = move.partition.log
            offset = max(future.log_end_offset, log.log_start_offset)
            message = f"{log.segments.path_of(offset)}: damaged at offset {offset}: {damage}"
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, message) from damage

    def _copy_piece(self, move: DirectoryMove, future: Log) -> int:
        log = move.partition.log
        future.config = log.config
        if move.is_outdated:
            self._begin(move, future)
        copied = 0
        offset = max(future.log_end_offset, log.log_start_offset)  # the copy begins with the batch that has the start
        piece = log.read(offset, COPIED_AT_ONCE_BYTES, log.log_end_offset)
        if piece.length:
            batches = _sound_batches(os.pread(piece.file.fileno(), piece.length, piece.position))
            future.append_as_follower(batches, self.replicas.world.clock.now_ms())
            copied = len(batches)
        elif future.log_end_offset < log.log_end_offset:  # compaction has emptied the end of the log
            future.roll(log.log_end_offset)
            future.log_end_offset = log.log_end_offset
        future.delete_records(min(log.log_start_offset, future.log_end_offset))
        return copied

    def _begin(self, move: DirectoryMove, future: Log) -> None:
        """Begin the copy, or begin it again, with the first batch of the log. Raises CorruptBatch."""
        log = move.partition.log
        move.cuts = log.cuts
        first = log.read(log.log_start_offset, 1, log.log_end_offset)
        if first.length:
            start = parse_header(os.pread(first.file.fileno(), first.length, first.position)).base_offset
        else:
            start = log.log_end_offset
        if future.log_end_offset or start:
            future.truncate_fully_and_start_at(start)

    def _complete(self, move: DirectoryMove, future: Log) -> bool:
        """Let the copy take the place of the log, in one step of the event loop.

        Return False if it lacks much again, or must begin again.

        Raises:
            StorageError: The copy could not take the place. The next start completes the move.
            KafkaError, OSError: As ``_copy``, or the copy cannot be made durable. The log stays.
        """
        partition, replicas = move.partition, self.replicas
        log, now_ms = partition.log, replicas.world.clock.now_ms()
        if move.is_outdated:
            return False
        copied = 0
        while last := self._copy(move, future):
            copied += last
            if copied > COPIED_AT_ONCE_BYTES:
                return False
        if log.must_flush or future.recovery_point < log.recovery_point:
            # The log has synced the last records, or syncs them now. The copy has at most a MiB to sync. During a flush
            # on a thread more records would come, and the move might never end.
            future.flush()
        future.producers = log.producers  # also those whose records retention has deleted
        future.complete()
        mark_complete(future.directory)
        future.abandon()
        log.abandon()
        origin, target = replicas.opener.directory_of(log), move.directory.path
        try:
            replicas.retired.append(origin.retire_partition(partition.name, replicas.world.new_uuid()))
            sync_directory(origin.path)  # a power cut must not leave two logs of one name
            take_name(future.directory, partition.name)
            moved = Log.open(
                target,
                partition.name,
                log.config,
                now_ms=now_ms,
                last_stop=LastStop.CLEAN,
                recovery_point=future.recovery_point,
                log_start_offset=log.log_start_offset,
            )
        except OSError as error:
            why = f"{error.filename or target}: {error.strerror or error}"
            raise StorageError(f"{partition.name} cannot move to {target}: {why}; start the node again") from error
        moved.producers = log.producers  # a snapshot has only the last batch of each, and no unreplicated marker
        moved.segments.moved = True
        replicas.rehost(partition, moved)
        return True


def _sound_batches(data: bytes) -> bytes:
    """Return the batches at the start of ``data``, up to a damaged one, or to as many as are copied at once.

    Checks each batch, because the move deletes the original. Raises CorruptBatch if the first batch is damaged.
    """
    if not data:
        raise TruncatedBatch("the file ends before the log does")
    end = cost = 0
    try:
        for position, header in iter_headers(data):
            check_batch(data, position, header)
            end = position + header.size
            cost += _BATCH_BYTES + header.size
            if cost >= COPIED_AT_ONCE_BYTES:
                break
    except CorruptBatch:
        if not end:
            raise
    return data[:end]
