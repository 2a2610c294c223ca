"""Generated from spec/ZkMigrationStateRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["ZkMigrationStateRecord"]


class ZkMigrationStateRecord(Message):
    """ZkMigrationStateRecord (metadata record, type 21): versions 0, flexible from 0.

    Attributes:
        zk_migration_state: 0 none, 1 pre-migration, 2 migrating, 3 post-migration.
    """

    API_KEY: ClassVar[int] = 21
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("zk_migration_state",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("zk_migration_state", "int8"),)

    def __init__(
        self,
        zk_migration_state: int = 0,
    ) -> None:
        self.zk_migration_state = zk_migration_state
