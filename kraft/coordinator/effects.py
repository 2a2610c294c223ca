"""What a step of the coordinator asks of its driver, and the requests that it takes.

Effects are performed in field order: make durable, then speak, then sleep.
"""

from __future__ import annotations

from typing import Any

import attrs

from kraft.coordinator.group import NO_DEADLINE, Token


@attrs.frozen
class Append:
    """One record for the group's partition of ``__consumer_offsets``; a None value is a tombstone."""

    group_id: str
    key: bytes
    value: bytes | None


@attrs.frozen
class GroupRequest:
    """A request as the coordinator sees it. ``message`` is the decoded body, ``version`` its version."""

    token: Token
    message: Any
    version: int
    client_id: str = ""
    client_host: str = ""


@attrs.define
class Effects:
    append: list[Append] = attrs.Factory(list)
    replies: list[tuple[Token, Any]] = attrs.Factory(list)
    deadline_ms: int = NO_DEADLINE
