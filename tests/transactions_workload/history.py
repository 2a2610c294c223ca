"""The history of a run: what its clients did and saw, and the logs that it left.

Each partition is a list. A transaction reads from all lists and appends to some of them. No value is written twice:
``3.17.2`` is number 2 of transaction 17 of process 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

import attrs


class Outcome(Enum):
    """How a transaction ended, as far as its client knows."""

    COMMITTED = "committed"
    """The client got the acknowledgement of its commit."""
    ABORTED = "aborted"
    """The client never asked for a commit, or got the acknowledgement of an abort after it."""
    UNKNOWN = "unknown"


@attrs.frozen
class Append:
    """A value for a list. ``acked_s`` and ``offset`` are None if no acknowledgement came."""

    partition: int
    value: str
    sent_s: float
    acked_s: float | None = None
    offset: int | None = None


@attrs.frozen
class Seen:
    """A record that a consumer with ``isolation.level=read_committed`` returned."""

    partition: int
    offset: int
    value: str


@attrs.frozen
class Transaction:
    """A transaction of one process. It also commits ``number`` as the offset of the process's group."""

    process: int
    number: int
    begun_s: float
    ended_s: float | None
    """The time of the acknowledgement; None if the outcome is unknown."""
    outcome: Outcome
    appends: tuple[Append, ...]
    reads: tuple[Seen, ...] = ()
    """The records that came since the reads of the process's last transaction."""

    @property
    def name(self) -> str:
        return f"{self.process}.{self.number}"


@attrs.frozen
class Written:
    """A record in a log."""

    offset: int
    producer_id: int
    value: str


@attrs.frozen
class Marker:
    """The end of a producer's transaction in a log."""

    offset: int
    producer_id: int
    is_commit: bool


Log = Sequence[Written | Marker]


@attrs.frozen
class History:
    """All of a run. ``final`` is read from the start by a new consumer, when everything is over."""

    transactions: Sequence[Transaction]
    logs: Mapping[int, Log]
    final: Sequence[Seen]
    group_offsets: Mapping[int, int | None]
    """By process; None if its group has none."""


def transaction_of(value: str) -> str:
    """Return the name of the transaction that wrote a value."""
    return value.rpartition(".")[0]
