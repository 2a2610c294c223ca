"""Generated from spec/AlterReplicaLogDirsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["AlterReplicaLogDir", "AlterReplicaLogDirTopic", "AlterReplicaLogDirsRequest"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterReplicaLogDirTopic(Message):
    """What the directory shall hold, by topic. (0+)

    Attributes:
        name: Name of the topic.
        partitions: Numbers of the partitions to move.
    """

    name: str = ""
    partitions: list[int] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterReplicaLogDir(Message):
    """Where the replicas shall move, by directory. (0+)

    Attributes:
        path: Absolute path of the directory.
        topics: What the directory shall hold, by topic.
    """

    path: str = ""
    topics: list[AlterReplicaLogDirTopic] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("path", "string"),
        Field("topics", "[]struct", AlterReplicaLogDirTopic),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterReplicaLogDirsRequest(Message):
    """AlterReplicaLogDirsRequest (request of API 34): versions 0-2, flexible from 2.

    Attributes:
        dirs: Where the replicas shall move, by directory.
    """

    API_KEY: ClassVar[int] = 34
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    dirs: list[AlterReplicaLogDir] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("dirs", "[]struct", AlterReplicaLogDir),)
