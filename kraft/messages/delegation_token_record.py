"""Generated from spec/DelegationTokenRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["DelegationTokenRecord"]


class DelegationTokenRecord(Message):
    """DelegationTokenRecord (metadata record, type 10): versions 0, flexible from 0.

    Attributes:
        owner: Principal the token stands for.
        requester: Principal that asked for the token.
        renewers: Principals that may renew the token.
        issue_timestamp: When the token was made, in milliseconds since the epoch.
        max_timestamp: Past this the token cannot be renewed, in milliseconds since the epoch.
        expiration_timestamp: When the token expires unless renewed, in milliseconds since the epoch.
        token_id: Id of the token.
    """

    API_KEY: ClassVar[int] = 10
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "owner",
        "requester",
        "renewers",
        "issue_timestamp",
        "max_timestamp",
        "expiration_timestamp",
        "token_id",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("owner", "string"),
        Field("requester", "string"),
        Field("renewers", "[]string"),
        Field("issue_timestamp", "int64"),
        Field("max_timestamp", "int64"),
        Field("expiration_timestamp", "int64"),
        Field("token_id", "string"),
    )

    def __init__(
        self,
        owner: str = "",
        requester: str = "",
        renewers: list[str] = NEW,
        issue_timestamp: int = 0,
        max_timestamp: int = 0,
        expiration_timestamp: int = 0,
        token_id: str = "",
    ) -> None:
        self.owner = owner
        self.requester = requester
        self.renewers = [] if renewers is NEW else renewers
        self.issue_timestamp = issue_timestamp
        self.max_timestamp = max_timestamp
        self.expiration_timestamp = expiration_timestamp
        self.token_id = token_id
