"""The records in flight of a share partition, as runs of offsets that are in the same state."""

from __future__ import annotations

import enum
import math
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import attrs

NO_LOCK = math.inf
NO_MEMBER = ""


class RecordState(enum.IntEnum):
    """The state of a record in a share group, with Kafka's codes."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4

    @property
    def is_terminal(self) -> bool:
        return self in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class StateChange(NamedTuple):
    """The state of the records from ``first_offset`` to ``last_offset`` that the share coordinator is to keep."""

    first_offset: int
    last_offset: int
    state: int
    delivery_count: int


@attrs.define(eq=False)
class ShareTransition:
    """Changes that hold once the share coordinator has written them. Otherwise they are taken back."""

    changes: list[StateChange] = attrs.Factory(list)
    runs: list[Run] = attrs.Factory(list)


@attrs.define(eq=False)
class Run:
    """Records ``first`` to ``last``. While ``transition`` is set, ``before`` is their state without it."""

    first: int
    last: int
    state: RecordState = RecordState.AVAILABLE
    deliveries: int = 0
    member_id: str = NO_MEMBER
    locked_until: float = NO_LOCK
    transition: ShareTransition | None = None
    before: tuple[RecordState, str] | None = None

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def is_free(self) -> bool:
        return self.state is RecordState.AVAILABLE and self.transition is None

    @property
    def is_done(self) -> bool:
        return self.state.is_terminal and self.transition is None

    def lock(self, member_id: str, until: float) -> None:
        self.state, self.member_id, self.locked_until = RecordState.ACQUIRED, member_id, until
        self.deliveries += 1

    def leave(self, state: RecordState) -> None:
        """Enter another state, which nobody holds."""
        self.state, self.member_id, self.locked_until = state, NO_MEMBER, NO_LOCK

    def freed(self, max_deliveries: int) -> RecordState:
        """Return the state after the lock ends without an outcome."""
        return RecordState.ARCHIVED if self.deliveries >= max_deliveries else RecordState.AVAILABLE

    def begin(self, transition: ShareTransition, state: RecordState) -> None:
        """Enter another state with a transition. The lock goes on, in case the transition is taken back."""
        self.transition, self.before = transition, (self.state, self.member_id)
        self.state, self.member_id = state, NO_MEMBER
        transition.changes.append(StateChange(self.first, self.last, state, self.deliveries))
        transition.runs.append(self)

    def finish(self, now: float, max_deliveries: int, *, committed: bool) -> None:
        """End the transition. A lock that ended meanwhile does not come back."""
        assert self.before is not None
        if committed:
            self.leave(self.state)
        elif self.locked_until <= now:
            self.leave(self.freed(max_deliveries))
        else:
            self.state, self.member_id = self.before
        self.transition = self.before = None


@attrs.define
class Runs:
    """Consecutive runs, without gaps, in the order of their offsets."""

    items: list[Run] = attrs.Factory(list)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.items)

    def cut(self, first: int, last: int) -> list[Run]:
        """Return the runs of exactly these offsets. Runs that go further are split. Offsets outside count not."""
        self._split(first)
        self._split(last + 1)
        begin = bisect_right(self.items, first - 1, key=_first)
        return self.items[begin : bisect_right(self.items, last, key=_first)]

    def overlapping(self, first: int, last: int) -> list[Run]:
        """Return the runs with any of these offsets, unsplit."""
        begin = max(bisect_right(self.items, first, key=_first) - 1, 0)
        found = self.items[begin : bisect_right(self.items, last, key=_first)]
        return found[1:] if found and found[0].last < first else found

    def _split(self, offset: int) -> None:
        """Make ``offset`` the first one of a run, if any run contains it."""
        index = bisect_right(self.items, offset, key=_first) - 1
        if index >= 0 and self.items[index].first < offset <= self.items[index].last:
            run = self.items[index]
            rest = attrs.evolve(run, first=offset)
            run.last = offset - 1
            self.items.insert(index + 1, rest)
            if rest.transition is not None:
                rest.transition.runs.append(rest)

    def drop_before(self, offset: int) -> None:
        self._split(offset)
        del self.items[: bisect_right(self.items, offset - 1, key=_first)]


def _first(run: Run) -> int:
    return run.first
