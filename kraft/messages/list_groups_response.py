"""Generated from spec/ListGroupsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ListGroupsResponse", "ListedGroup"]


class ListedGroup(Message):
    """Groups this broker coordinates. (0+)

    Attributes:
        group_id: Group id.
        protocol_type: Family of protocols.
        group_state (4+): State name.
        group_type (5+): Type name: classic, consumer and so on.
    """

    __slots__ = ("group_id", "protocol_type", "group_state", "group_type")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("protocol_type", "string"),
        Field("group_state", "string", versions=(4, OPEN), ignorable=True),
        Field("group_type", "string", versions=(5, OPEN), ignorable=True),
    )

    def __init__(
        self,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type


class ListGroupsResponse(Message):
    """ListGroupsResponse (response of API 16): versions 0-5, flexible from 3.

    v4 adds the state, v5 the type.

    Attributes:
        throttle_time_ms (1+): Time the client was held back by a quota, in milliseconds.
        error_code: Error of the whole request.
        groups: Groups this broker coordinates.
    """

    API_KEY: ClassVar[int] = 16
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("throttle_time_ms", "error_code", "groups")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(1, OPEN), ignorable=True),
        Field("error_code", "int16"),
        Field("groups", "[]struct", ListedGroup),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListedGroup] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = [] if groups is NEW else groups
