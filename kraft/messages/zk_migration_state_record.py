"""Generated from spec/ZkMigrationStateRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["ZkMigrationStateRecord"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ZkMigrationStateRecord(Message):
    """ZkMigrationStateRecord (metadata record, type 21): versions 0, flexible from 0.

    Attributes:
        zk_migration_state: 0 none, 1 pre-migration, 2 migrating, 3 post-migration.
    """

    API_KEY: ClassVar[int] = 21
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    zk_migration_state: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("zk_migration_state", "int8"),)
