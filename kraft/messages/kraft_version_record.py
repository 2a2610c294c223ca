"""Generated from spec/KRaftVersionRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["KRaftVersionRecord"]


class KRaftVersionRecord(Message):
    """KRaftVersionRecord (data): versions 0, flexible from 0.

    Attributes:
        version: Version of this record's layout.
        kraft_version: The kraft.version from here on.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("version", "kraft_version")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("version", "int16"),
        Field("kraft_version", "int16", json_name="kRaftVersion"),
    )

    def __init__(
        self,
        version: int = 0,
        kraft_version: int = 0,
    ) -> None:
        self.version = version
        self.kraft_version = kraft_version
