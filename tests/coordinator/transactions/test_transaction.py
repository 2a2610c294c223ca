"""The eight statuses of a transaction, and the transitions between them."""

from __future__ import annotations

import pytest

from kraft.coordinator.transactions.transaction import TRANSITIONS, Transaction, TransactionStatus

E, O, PC, PA, CC, CA, D, F = TransactionStatus  # noqa: E741

PREVIOUS = {
    E: {E, CC, CA},
    O: {O, E, CC, CA},
    PC: {O},
    PA: {O, F, E, CC, CA},
    CC: {PC},
    CA: {PA},
    D: {E, CC, CA},
    F: {O},
}
"""``TransactionState.validPreviousStates`` of Kafka 4.3.1."""


@pytest.mark.parametrize("status", TransactionStatus)
def test_the_transitions_are_apaches(status: TransactionStatus) -> None:
    assert {before for before, after in TRANSITIONS.items() if status in after} == PREVIOUS[status]


@pytest.mark.parametrize("status", TransactionStatus)
def test_no_other_transition_is_possible(status: TransactionStatus) -> None:
    for after in set(TransactionStatus) - TRANSITIONS[status]:
        with pytest.raises(AssertionError):
            Transaction(1, 1.0, 0, epoch=0, status=status).become(after, 1)


def test_the_numbers_of_the_records_are_apaches() -> None:
    """``TransactionState.id``: 0 to 7, in this order."""
    names = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"]
    assert [status.value for status in TransactionStatus] == [*names, "PrepareEpochFence"]


@pytest.mark.parametrize(
    ("epoch", "is_exhausted"), [(-1, False), (0, False), (32765, False), (32766, True), (32767, True)]
)
def test_the_last_epoch_is_kept_for_fencing(epoch: int, is_exhausted: bool) -> None:
    """Apache: ``TransactionMetadata.isEpochExhausted``. Short.MAX_VALUE stays free to fence the last producer."""
    assert Transaction(1, 1.0, 0, epoch=epoch).is_exhausted is is_exhausted
