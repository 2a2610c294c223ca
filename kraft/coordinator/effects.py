"""What a step of the coordinator asks of its driver, and the requests that it takes.

Effects are performed in field order: append, then reply, then sleep. A reply that rests on what the step appends
waits until that is committed.
"""

from __future__ import annotations

from typing import Any

import attrs

from kraft.coordinator.group import NO_DEADLINE, Token
from kraft.coordinator.records import CoordinatorRecord


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
    append: list[CoordinatorRecord] = attrs.Factory(list)
    replies_once_committed: list[tuple[Token, Any]] = attrs.Factory(list)
    replies: list[tuple[Token, Any]] = attrs.Factory(list)
    deadline_ms: int = NO_DEADLINE
