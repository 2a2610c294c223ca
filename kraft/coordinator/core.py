"""The interface of a coordinator's core, which decides on the events of one partition of an internal topic.

The groups, the transactions and the states of share partitions have one core each, and ``kraft.coordination.shard``
drives all three. The driver performs the effects of a step in this order: append, reply, then the effects that only
this core has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import attrs

from kraft.metadata.steps import Steps
from kraft.records.batch import NO_PRODUCER_ID
from kraft.records.control import EndTransactionMarker

NO_DEADLINE = math.inf
Token = object
"""Identifies a pending request to the driver."""


class WrittenRecord(Protocol):
    """A record that a core appends. A value of None is a tombstone. The key and the value are read once."""

    @property
    def key(self) -> bytes: ...
    @property
    def value(self) -> bytes | None: ...


R = TypeVar("R", bound=WrittenRecord)


class StoredRecord(NamedTuple):
    """A record that a core loads from the log. ``producer_id`` is that of a transaction.

    The marker that ends a transaction has neither key nor value. It has ``is_committed``: False if it aborts.
    """

    key: bytes | None
    value: bytes | None
    producer_id: int = NO_PRODUCER_ID
    is_committed: bool | None = None
    offset: int = -1


@attrs.frozen
class CoordinatorRequest:
    """A request to the coordinator. ``message`` is the decoded body, ``version`` the API version."""

    token: Token
    message: Any
    version: int
    client_id: str = ""
    client_host: str = ""


@attrs.frozen
class TransactionalBatch:
    """The producer whose transaction a batch belongs to. A control batch has the marker that ends the transaction."""

    producer_id: int
    producer_epoch: int
    marker: EndTransactionMarker | None = None


@attrs.frozen
class Committed(Generic[R]):
    """Records of an earlier step are committed, in the order in which they were appended, from ``base_offset`` on."""

    records: list[R]
    base_offset: int = -1


@attrs.frozen
class CoordinatorDeadlineReached:
    """The deadline of the last step has passed."""


@attrs.define
class CoordinatorEffects(Generic[R]):
    """The effects of one step. A core may extend this class with effects of its own.

    ``append`` is one batch, of a transaction if ``transactional`` is set. ``replies_once_committed`` wait until it is
    committed, and ``replies`` do not. The effects of the core's own wait, too. A step without records has nothing to
    wait for. A reply is a response or a KafkaError.
    """

    append: list[R] = attrs.Factory(list)
    replies_once_committed: list[tuple[Token, Any]] = attrs.Factory(list)
    replies: list[tuple[Token, Any]] = attrs.Factory(list)
    deadline: float = NO_DEADLINE
    transactional: TransactionalBatch | None = None

    def waiting_for_commit(self) -> list[Token]:
        """Return the requests that go on once ``append`` is committed."""
        return [token for token, _ in self.replies_once_committed]


E = TypeVar("E", contravariant=True)
F = TypeVar("F", bound=CoordinatorEffects[Any])


class CoordinatorCore(Protocol[E, F]):
    """A core with the events ``E`` and the effects ``F``. ``now`` and deadlines are seconds of one clock: of
    ``Clock.now_s``, or of the system's if all times of the core are timestamps of records.

    The life of a core: :meth:`load`, :meth:`begin`, :meth:`in_steps` for each event, :meth:`unload`. The core of an
    empty log is stepped at once. The events of every core are :class:`CoordinatorRequest`, :class:`Committed` and
    :class:`CoordinatorDeadlineReached`. Each method that returns :data:`Steps` yields costs, so that the driver lets
    other tasks run in between. No other method of the same core runs meanwhile, except readers of its state.
    """

    @property
    def deadline(self) -> float:
        """When the next :class:`CoordinatorDeadlineReached` is due, or ``NO_DEADLINE``."""
        ...

    def new_effects(self) -> F:
        """Return effects without content, for :meth:`begin` and :meth:`in_steps` to fill."""
        ...

    def load(self, records: Iterable[StoredRecord]) -> Steps[None]:
        """Replay the log. Each cost is the size of a record in bytes, or as much work.

        Raises DecodeError if a record is damaged.
        """
        ...

    def begin(self, now: float, effects: F) -> Steps[None]:
        """Start the timeouts of the loaded state, and resume what it left unfinished. Costs as in :meth:`load`.

        All loaded records are committed. Only the core's own effects are performed: nothing is appended or replied.
        """
        ...

    def in_steps(self, now: float, event: E, effects: F) -> Steps[None]:
        """Decide on one event, and fill ``effects``. Each cost is 1 for some 10 µs of work.

        The decision counts at once: the next events see it before it is committed. A step for :class:`Committed`
        appends nothing. If an append fails, the driver discards the core and loads the partition again.
        """
        ...

    def unload(self) -> Steps[None]:
        """Free what takes long to free. Costs as in :meth:`load`."""
        ...

    def waiting(self) -> list[Token]:
        """Return the tokens of the requests that the core has neither answered nor passed on in effects."""
        ...
