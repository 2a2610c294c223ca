"""Generated from spec/PartitionRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["PartitionRecord"]


class PartitionRecord(Message):
    """PartitionRecord (metadata record, type 3): versions 0-2, flexible from 0.

    v1 adds directories, v2 eligible leader replicas.

    Attributes:
        partition_id: Number of the partition in its topic.
        topic_id: Id of the topic.
        replicas: Brokers that hold a replica, preferred leader first.
        isr: Replicas in sync with the leader.
        removing_replicas: Replicas a reassignment will remove.
        adding_replicas: Replicas a reassignment will add.
        leader: Id of the leader, or -1.
        leader_recovery_state: 0 recovered, 1 recovering from an unclean election.
        leader_epoch: Grows with every change of leader.
        partition_epoch: Version of the partition's state; each change adds one.
        directories (1+): Log directory of each replica, in the order of Replicas.
        eligible_leader_replicas (2+): Replicas outside the ISR that still hold all committed records, or null.
        last_known_elr (2+): The eligible leaders known last, or null.
    """

    API_KEY: ClassVar[int] = 3
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "partition_id",
        "topic_id",
        "replicas",
        "isr",
        "removing_replicas",
        "adding_replicas",
        "leader",
        "leader_recovery_state",
        "leader_epoch",
        "partition_epoch",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_id", "int32", default=-1),
        Field("topic_id", "uuid"),
        Field("replicas", "[]int32"),
        Field("isr", "[]int32"),
        Field("removing_replicas", "[]int32"),
        Field("adding_replicas", "[]int32"),
        Field("leader", "int32", default=-1),
        Field("leader_recovery_state", "int8", tag=0, tagged=(0, OPEN)),
        Field("leader_epoch", "int32", default=-1),
        Field("partition_epoch", "int32", default=-1),
        Field("directories", "[]uuid", versions=(1, OPEN)),
        Field(
            "eligible_leader_replicas",
            "[]int32",
            versions=(2, OPEN),
            nullable=(2, OPEN),
            tag=1,
            tagged=(2, OPEN),
            default=None,
        ),
        Field(
            "last_known_elr", "[]int32", versions=(2, OPEN), nullable=(2, OPEN), tag=2, tagged=(2, OPEN), default=None
        ),
    )

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: UUID = ZERO_UUID,
        replicas: list[int] = NEW,
        isr: list[int] = NEW,
        removing_replicas: list[int] = NEW,
        adding_replicas: list[int] = NEW,
        leader: int = -1,
        leader_recovery_state: int = 0,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: list[UUID] = NEW,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.replicas = [] if replicas is NEW else replicas
        self.isr = [] if isr is NEW else isr
        self.removing_replicas = [] if removing_replicas is NEW else removing_replicas
        self.adding_replicas = [] if adding_replicas is NEW else adding_replicas
        self.leader = leader
        self.leader_recovery_state = leader_recovery_state
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.directories = [] if directories is NEW else directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
