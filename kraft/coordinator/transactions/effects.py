"""The effects of a step of the coordinator of transactions."""

from __future__ import annotations

import attrs

from kraft.coordinator.core import CoordinatorEffects
from kraft.coordinator.transactions.records import TransactionRecord
from kraft.coordinator.transactions.transaction import TransactionPartition


@attrs.frozen(eq=False)
class TransactionMarkers:
    """The markers that end one transaction: one for each partition. Its Prepare record is committed. ``version`` is
    the ``transaction.version`` that the producer followed.

    The driver sends each partition's leader a WriteTxnMarkers, and repeats it until the partition has the marker or is
    deleted. Compared by identity, because the next transaction of an id may have the same producer id and epoch.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    coordinator_epoch: int
    committed: bool
    version: int
    partitions: tuple[TransactionPartition, ...]


@attrs.define
class TransactionEffects(CoordinatorEffects[TransactionRecord]):
    """The effects of one step. A step that appends records has no ``markers``: they belong to the step for
    :class:`~kraft.coordinator.core.Committed`, or to the beginning of the coordinator.
    """

    markers: list[TransactionMarkers] = attrs.Factory(list)
