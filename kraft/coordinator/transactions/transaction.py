"""The transaction of one transactional id: its producer, its partitions, and its eight statuses.

:data:`TRANSITIONS` lists all legal transitions, :meth:`Transaction.become` allows no other. A transaction is immutable:
a transition makes the next one, which replaces it once its record is committed. Names in ``_ms`` are timestamps of
records, in milliseconds.

    Empty ──> Ongoing ──> PrepareCommit ──> CompleteCommit
                     └──> PrepareAbort ───> CompleteAbort
"""

from __future__ import annotations

import enum
from typing import Any

import attrs

NO_PRODUCER_ID = -1
NO_EPOCH = -1
NO_TIMESTAMP_MS = -1
FENCING_EPOCH = 2**15 - 1
"""The epoch that fences the last producer. No producer gets it, so no request has it."""
LAST_EPOCH = FENCING_EPOCH - 1
"""The last epoch that a producer gets."""
EPOCH_BUMP_VERSION = 2
"""The first ``transaction.version`` that bumps the epoch at the end of each transaction (KIP-890)."""

TransactionPartition = tuple[str, int]


class TransactionStatus(enum.Enum):
    """The status of a transactional id. The value is the name in DescribeTransactions and ListTransactions (KIP-664).

    The order of the members is that of their numbers in the records.
    """

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    """The id has expired. Its record is a tombstone, so no record has this status."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    """The epoch is bumped and the transaction aborted in one step, so no record has this status."""


BETWEEN_TRANSACTIONS = frozenset(
    {TransactionStatus.EMPTY, TransactionStatus.COMPLETE_COMMIT, TransactionStatus.COMPLETE_ABORT}
)
PREPARED = frozenset({TransactionStatus.PREPARE_COMMIT, TransactionStatus.PREPARE_ABORT})

_ONGOING = frozenset({TransactionStatus.ONGOING})
_BEGUN = frozenset(
    {
        TransactionStatus.EMPTY,
        TransactionStatus.ONGOING,
        TransactionStatus.PREPARE_ABORT,  # transaction.version 2 aborts also if no partition was added
        TransactionStatus.DEAD,
    }
)
TRANSITIONS: dict[TransactionStatus, frozenset[TransactionStatus]] = {
    TransactionStatus.EMPTY: _BEGUN,
    TransactionStatus.ONGOING: _ONGOING | PREPARED | {TransactionStatus.PREPARE_EPOCH_FENCE},
    TransactionStatus.PREPARE_COMMIT: frozenset({TransactionStatus.COMPLETE_COMMIT}),
    TransactionStatus.PREPARE_ABORT: frozenset({TransactionStatus.COMPLETE_ABORT}),
    TransactionStatus.COMPLETE_COMMIT: _BEGUN,
    TransactionStatus.COMPLETE_ABORT: _BEGUN,
    TransactionStatus.DEAD: frozenset(),
    TransactionStatus.PREPARE_EPOCH_FENCE: frozenset({TransactionStatus.PREPARE_ABORT}),
}


@attrs.frozen
class Transaction:
    """The fields of a record of ``__transaction_state``, and ``last_epoch``, which no record has.

    ``previous_producer_id`` is the producer id before the last transition. ``next_producer_id`` replaces the producer
    id when the transaction is complete, because its epochs are exhausted. ``last_epoch`` is the epoch before the last
    bump: a request with it may be a retry. ``client_version`` is the ``transaction.version`` that the producer follows.
    """

    producer_id: int
    timeout_s: float
    updated_ms: int
    epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    status: TransactionStatus = TransactionStatus.EMPTY
    partitions: frozenset[TransactionPartition] = frozenset()
    started_ms: int = NO_TIMESTAMP_MS
    client_version: int = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether the producer id has no epoch left for a producer."""
        return self.epoch >= LAST_EPOCH

    @property
    def following_epoch(self) -> int:
        return min(self.epoch + 1, FENCING_EPOCH)

    @property
    def bumps_epoch(self) -> bool:
        return self.client_version >= EPOCH_BUMP_VERSION

    def become(self, status: TransactionStatus, now_ms: int, **changes: Any) -> Transaction:
        """Return the transaction after a transition."""
        assert status in TRANSITIONS[self.status], f"{self.status} -> {status}"
        return attrs.evolve(self, status=status, updated_ms=now_ms, previous_producer_id=self.producer_id, **changes)

    def initialized(self, now_ms: int, timeout_s: float, **changes: Any) -> Transaction:
        """Return the transaction of a producer that begins with a new epoch or a new producer id."""
        return self.become(
            TransactionStatus.EMPTY,
            now_ms,
            timeout_s=timeout_s,
            partitions=frozenset(),
            started_ms=NO_TIMESTAMP_MS,
            **changes,
        )

    def extended(self, now_ms: int, partitions: frozenset[TransactionPartition], client_version: int) -> Transaction:
        """Return the transaction with more partitions. The first ones begin it."""
        return self.become(
            TransactionStatus.ONGOING,
            now_ms,
            partitions=self.partitions | partitions,
            started_ms=self.started_ms if self.status is TransactionStatus.ONGOING else now_ms,
            client_version=client_version,
        )

    def prepared(
        self, now_ms: int, *, committed: bool, client_version: int, next_producer_id: int = NO_PRODUCER_ID
    ) -> Transaction:
        """Return the transaction with its outcome, with the next epoch if ``client_version`` bumps it (KIP-890)."""
        bumped = client_version >= EPOCH_BUMP_VERSION
        return self.become(
            TransactionStatus.PREPARE_COMMIT if committed else TransactionStatus.PREPARE_ABORT,
            now_ms,
            epoch=self.following_epoch if bumped else self.epoch,
            last_epoch=self.epoch if bumped else self.last_epoch,
            next_producer_id=next_producer_id,
            # An abort without partitions has no beginning of its own, but the record needs one.
            started_ms=self.started_ms if self.status is TransactionStatus.ONGOING else now_ms,
            client_version=client_version,
        )

    def completed(self, now_ms: int) -> Transaction:
        """Return the transaction after its markers are written. A new producer id begins with epoch 0."""
        rotates = self.bumps_epoch and self.next_producer_id != NO_PRODUCER_ID
        is_commit = self.status is TransactionStatus.PREPARE_COMMIT
        return self.become(
            TransactionStatus.COMPLETE_COMMIT if is_commit else TransactionStatus.COMPLETE_ABORT,
            now_ms,
            producer_id=self.next_producer_id if rotates else self.producer_id,
            epoch=0 if rotates else self.epoch,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
        )
