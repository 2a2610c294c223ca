"""Generated from spec/FindCoordinatorResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["Coordinator", "FindCoordinatorResponse"]


class Coordinator(Message):
    """Answer per key. (4+)

    Attributes:
        key (4+): Key asked for.
        node_id (4+): Coordinator's broker id.
        host (4+): Coordinator's host name.
        port (4+): Coordinator's port.
        error_code (4+): Error of this key, 0 if the coordinator is known.
        error_message (4+): More about the error, or null.
    """

    __slots__ = ("key", "node_id", "host", "port", "error_code", "error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("key", "string", versions=(4, OPEN)),
        Field("node_id", "int32", versions=(4, OPEN)),
        Field("host", "string", versions=(4, OPEN)),
        Field("port", "int32", versions=(4, OPEN)),
        Field("error_code", "int16", versions=(4, OPEN)),
        Field("error_message", "string", versions=(4, OPEN), nullable=(4, OPEN), ignorable=True),
    )

    def __init__(
        self,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message


class FindCoordinatorResponse(Message):
    """FindCoordinatorResponse (response of API 10): versions 0-6, flexible from 3.

    v4 answers per key.

    Attributes:
        throttle_time_ms (1+): Time the client was held back by a quota, in milliseconds.
        error_code (0-3): Error, 0 if the coordinator is known.
        error_message (1-3): More about the error, or null.
        node_id (0-3): Coordinator's broker id.
        host (0-3): Coordinator's host name.
        port (0-3): Coordinator's port.
        coordinators (4+): Answer per key.
    """

    API_KEY: ClassVar[int] = 10
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "node_id", "host", "port", "coordinators")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(1, OPEN), ignorable=True),
        Field("error_code", "int16", versions=(0, 3)),
        Field("error_message", "string", versions=(1, 3), nullable=(1, 3), ignorable=True),
        Field("node_id", "int32", versions=(0, 3)),
        Field("host", "string", versions=(0, 3)),
        Field("port", "int32", versions=(0, 3)),
        Field("coordinators", "[]struct", Coordinator, versions=(4, OPEN)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[Coordinator] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators = [] if coordinators is NEW else coordinators
