"""The transactions that compaction passes while it walks a log, as ``CleanedTransactionMetadata`` in Kafka.

Records of an aborted transaction are removed at once. A marker stays while its transaction has records, because it
shows consumers the end of the transaction. Later it stays for ``delete.retention.ms``, as a tombstone does (KIP-534).
The index of a segment keeps an aborted transaction if the walk found records of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import chain

import attrs

from kraft.records.batch import BatchHeader
from kraft.records.control import EndTransactionMarker
from kraft.storage.transaction_index import AbortedTransaction, TransactionIndex, overlapping


@attrs.frozen
class PassedMarker:
    """The end of a transaction. Without records of it the marker ``is_needless``; ``aborted`` is to be indexed."""

    is_needless: bool
    aborted: AbortedTransaction | None = None


@attrs.define(eq=False)
class PassedTransactions:
    """The transactions at the present offset of a walk, which begins at the start of the log or anywhere in it.

    ``indexes`` are those of the log's segments, in order. Reading them may raise OSError.
    """

    indexes: Sequence[TransactionIndex]
    _ahead: list[tuple[int, AbortedTransaction]] = attrs.Factory(list)
    """A heap of the aborted transactions that begin further on, by first offset."""
    _known: set[int] = attrs.Factory(set)
    """The marker offsets of the aborted transactions that were read from the indexes."""
    _aborted: dict[int, AbortedTransaction] = attrs.Factory(dict)
    """Producer id → its present transaction, which was aborted."""
    _met: set[int] = attrs.Factory(set)
    """The producers whose present transaction has records."""

    def enter(self, number: int, start: int, next_offset: int) -> None:
        """Begin the segment ``number`` of the log, which ends at ``next_offset``.

        The walk passes each marker from the offset ``start`` on. Earlier transactions are over.
        """
        self._known = {each for each in self._known if each >= start}
        entries = chain.from_iterable(index.from_offset(start) for index in self.indexes[number:])
        for aborted in overlapping(entries, next_offset):
            if aborted.last_offset not in self._known:
                self._known.add(aborted.last_offset)
                heappush(self._ahead, (aborted.first_offset, aborted))

    def pass_batch(self, header: BatchHeader) -> bool:
        """Pass a data batch. Return whether it belongs to an aborted transaction."""
        if not header.is_transactional:
            return False
        self._begin_up_to(header.last_offset)
        self._met.add(header.producer_id)
        return header.producer_id in self._aborted

    def pass_marker(self, header: BatchHeader, marker: EndTransactionMarker) -> PassedMarker:
        """Pass the end of a transaction."""
        self._begin_up_to(header.last_offset)
        has_records = header.producer_id in self._met
        self._met.discard(header.producer_id)
        aborted = self._aborted.pop(header.producer_id, None)
        return PassedMarker(not has_records, None if marker.committed or not has_records else aborted)

    def _begin_up_to(self, offset: int) -> None:
        while self._ahead and self._ahead[0][0] <= offset:
            _, aborted = heappop(self._ahead)
            self._aborted.setdefault(aborted.producer_id, aborted)
