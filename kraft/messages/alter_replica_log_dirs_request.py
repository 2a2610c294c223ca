"""Generated from spec/AlterReplicaLogDirsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["AlterReplicaLogDir", "AlterReplicaLogDirTopic", "AlterReplicaLogDirsRequest"]


class AlterReplicaLogDirTopic(Message):
    """What the directory shall hold, by topic. (0+)

    Attributes:
        name: Name of the topic.
        partitions: Numbers of the partitions to move.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]int32"),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class AlterReplicaLogDir(Message):
    """Where the replicas shall move, by directory. (0+)

    Attributes:
        path: Absolute path of the directory.
        topics: What the directory shall hold, by topic.
    """

    __slots__ = ("path", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("path", "string"),
        Field("topics", "[]struct", AlterReplicaLogDirTopic),
    )

    def __init__(
        self,
        path: str = "",
        topics: list[AlterReplicaLogDirTopic] = NEW,
    ) -> None:
        self.path = path
        self.topics = [] if topics is NEW else topics


class AlterReplicaLogDirsRequest(Message):
    """AlterReplicaLogDirsRequest (request of API 34): versions 0-2, flexible from 2.

    Attributes:
        dirs: Where the replicas shall move, by directory.
    """

    API_KEY: ClassVar[int] = 34
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("dirs",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("dirs", "[]struct", AlterReplicaLogDir),)

    def __init__(
        self,
        dirs: list[AlterReplicaLogDir] = NEW,
    ) -> None:
        self.dirs = [] if dirs is NEW else dirs
