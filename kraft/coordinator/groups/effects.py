"""The requests that the coordinator takes, and the effects of a step.

The driver performs effects in field order: append, then reply, then sleep. ``replies_once_committed`` wait until the
records of the step are committed.
"""

from __future__ import annotations

from typing import Any

import attrs

from kraft.coordinator.groups.group import NO_DEADLINE, Token
from kraft.coordinator.groups.records import CoordinatorRecord


@attrs.frozen
class GroupRequest:
    """A request to the coordinator. ``message`` is the decoded body, ``version`` the API version."""

    token: Token
    message: Any
    version: int
    client_id: str = ""
    client_host: str = ""


@attrs.define
class CoordinatorEffects:
    append: list[CoordinatorRecord] = attrs.Factory(list)
    replies_once_committed: list[tuple[Token, Any]] = attrs.Factory(list)
    replies: list[tuple[Token, Any]] = attrs.Factory(list)
    deadline: float = NO_DEADLINE
