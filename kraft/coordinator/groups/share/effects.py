"""The requests of the group coordinator to the share coordinator, which keeps the state of share partitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

import attrs

from kraft.coordinator.core import Token
from kraft.wire.errors import ErrorCode

NO_START_OFFSET = -1
"""The first reader of the partition begins where ``share.auto.offset.reset`` says."""


@attrs.frozen(eq=False)
class InitializeStates:
    """Make the states of partitions, with their start offsets. ``state_epoch`` is the group epoch.

    If a client waits, ``token`` is its request and ``response`` its response if nothing fails.
    """

    group_id: str
    state_epoch: int
    start_offsets: Mapping[UUID, Mapping[int, int]]
    token: Token | None = None
    response: Any = None

    @property
    def topics(self) -> Collection[UUID]:
        return self.start_offsets.keys()


@attrs.frozen(eq=False)
class DeleteStates:
    """Delete the states of partitions, for the client whose request is ``token``.

    ``response`` has the topics of DeleteShareGroupOffsets without a state. It is None if the group shall be deleted.
    """

    group_id: str
    partitions: Mapping[UUID, frozenset[int]]
    token: Token
    response: Any = None

    @property
    def topics(self) -> Collection[UUID]:
        return self.partitions.keys()


StateRequest = InitializeStates | DeleteStates


@attrs.frozen
class StatesAnswered:
    """The share coordinator has answered. ``errors`` are the partitions that failed."""

    request: StateRequest
    errors: Mapping[tuple[UUID, int], ErrorCode]
