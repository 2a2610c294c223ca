"""The next state of a partition, and the record for it. Only this module chooses leaders.

A leader comes from the ISR, from active brokers, and from directories that have not failed. The last member of an ISR
stays in it when it goes, because it has every acknowledged record; the partition then has no leader until it returns. A
topic with unclean.leader.election.enable gives up that guarantee for a leader. An unclean election on request may even
choose the last member of an ISR after its disk was replaced.

A reassignment (KIP-455) is complete as soon as every target replica is in sync. The change that makes it so completes
it in the same record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any
from uuid import UUID

import attrs

from kraft.controller.context import Context
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.image import DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED, Topic
from kraft.metadata.levels import DIRECTORIES, EPOCH_OUTLIVES_ISR
from kraft.metadata.partitions import NO_LEADER, RECOVERING, Partition


class Election(Enum):
    """The kinds of replicas that an election may choose."""

    PREFERRED = "the first replica if it can lead"
    ONLINE = "the present leader if it can lead, else the first replica that can"
    UNCLEAN = "as ONLINE, but rather a replica that is out of sync, or whose directory is gone, than none"
    CONFIGURED = "as ONLINE, but rather a replica that is out of sync than none where the topic allows it"


@attrs.frozen
class Target:
    """The wanted state of a partition, without its leader. ``directories``: of replicas that have chosen a new one."""

    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    leader_recovery_state: int
    directories: Mapping[int, UUID]

    @classmethod
    def of(
        cls,
        partition: Partition,
        *,
        isr: Sequence[int] | None = None,
        replicas: Sequence[int] | None = None,
        removing: Sequence[int] | None = None,
        adding: Sequence[int] | None = None,
        recovery_state: int | None = None,
        directories: Mapping[int, UUID] | None = None,
    ) -> Target:
        """The present state of ``partition``, with the given fields replaced."""
        return cls(
            isr=partition.isr if isr is None else tuple(isr),
            replicas=partition.replicas if replicas is None else tuple(replicas),
            removing_replicas=partition.removing_replicas if removing is None else tuple(removing),
            adding_replicas=partition.adding_replicas if adding is None else tuple(adding),
            leader_recovery_state=partition.leader_recovery_state if recovery_state is None else recovery_state,
            directories=directories or {},
        )

    def completed(self) -> Target:
        """This target, with the reassignment completed if all target replicas are in sync."""
        if not self.removing_replicas and not self.adding_replicas:
            return self
        replicas = tuple(replica for replica in self.replicas if replica not in self.removing_replicas)
        isr = tuple(replica for replica in self.isr if replica not in self.removing_replicas)
        if not replicas or not set(replicas) <= set(isr):
            return self
        return attrs.evolve(self, isr=isr, replicas=replicas, removing_replicas=(), adding_replicas=())


def partition_change(
    context: Context,
    topic: Topic,
    index: int,
    target: Target,
    election: Election,
) -> PartitionChangeRecord | None:
    """Return the record that brings a partition to ``target`` and elects a leader, or None if nothing changes."""
    partition = topic.partitions[index]
    target = target.completed()

    def able(replica: int) -> bool:
        if replica not in context.active:
            return False
        return context.image.brokers[replica].has_online(_directory(context, partition, target, replica))

    leader = _choose(partition, target, election, able)
    if leader == NO_LEADER and _may_be_unclean(context, topic, election):
        leader = next(filter(able, target.replicas), NO_LEADER)
        if leader == NO_LEADER and election is Election.UNCLEAN:
            # The directory may have been on a replaced disk. The broker does not report an empty log in the ISR.
            leader = next(filter(context.active.__contains__, target.isr), NO_LEADER)
        if leader != NO_LEADER:
            target = attrs.evolve(target, isr=(leader,), leader_recovery_state=RECOVERING).completed()
    changes = _differences(context, partition, target, leader)
    if context.level >= DIRECTORIES and (target.directories or target.replicas != partition.replicas):
        directories = [_directory(context, partition, target, replica) for replica in target.replicas]
        if directories != list(partition.directories):
            changes["directories"] = directories
    return PartitionChangeRecord(topic_id=topic.id, partition_id=index, **changes) if changes else None


def _choose(partition: Partition, target: Target, election: Election, able: Callable[[int], bool]) -> int:
    """The leader of a clean election."""

    def eligible(replica: int) -> bool:
        return replica in target.isr and able(replica)

    if election is Election.PREFERRED and eligible(target.replicas[0]):
        return target.replicas[0]
    if partition.leader in target.replicas and eligible(partition.leader):
        return partition.leader
    return next(filter(eligible, target.replicas), NO_LEADER)


def _differences(context: Context, partition: Partition, target: Target, leader: int) -> dict[str, Any]:
    """The fields of the record, without the directories."""
    changes: dict[str, Any] = {}
    if leader != partition.leader or _must_know(context, partition, target):
        changes["leader"] = leader
    if target.isr and target.isr != partition.isr:
        changes["isr"] = list(target.isr)
    if target.replicas != partition.replicas:
        changes["replicas"] = list(target.replicas)
    if target.removing_replicas != partition.removing_replicas:
        changes["removing_replicas"] = list(target.removing_replicas)
    if target.adding_replicas != partition.adding_replicas:
        changes["adding_replicas"] = list(target.adding_replicas)
    if target.leader_recovery_state != partition.leader_recovery_state:
        changes["leader_recovery_state"] = target.leader_recovery_state
    return changes


def _must_know(context: Context, partition: Partition, target: Target) -> bool:
    """Whether a leader that stays must learn by a new leader epoch that a replica has left."""
    if target.replicas != partition.replicas and not set(partition.replicas) <= set(target.replicas):
        return True
    shrinks = target.isr and target.isr != partition.isr and not set(partition.isr) <= set(target.isr)
    return bool(shrinks) and context.level < EPOCH_OUTLIVES_ISR


def _may_be_unclean(context: Context, topic: Topic, election: Election) -> bool:
    return election is Election.UNCLEAN or (election is Election.CONFIGURED and context.allows_unclean(topic.name))


def _directory(context: Context, partition: Partition, target: Target, replica: int) -> UUID:
    """The directory of a replica of the target."""
    chosen = target.directories.get(replica)
    if chosen is not None:
        return chosen
    return partition.directory(replica) if replica in partition.replicas else default_directory(context, replica)


def default_directory(context: Context, broker_id: int) -> UUID:
    """The directory of a new replica: its broker's only one, or UNASSIGNED until the broker reports it (KIP-858)."""
    if context.level < DIRECTORIES:
        return DIRECTORY_MIGRATING
    broker = context.image.brokers.get(broker_id)
    directories = () if broker is None else broker.log_dirs
    if broker is not None and not directories:
        return DIRECTORY_MIGRATING
    return directories[0] if len(directories) == 1 else DIRECTORY_UNASSIGNED
