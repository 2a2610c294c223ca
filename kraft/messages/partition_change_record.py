"""Generated from spec/PartitionChangeRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["PartitionChangeRecord"]


class PartitionChangeRecord(Message):
    """PartitionChangeRecord (metadata record, type 5): versions 0-2, flexible from 0.

    v1 adds directories, v2 eligible leader replicas. A field left at its default means no change.

    Attributes:
        partition_id: Number of the partition in its topic.
        topic_id: Id of the topic.
        isr: New in-sync replicas; null if unchanged.
        leader: New leader; -1 for none, -2 if unchanged.
        replicas: New replicas; null if unchanged.
        removing_replicas: Replicas a reassignment will remove; null if unchanged.
        adding_replicas: Replicas a reassignment will add; null if unchanged.
        leader_recovery_state: 0 recovered, 1 recovering, -1 if unchanged.
        directories (1+): Log directory of each replica, in the order of the replicas; null if unchanged.
        eligible_leader_replicas (2+): New eligible leaders; null if unchanged.
        last_known_elr (2+): New last-known eligible leaders; null if unchanged.
    """

    API_KEY: ClassVar[int] = 5
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "partition_id",
        "topic_id",
        "isr",
        "leader",
        "replicas",
        "removing_replicas",
        "adding_replicas",
        "leader_recovery_state",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_id", "int32", default=-1),
        Field("topic_id", "uuid"),
        Field("isr", "[]int32", nullable=(0, OPEN), tag=0, tagged=(0, OPEN), default=None),
        Field("leader", "int32", tag=1, tagged=(0, OPEN), default=-2),
        Field("replicas", "[]int32", nullable=(0, OPEN), tag=2, tagged=(0, OPEN), default=None),
        Field("removing_replicas", "[]int32", nullable=(0, OPEN), tag=3, tagged=(0, OPEN), default=None),
        Field("adding_replicas", "[]int32", nullable=(0, OPEN), tag=4, tagged=(0, OPEN), default=None),
        Field("leader_recovery_state", "int8", tag=5, tagged=(0, OPEN), default=-1),
        Field("directories", "[]uuid", versions=(1, OPEN), nullable=(1, OPEN), tag=8, tagged=(1, OPEN), default=None),
        Field(
            "eligible_leader_replicas",
            "[]int32",
            versions=(2, OPEN),
            nullable=(2, OPEN),
            tag=6,
            tagged=(2, OPEN),
            default=None,
        ),
        Field(
            "last_known_elr", "[]int32", versions=(2, OPEN), nullable=(2, OPEN), tag=7, tagged=(2, OPEN), default=None
        ),
    )

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: UUID = ZERO_UUID,
        isr: list[int] | None = None,
        leader: int = -2,
        replicas: list[int] | None = None,
        removing_replicas: list[int] | None = None,
        adding_replicas: list[int] | None = None,
        leader_recovery_state: int = -1,
        directories: list[UUID] | None = None,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.isr = isr
        self.leader = leader
        self.replicas = replicas
        self.removing_replicas = removing_replicas
        self.adding_replicas = adding_replicas
        self.leader_recovery_state = leader_recovery_state
        self.directories = directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
