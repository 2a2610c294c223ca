"""Bugs of a partition and its consumer in the reads with ``isolation.level=read_committed``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import pytest

from kraft.broker.producer_state import CompletedTransaction, ProducerStates
from kraft.client.fetching import Visibility
from kraft.records.batch import BatchHeader
from kraft.storage.transaction_index import AbortedTransaction
from tests.coordinator.planted import PlantedBug
from tests.coordinator.transactions import partitions


def a_stable_offset_beyond_open_transactions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProducerStates, "last_stable_offset", lambda self, high_watermark: high_watermark)


def a_load_of_the_log_without_its_open_transactions(patch: pytest.MonkeyPatch) -> None:
    begin = partitions.DataPartition.begin

    def forgetting(self: partitions.DataPartition) -> None:
        begin(self)
        self.producers = ProducerStates(
            attrs.evolve(each, transaction_first_offset=None) for each in self.producers.entries()
        )

    patch.setattr(partitions.DataPartition, "begin", forgetting)


def _change_completed(patch: pytest.MonkeyPatch, **fields: Any) -> None:
    """Let each field of a completed transaction be what the function of its name returns for it."""
    append_marker = ProducerStates.append_marker

    def changed(self: ProducerStates, header: BatchHeader, *arguments: Any) -> CompletedTransaction | None:
        completed = append_marker(self, header, *arguments)
        if completed is None:
            return None
        return attrs.evolve(completed, **{name: value(completed) for name, value in fields.items()})

    patch.setattr(ProducerStates, "append_marker", changed)


def an_index_entry_that_ignores_earlier_open_transactions(patch: pytest.MonkeyPatch) -> None:
    _change_completed(patch, last_stable_offset=lambda completed: completed.last_offset + 1)


def an_aborted_transaction_that_begins_with_its_last_record(patch: pytest.MonkeyPatch) -> None:
    _change_completed(patch, first_offset=lambda completed: completed.last_offset - 1)


def a_commit_that_is_indexed_as_aborted(patch: pytest.MonkeyPatch) -> None:
    _change_completed(patch, aborted=lambda completed: True)


def a_response_without_transactions_that_begin_before_it(patch: pytest.MonkeyPatch) -> None:
    aborted_in = partitions.DataPartition.aborted_in

    def later(self: partitions.DataPartition, offset: int, end_offset: int) -> list[AbortedTransaction]:
        return [each for each in aborted_in(self, offset, end_offset) if each.first_offset >= offset]

    patch.setattr(partitions.DataPartition, "aborted_in", later)


def a_search_that_ends_at_the_first_transaction(patch: pytest.MonkeyPatch) -> None:
    def first(entries: Iterable[AbortedTransaction], end: int) -> Iterator[AbortedTransaction]:
        for entry in entries:
            if entry.first_offset < end:
                yield entry
            return

    patch.setattr(partitions, "overlapping", first)


def an_abort_marker_that_a_consumer_does_not_see(patch: pytest.MonkeyPatch) -> None:
    visible = Visibility.__call__

    def blind(self: Visibility, data: bytes, at: int, header: BatchHeader) -> bool:
        return not header.is_control and visible(self, data, at, header)

    patch.setattr(Visibility, "__call__", blind)


def a_stable_offset_beyond_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    def unbounded(self: ProducerStates, high_watermark: int) -> int:
        first_unstable = self.first_unstable_offset
        return high_watermark if first_unstable is None else first_unstable

    patch.setattr(ProducerStates, "last_stable_offset", unbounded)


def a_marker_that_counts_before_it_is_replicated(patch: pytest.MonkeyPatch) -> None:
    first_open = property(lambda self: next(iter(self._open), None))
    patch.setattr(ProducerStates, "first_unstable_offset", first_open)


def a_stable_offset_of_the_newest_transaction(patch: pytest.MonkeyPatch) -> None:
    newest = property(lambda self: next(reversed(self._unstable), None))
    patch.setattr(ProducerStates, "first_unstable_offset", newest)


def a_replicated_marker_that_holds_the_stable_offset_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProducerStates, "high_watermark_advanced", lambda self, high_watermark: None)


PLANTED = [
    PlantedBug("transactions", a_stable_offset_beyond_open_transactions, "AbortedIsNotRead"),
    PlantedBug("transactions-2", a_load_of_the_log_without_its_open_transactions, "AbortedIsNotRead"),
    PlantedBug("transactions", an_index_entry_that_ignores_earlier_open_transactions, "AbortedIsNotRead"),
    PlantedBug("transactions-2", an_aborted_transaction_that_begins_with_its_last_record, "AbortedIsNotRead"),
    PlantedBug("transactions-2", a_response_without_transactions_that_begin_before_it, "AbortedIsNotRead"),
    PlantedBug("transactions", a_search_that_ends_at_the_first_transaction, "AbortedIsNotRead"),
    PlantedBug("transactions-2", a_commit_that_is_indexed_as_aborted, "CommittedIsConsumed"),
    PlantedBug("transactions", an_abort_marker_that_a_consumer_does_not_see, "CommittedIsConsumed"),
    PlantedBug("transactions-2", a_stable_offset_beyond_the_high_watermark, "StableOffsetRises"),
    PlantedBug("transactions", a_marker_that_counts_before_it_is_replicated, "StableOffsetRises"),
    PlantedBug("transactions-2", a_stable_offset_of_the_newest_transaction, "StableOffsetRises"),
    PlantedBug("transactions", a_replicated_marker_that_holds_the_stable_offset_back, "NoHangingTransaction"),
]
