"""Generated from spec/FindCoordinatorRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["FindCoordinatorRequest"]


class FindCoordinatorRequest(Message):
    """FindCoordinatorRequest (request of API 10): versions 0-6, flexible from 3.

    v1 adds the key type (transactions), v4 asks for several keys at once, v6 adds share groups (KIP-932).

    Attributes:
        key (0-3): Group id or transactional id.
        key_type (1+): What the keys are: 0 group, 1 transaction, 2 share partition.
        coordinator_keys (4+): Group ids, transactional ids or share partition keys.
    """

    API_KEY: ClassVar[int] = 10
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("key", "key_type", "coordinator_keys")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("key", "string", versions=(0, 3)),
        Field("key_type", "int8", versions=(1, OPEN)),
        Field("coordinator_keys", "[]string", versions=(4, OPEN)),
    )

    def __init__(
        self,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] = NEW,
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = [] if coordinator_keys is NEW else coordinator_keys
