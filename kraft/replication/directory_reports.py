"""Reports of the directories of replicas to the controller (KIP-858, AssignReplicasToDirs).

The controller assigns the directory of a new replica only if its broker has one directory. Without a report it would
elect a replica whose directory is removed, and which begins anew in another one.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from itertools import islice
from typing import Any, Final
from uuid import UUID

import attrs
import trio

from kraft.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.replicas")

_REPORTED_AT_ONCE: Final = 2_250
"""The replicas of one report, as in Apache's ``AssignmentsManager``, which has these pauses, too."""
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 10.0


@attrs.define(eq=False)
class DirectoryReports:
    """Reports what ``Replicas.note_directory`` notes. ``assign`` sends a request to the controller."""

    replicas: Replicas
    assign: Callable[[Any], Awaitable[Any]]

    async def run(self) -> None:
        """Report directories, each until the controller has it."""
        pause_s = _FIRST_PAUSE_S
        while True:
            await self.replicas.directory_noted.wait()
            while self.replicas.broker_epoch < 0:
                await self.replicas.roles_changed.wait()
            if await self._report():
                pause_s = _FIRST_PAUSE_S
            else:
                await trio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            if not self.replicas.unreported:
                self.replicas.directory_noted = trio.Event()

    def _directory_id(self, partition: HostedPartition) -> UUID:
        return self.replicas.opener.directory_of(partition.log).directory_id

    async def _report(self) -> bool:
        """Send one report. Return False if the controller did not take all of it."""
        unreported = self.replicas.unreported
        for partition in [each for each in unreported if not self.replicas.holds(each)]:
            del unreported[partition]
        reported = {each: self._directory_id(each) for each in islice(unreported, _REPORTED_AT_ONCE)}
        if not reported:
            return True
        try:
            response = await self.assign(self._request(reported))
            if response.error_code:
                raise KafkaError(ErrorCode(response.error_code))
        except KafkaError as refused:
            what = "the controller does not know the directories of %d replicas, trying again: %s"
            logger.warning(what, len(reported), refused)
            return False
        codes = {
            (topic.topic_id, each.partition_index): ErrorCode(each.error_code)
            for directory in response.directories
            for topic in directory.topics
            for each in topic.partitions
        }
        is_taken = True
        for partition, directory_id in reported.items():
            code = codes.get((partition.topic_id, partition.index), ErrorCode.UNKNOWN_SERVER_ERROR)
            del unreported[partition]
            if code:
                logger.warning(
                    "the controller does not know the directory of %s, trying again: %s", partition.name, code.name
                )
                is_taken = False
            if code or (self.replicas.holds(partition) and self._directory_id(partition) != directory_id):
                unreported[partition] = None  # behind the others
        return is_taken

    def _request(self, reported: Mapping[HostedPartition, UUID]) -> AssignReplicasToDirsRequest:
        directories: dict[UUID, dict[UUID, TopicData]] = {}
        for partition, directory_id in reported.items():
            topics = directories.setdefault(directory_id, {})
            topic = topics.setdefault(partition.topic_id, TopicData(partition.topic_id))
            topic.partitions.append(PartitionData(partition.index))
        return AssignReplicasToDirsRequest(
            self.replicas.node_id,
            self.replicas.broker_epoch,
            [DirectoryData(directory_id, list(topics.values())) for directory_id, topics in directories.items()],
        )
