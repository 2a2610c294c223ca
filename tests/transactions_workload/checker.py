"""Find the anomalies of a history, each by the name under which it was published.

G0, G1a, G1b and G1c are those of Adya, Liskov and O'Neil (2000), as far as a log can have them. Kafka does not isolate
writers from each other: batches of two open transactions alternate in a partition, so a cycle of write orders (G0) is
reported and permitted (`PERMITTED`). For the same reason G1c counts reads and real time, not write orders. A
read_committed read ends at the last stable offset, which may lie inside a committed transaction if another one is still
open. Thus a read is intermediate (G1b) only if a later record of the partition was read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import attrs

from tests.transactions_workload.history import (
    Append,
    History,
    Marker,
    Outcome,
    Seen,
    Transaction,
    Written,
    transaction_of,
)


class Kind(Enum):
    """The anomalies."""

    WRITE_CYCLE = "G0 write cycle"
    ABORTED_READ = "G1a aborted read"
    INTERMEDIATE_READ = "G1b intermediate read"
    CIRCULAR_INFORMATION_FLOW = "G1c circular information flow"
    LOST_WRITE = "lost write"
    LOST_READ = "lost read"
    DUPLICATE = "duplicate"
    REREAD = "record read twice"
    PARTLY_VISIBLE = "partly visible transaction"
    MISPLACED_MARKER = "marker on the wrong side of a retry"
    HANGING = "hanging transaction"
    REORDERED = "append before an earlier one"
    INCONSISTENT_OFFSET = "two values at one offset"
    UNWRITTEN = "value that no transaction wrote"
    OFFSETS_APART = "offsets apart from their transaction"


PERMITTED = frozenset({Kind.WRITE_CYCLE})
_LAST_READER = "the last reader"


@attrs.frozen
class Anomaly:
    """An anomaly, and where it is."""

    kind: Kind
    where: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.where}"


def check(history: History) -> list[Anomaly]:
    """Return all anomalies, permitted ones included; of each kind of cycle the first."""
    return list(_Checker(history).anomalies())


def forbidden(anomalies: Sequence[Anomaly]) -> list[Anomaly]:
    """Leave out the permitted ones."""
    return [each for each in anomalies if each.kind not in PERMITTED]


@attrs.frozen(eq=False)
class _Checker:
    history: History

    def anomalies(self) -> Iterator[Anomaly]:
        yield from self._markers()
        yield from self._values()
        for transaction in self.history.transactions:
            yield from self._outcome(transaction)
        for reader, seen in self._readers().items():
            yield from self._reads(reader, seen)
        yield from self._real_time()
        yield from self._group_offsets()
        yield from _cycle(Kind.WRITE_CYCLE, self._write_orders())
        yield from _cycle(Kind.CIRCULAR_INFORMATION_FLOW, self._information_flow())

    @cached_property
    def _transactions(self) -> dict[str, Transaction]:
        return {each.name: each for each in self.history.transactions}

    @cached_property
    def _places(self) -> dict[str, list[tuple[int, int]]]:
        """The partitions and offsets at which each value is in a log, committed or not."""
        places = defaultdict(list)
        for partition, log in self.history.logs.items():
            for each in log:
                if isinstance(each, Written):
                    places[each.value].append((partition, each.offset))
        return places

    @cached_property
    def _visible(self) -> dict[int, dict[int, str]]:
        """The committed values of each partition by offset, in order."""
        visible = {}
        for partition in self.history.logs:
            committed = {
                record.offset: record.value
                for records, marker in self._spans(partition)
                if marker is not None and marker.is_commit
                for record in records
            }
            visible[partition] = dict(sorted(committed.items()))
        return visible

    @cached_property
    def _visible_values(self) -> set[str]:
        return {value for committed in self._visible.values() for value in committed.values()}

    def _spans(self, partition: int) -> Iterator[tuple[list[Written], Marker | None]]:
        """The records of each producer up to its next marker; None for those that have none."""
        is_open: defaultdict[int, list[Written]] = defaultdict(list)
        for each in self.history.logs[partition]:
            if isinstance(each, Marker):
                yield is_open.pop(each.producer_id, []), each
            else:
                is_open[each.producer_id].append(each)
        for records in is_open.values():
            yield records, None

    def _markers(self) -> Iterator[Anomaly]:
        """KIP-890: a late batch, or a marker sent again, must not join or divide transactions."""
        for partition in self.history.logs:
            ended: dict[str, int] = {}
            for records, marker in self._spans(partition):
                names = {transaction_of(record.value): None for record in records}
                if marker is None:
                    yield Anomaly(Kind.HANGING, f"{', '.join(names)} in partition {partition}")
                    continue
                where = f"marker {marker.offset} of partition {partition}"
                if len(names) > 1:
                    yield Anomaly(Kind.MISPLACED_MARKER, f"{where} ends {' and '.join(names)}")
                for name in names.keys() & ended.keys():
                    yield Anomaly(Kind.MISPLACED_MARKER, f"{where} ends {name}, which marker {ended[name]} ended")
                ended |= dict.fromkeys(names, marker.offset)

    def _values(self) -> Iterator[Anomaly]:
        appends = {append.value: append for each in self.history.transactions for append in each.appends}
        for value, places in self._places.items():
            if len(places) > 1:
                yield Anomaly(Kind.DUPLICATE, f"{value} at {_listed(places)}")
            if value not in appends:
                yield Anomaly(Kind.UNWRITTEN, f"{value} at {_listed(places)}")
            elif (offset := appends[value].offset) is not None and places[0] != (appends[value].partition, offset):
                was = _listed([(appends[value].partition, offset)])
                yield Anomaly(
                    Kind.INCONSISTENT_OFFSET, f"{value} was acknowledged at {was}, and is at {_listed(places)}"
                )

    def _outcome(self, transaction: Transaction) -> Iterator[Anomaly]:
        values = [append.value for append in transaction.appends]
        visible = [value for value in values if value in self._visible_values]
        missing = [value for value in values if value not in self._visible_values]
        if transaction.outcome is Outcome.ABORTED:
            yield from (Anomaly(Kind.ABORTED_READ, f"{value} is committed in the log") for value in visible)
        elif visible and missing and (transaction.outcome is Outcome.UNKNOWN or set(missing) & self._places.keys()):
            yield Anomaly(Kind.PARTLY_VISIBLE, f"{', '.join(visible)} without {', '.join(missing)}")
        elif transaction.outcome is Outcome.COMMITTED:
            yield from (Anomaly(Kind.LOST_WRITE, f"{value}, which was committed") for value in missing)

    def _readers(self) -> dict[str, list[Seen]]:
        """The records that each consumer returned, in order."""
        readers = defaultdict(list)
        for each in sorted(self.history.transactions, key=lambda each: (each.process, each.number)):
            readers[f"process {each.process}"] += each.reads
        return {**readers, _LAST_READER: list(self.history.final)}

    def _reads(self, reader: str, seen: Sequence[Seen]) -> Iterator[Anomaly]:
        by_partition = defaultdict(list)
        for each in seen:
            yield from self._read(reader, each)
            by_partition[each.partition].append(each)
        is_last = reader == _LAST_READER
        for partition, committed in self._visible.items():
            offsets = [each.offset for each in by_partition[partition]]
            for before, after in pairwise(offsets):
                if after <= before:
                    yield Anomaly(Kind.REREAD, f"{reader} read {partition}@{after} after {partition}@{before}")
            until = max(committed if is_last else offsets, default=-1)
            read = {each.value for each in by_partition[partition]}
            names = {transaction_of(value) for value in read}
            for offset in committed.keys() - set(offsets):
                if offset <= until:
                    value = committed[offset]
                    kind = Kind.INTERMEDIATE_READ if transaction_of(value) in names else Kind.LOST_READ
                    yield Anomaly(kind, f"{reader} passed {value} at {partition}@{offset}")

    def _read(self, reader: str, seen: Seen) -> Iterator[Anomaly]:
        where = f"{reader} read {seen.value} at {seen.partition}@{seen.offset}"
        places = self._places.get(seen.value, [])
        if not places:
            yield Anomaly(Kind.LOST_WRITE, f"{where}, and the log does not have it")
        elif (seen.partition, seen.offset) not in places:
            yield Anomaly(Kind.INCONSISTENT_OFFSET, f"{where}, and it is at {_listed(places)}")
        elif seen.value not in self._visible_values:
            yield Anomaly(Kind.ABORTED_READ, where)

    def _real_time(self) -> Iterator[Anomaly]:
        """An append is not acknowledged before another one is sent that precedes it in the log."""
        appends = {append.value: append for each in self.history.transactions for append in each.appends}
        for log in self.history.logs.values():
            latest: Append | None = None
            for append in (appends.get(each.value) for each in log if isinstance(each, Written)):
                if append is None:
                    continue
                if latest is not None and append.acked_s is not None and append.acked_s < latest.sent_s:
                    yield Anomaly(
                        Kind.REORDERED, f"{latest.value} precedes {append.value}, which was acknowledged before"
                    )
                if latest is None or append.sent_s > latest.sent_s:
                    latest = append

    def _group_offsets(self) -> Iterator[Anomaly]:
        """KIP-98: the offsets of a transaction count if and only if it commits."""
        last: dict[int, int | None] = dict.fromkeys(self.history.group_offsets)
        for value in self._visible_values:
            transaction = self._transactions.get(transaction_of(value))
            if transaction is not None:
                last[transaction.process] = max(last.get(transaction.process) or 0, transaction.number)
        for process, expected in last.items():
            found = self.history.group_offsets.get(process)
            if found != expected:
                where = f"process {process} committed offset {found}, and its last visible transaction is {expected}"
                yield Anomaly(Kind.OFFSETS_APART, where)

    def _write_orders(self) -> Iterator[tuple[str, str]]:
        """Pairs of transactions, of which the first wrote a record before the second one's next to it."""
        for committed in self._visible.values():
            names = [transaction_of(value) for value in committed.values()]
            yield from ((before, after) for before, after in pairwise(names) if before != after)

    def _information_flow(self) -> Iterator[tuple[str, str]]:
        """Pairs: the writer of a value and its reader; transactions, and the later moments of the run.

        Decisions follow each other in this order, since a record is read after its transaction was decided.
        """
        moments: list[tuple[float, bool, str]] = []
        for each in self.history.transactions:
            yield from ((transaction_of(seen.value), each.name) for seen in each.reads)
            moments.append((each.begun_s, False, each.name))
            if each.ended_s is not None:
                moments.append((each.ended_s, True, each.name))
        moments.sort()
        for index, (_, is_end, name) in enumerate(moments):
            yield (name, f"moment {index}") if is_end else (f"moment {index}", name)
            yield f"moment {index}", f"moment {index + 1}"


def _cycle(kind: Kind, pairs: Iterator[tuple[str, str]]) -> Iterator[Anomaly]:
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for before, after in pairs:
        sorter.add(after, before)
    try:
        sorter.prepare()
    except CycleError as error:
        names = [name for name in error.args[1] if not name.startswith("moment")]
        yield Anomaly(kind, " -> ".join(reversed(names)))


def _listed(places: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{partition}@{offset}" for partition, offset in places)
