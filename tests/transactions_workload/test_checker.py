"""Each anomaly is found in a history in which it was planted, and none in a healthy one."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import attrs
import pytest

from tests.transactions_workload.checker import Kind, check, forbidden
from tests.transactions_workload.history import Append, History, Log, Marker, Outcome, Seen, Transaction, Written

C, A, U = Outcome.COMMITTED, Outcome.ABORTED, Outcome.UNKNOWN


def transaction(
    name: str, outcome: Outcome, appends: str, *, reads: str = "", begun_s: float = 0.0, ended_s: float = 9.0
) -> Transaction:
    """``appends`` and ``reads``: ``partition@offset=value``, with spaces; values without the transaction's name."""
    process, number = map(int, name.split("."))
    made = [Append(each.partition, f"{name}.{each.value}", begun_s, ended_s, each.offset) for each in seen(appends)]
    is_known = outcome is not U
    return Transaction(
        process, number, begun_s, ended_s if is_known else None, outcome, tuple(made), tuple(seen(reads))
    )


def seen(text: str) -> list[Seen]:
    found = []
    for each in text.split():
        place, value = each.split("=")
        partition, offset = place.split("@")
        found.append(Seen(int(partition), int(offset), value))
    return found


def log(*entries: str) -> Log:
    """``1:1.1.a`` is a record of producer 1, ``1:commit`` and ``1:abort`` are markers; offsets count from 0."""
    made: list[Written | Marker] = []
    for offset, entry in enumerate(entries):
        producer, what = entry.split(":")
        if what in ("commit", "abort"):
            made.append(Marker(offset, int(producer), what == "commit"))
        else:
            made.append(Written(offset, int(producer), what))
    return made


def history(transactions: Sequence[Transaction], *logs: Log, final: str = "", **offsets: int | None) -> History:
    """``offsets``: of the group of process 1 as ``p1``, and so on."""
    group_offsets = {int(process[1:]): offset for process, offset in offsets.items()}
    return History(transactions, dict(enumerate(logs)), seen(final), group_offsets)


def healthy() -> History:
    """Process 1 commits, aborts and commits. Process 2 commits one between, and reads the first of process 1."""
    return history(
        [
            transaction("1.1", C, "0@0=a 1@0=b", begun_s=0, ended_s=1),
            transaction("1.2", A, "0@3=a", begun_s=2, ended_s=3),
            transaction("1.3", C, "0@5=a 1@3=b", reads="0@0=1.1.a 1@0=1.1.b", begun_s=6, ended_s=8),
            transaction("2.1", C, "0@2=a 1@2=b", reads="0@0=1.1.a", begun_s=2, ended_s=7),
        ],
        log("1:1.1.a", "1:commit", "2:2.1.a", "1:1.2.a", "1:abort", "1:1.3.a", "2:commit", "1:commit"),
        log("1:1.1.b", "1:commit", "2:2.1.b", "1:1.3.b", "2:commit", "1:commit"),
        final="0@0=1.1.a 0@2=2.1.a 0@5=1.3.a 1@0=1.1.b 1@2=2.1.b 1@3=1.3.b",
        p1=3,
        p2=1,
    )


def one(
    log_: Log, outcome: Outcome = C, *, appends: str = "0@0=a", final: str = "0@0=1.1.a", p1: int | None = 1
) -> History:
    """A history of one transaction in one partition."""
    return history([transaction("1.1", outcome, appends)], log_, final=final, p1=p1)


def g0() -> History:
    return history(
        [transaction("1.1", C, "0@0=a 1@1=b"), transaction("2.1", C, "0@1=a 1@0=b")],
        log("1:1.1.a", "2:2.1.a", "1:commit", "2:commit"),
        log("2:2.1.b", "1:1.1.b", "1:commit", "2:commit"),
        final="0@0=1.1.a 0@1=2.1.a 1@0=2.1.b 1@1=1.1.b",
        p1=1,
        p2=1,
    )


def g1a() -> History:
    """A transaction reads a value whose marker says abort."""
    return history(
        [transaction("1.1", A, "0@0=a"), transaction("2.1", C, "0@2=a", reads="0@0=1.1.a")],
        log("1:1.1.a", "1:abort", "2:2.1.a", "2:commit"),
        final="0@2=2.1.a",
        p1=None,
        p2=1,
    )


def g1a_commit_of_an_abort() -> History:
    return one(log("1:1.1.a", "1:commit"), A)


def g1b() -> History:
    """A read passes the second value of a transaction, of which it has the first and the third."""
    return history(
        [transaction("1.1", C, "0@0=a 0@1=b 0@2=c"), transaction("2.1", C, "1@0=a", reads="0@0=1.1.a 0@2=1.1.c")],
        log("1:1.1.a", "1:1.1.b", "1:1.1.c", "1:commit"),
        log("2:2.1.a", "2:commit"),
        final="0@0=1.1.a 0@1=1.1.b 0@2=1.1.c 1@0=2.1.a",
        p1=1,
        p2=1,
    )


def g1c() -> History:
    """Each of two transactions reads what the other one wrote."""
    return history(
        [
            transaction("1.1", C, "0@0=a", reads="1@0=2.1.a"),
            transaction("2.1", C, "1@0=a", reads="0@0=1.1.a"),
        ],
        log("1:1.1.a", "1:commit"),
        log("2:2.1.a", "2:commit"),
        final="0@0=1.1.a 1@0=2.1.a",
        p1=1,
        p2=1,
    )


def g1c_by_time() -> History:
    """A transaction reads a value whose transaction began later than the reader ended."""
    return history(
        [
            transaction("1.1", C, "0@0=a", reads="1@0=2.1.a", begun_s=0, ended_s=1),
            transaction("2.1", C, "1@0=a", begun_s=2, ended_s=3),
        ],
        log("1:1.1.a", "1:commit"),
        log("2:2.1.a", "2:commit"),
        final="0@0=1.1.a 1@0=2.1.a",
        p1=1,
        p2=1,
    )


def g1c_of_itself() -> History:
    """A transaction reads its own value, which is not committed yet."""
    return history(
        [transaction("1.1", C, "0@0=a", reads="0@0=1.1.a")],
        log("1:1.1.a", "1:commit"),
        final="0@0=1.1.a",
        p1=1,
    )


def lost_write() -> History:
    return one(log("1:1.1.a", "1:commit"), appends="0@0=a 0@1=b")


def lost_commit() -> History:
    """The client got the acknowledgement of a commit, and the marker says abort."""
    return one(log("1:1.1.a", "1:abort"), final="", p1=None)


def read_and_lost() -> History:
    """A value was read, and the log lost it: its leader answered before the record was replicated."""
    return history(
        [
            transaction("1.1", U, "0@0=a"),
            transaction("2.1", C, "1@0=a", reads="0@0=1.1.a"),
        ],
        log("3:abort"),
        log("2:2.1.a", "2:commit"),
        final="1@0=2.1.a",
        p1=None,
        p2=1,
    )


def lost_read() -> History:
    """A consumer passes a whole transaction."""
    return history(
        [
            transaction("1.1", C, "0@0=a", begun_s=0, ended_s=1),
            transaction("1.2", C, "0@2=a", begun_s=2, ended_s=3),
            transaction("2.1", C, "1@0=a", reads="0@2=1.2.a", begun_s=4),
        ],
        log("1:1.1.a", "1:commit", "1:1.2.a", "1:commit"),
        log("2:2.1.a", "2:commit"),
        final="0@0=1.1.a 0@2=1.2.a 1@0=2.1.a",
        p1=2,
        p2=1,
    )


def lost_end() -> History:
    """The last reader stops before the end."""
    return one(log("1:1.1.a", "1:commit"), final="")


def reread() -> History:
    return one(log("1:1.1.a", "1:commit"), final="0@0=1.1.a 0@0=1.1.a")


def duplicate() -> History:
    return one(log("1:1.1.a", "1:1.1.a", "1:commit"), final="0@0=1.1.a 0@1=1.1.a")


def partly_visible() -> History:
    """One partition has the marker of a commit, the other that of an abort."""
    return history(
        [transaction("1.1", C, "0@0=a 1@0=b")],
        log("1:1.1.a", "1:commit"),
        log("1:1.1.b", "1:abort"),
        final="0@0=1.1.a",
        p1=1,
    )


def partly_visible_and_unknown() -> History:
    """The coordinator decided on a commit, and a partition lost its record."""
    return history(
        [transaction("1.1", U, "0@0=a 1@0=b")],
        log("1:1.1.a", "1:commit"),
        log("1:commit"),
        final="0@0=1.1.a",
        p1=1,
    )


def marker_divides() -> History:
    """A retried EndTxn reaches the coordinator in the next transaction, and commits its first half."""
    return history(
        [
            transaction("1.1", C, "0@0=a", begun_s=0, ended_s=1),
            transaction("1.2", C, "0@2=a 0@4=b", begun_s=2, ended_s=3),
        ],
        log("1:1.1.a", "1:commit", "1:1.2.a", "1:commit", "1:1.2.b", "1:commit"),
        final="0@0=1.1.a 0@2=1.2.a 0@4=1.2.b",
        p1=2,
    )


def late_batch() -> History:
    """KIP-890: a batch of an aborted transaction arrives after the marker, and the next commit makes it visible."""
    return history(
        [
            transaction("1.1", U, "0@1=a", begun_s=0),
            transaction("1.2", C, "0@2=a", begun_s=2, ended_s=3),
        ],
        log("1:abort", "1:1.1.a", "1:1.2.a", "1:commit"),
        final="0@1=1.1.a 0@2=1.2.a",
        p1=2,
    )


def hanging() -> History:
    return one(log("1:1.1.a"), U, final="", p1=None)


def reordered() -> History:
    """The log has the second transaction before the first, which was over before the second began."""
    return history(
        [
            transaction("1.1", C, "0@2=a", begun_s=0, ended_s=1),
            transaction("2.1", C, "0@0=a", begun_s=2, ended_s=3),
        ],
        log("2:2.1.a", "2:commit", "1:1.1.a", "1:commit"),
        final="0@0=2.1.a 0@2=1.1.a",
        p1=1,
        p2=1,
    )


def moved() -> History:
    """A record is not at the offset that its acknowledgement had."""
    return one(log("2:abort", "1:1.1.a", "1:commit"), final="0@1=1.1.a")


def read_elsewhere() -> History:
    return one(log("2:abort", "1:1.1.a", "1:commit"), appends="0@1=a", final="0@0=1.1.a")


def unwritten() -> History:
    return one(log("1:1.1.a", "1:7.7.a", "1:commit"), final="0@0=1.1.a 0@1=7.7.a")


def offset_of_an_abort() -> History:
    return one(log("1:1.1.a", "1:abort"), A, final="", p1=1)


def offset_lost() -> History:
    return one(log("1:1.1.a", "1:commit"), p1=None)


PLANTED: list[tuple[Callable[[], History], Kind]] = [
    (g0, Kind.WRITE_CYCLE),
    (g1a, Kind.ABORTED_READ),
    (g1a_commit_of_an_abort, Kind.ABORTED_READ),
    (g1b, Kind.INTERMEDIATE_READ),
    (g1c, Kind.CIRCULAR_INFORMATION_FLOW),
    (g1c_by_time, Kind.CIRCULAR_INFORMATION_FLOW),
    (g1c_of_itself, Kind.CIRCULAR_INFORMATION_FLOW),
    (lost_write, Kind.LOST_WRITE),
    (lost_commit, Kind.LOST_WRITE),
    (read_and_lost, Kind.LOST_WRITE),
    (lost_read, Kind.LOST_READ),
    (lost_end, Kind.LOST_READ),
    (reread, Kind.REREAD),
    (duplicate, Kind.DUPLICATE),
    (partly_visible, Kind.PARTLY_VISIBLE),
    (partly_visible_and_unknown, Kind.PARTLY_VISIBLE),
    (marker_divides, Kind.MISPLACED_MARKER),
    (late_batch, Kind.MISPLACED_MARKER),
    (hanging, Kind.HANGING),
    (reordered, Kind.REORDERED),
    (moved, Kind.INCONSISTENT_OFFSET),
    (read_elsewhere, Kind.INCONSISTENT_OFFSET),
    (unwritten, Kind.UNWRITTEN),
    (offset_of_an_abort, Kind.OFFSETS_APART),
    (offset_lost, Kind.OFFSETS_APART),
]


@pytest.mark.parametrize(("plant", "kind"), PLANTED, ids=[plant.__name__ for plant, _ in PLANTED])
def test_a_planted_anomaly_is_found(plant: Callable[[], History], kind: Kind) -> None:
    assert kind in {anomaly.kind for anomaly in check(plant())}


def test_every_anomaly_is_planted() -> None:
    assert {kind for _, kind in PLANTED} == set(Kind)


def test_a_healthy_history_has_none() -> None:
    assert check(healthy()) == []


def test_kafka_permits_a_cycle_of_writes_alone() -> None:
    """KIP-98 isolates readers from open transactions, and not writers from each other."""
    (found,) = check(g0())
    assert "1.1" in found.where
    assert "2.1" in found.where
    assert forbidden([found]) == []


def test_a_read_may_end_inside_a_transaction_if_another_one_is_open() -> None:
    """The last stable offset is the first offset of an open transaction, here of 3.1 at offset 1."""
    found = history(
        [
            transaction("1.1", C, "0@0=a 0@2=b"),
            transaction("3.1", C, "0@1=a"),
            transaction("2.1", C, "1@0=a", reads="0@0=1.1.a"),
        ],
        log("1:1.1.a", "3:3.1.a", "1:1.1.b", "1:commit", "3:commit"),
        log("2:2.1.a", "2:commit"),
        final="0@0=1.1.a 0@1=3.1.a 0@2=1.1.b 1@0=2.1.a",
        p1=1,
        p2=1,
        p3=1,
    )
    assert forbidden(check(found)) == []


def test_an_unknown_outcome_may_be_either() -> None:
    for end, final, offset in (("commit", "0@0=1.1.a", 1), ("abort", "", None)):
        assert check(one(log("1:1.1.a", f"1:{end}"), U, final=final, p1=offset)) == []


class CorrectCluster:
    """Transactions whose appends alternate in every partition, and readers that stop at the last stable offset."""

    PROCESSES, PARTITIONS = range(4), range(3)

    def __init__(self, chance: random.Random) -> None:
        self.logs: list[list[Written | Marker]] = [[] for _ in self.PARTITIONS]
        self.done: list[Transaction] = []
        self._open: dict[int, Transaction] = {}
        self._committed: set[str] = set()
        self._positions = {process: [0 for _ in self.PARTITIONS] for process in self.PROCESSES}
        for now in range(300):
            process = chance.choice(self.PROCESSES)
            current = self._open.get(process)
            if current is None:
                self._open[process] = Transaction(process, len(self.done), now, None, U, ())
            elif chance.random() < 0.7 or not current.appends:
                self._append(current, chance.choice(self.PARTITIONS), now)
            else:
                self._end(current, now, C if chance.random() < 0.7 else A)
        for current in list(self._open.values()):
            self._end(current, 300, A)

    def _append(self, current: Transaction, partition: int, now: int) -> None:
        log, value = self.logs[partition], f"{current.name}.{len(current.appends)}"
        append = Append(partition, value, now, now + 0.5, len(log))
        log.append(Written(len(log), current.process, value))
        self._open[current.process] = attrs.evolve(current, appends=(*current.appends, append))

    def _end(self, current: Transaction, now: int, outcome: Outcome) -> None:
        reads = tuple(each for partition in self.PARTITIONS for each in self._read(current.process, partition))
        for partition in {append.partition for append in current.appends}:
            self.logs[partition].append(Marker(len(self.logs[partition]), current.process, outcome is C))
        if outcome is C:
            self._committed |= {append.value for append in current.appends}
        self.done.append(attrs.evolve(current, ended_s=now, outcome=outcome, reads=reads))
        del self._open[current.process]

    def _read(self, process: int, partition: int) -> list[Seen]:
        """Up to the last stable offset."""
        is_open = {append.value for each in self._open.values() for append in each.appends}
        read = []
        for each in self.logs[partition][self._positions[process][partition] :]:
            if isinstance(each, Written):
                if each.value in is_open:
                    break
                if each.value in self._committed:
                    read.append(Seen(partition, each.offset, each.value))
            self._positions[process][partition] += 1
        return read

    def history(self) -> History:
        self._positions[-1] = [0 for _ in self.PARTITIONS]
        final = [each for partition in self.PARTITIONS for each in self._read(-1, partition)]
        numbers = {
            process: [each.number for each in self.done if each.process == process and each.outcome is C]
            for process in self.PROCESSES
        }
        offsets = {process: max(each, default=None) for process, each in numbers.items()}
        return History(self.done, dict(enumerate(self.logs)), final, offsets)


def test_histories_of_a_correct_cluster_are_clean_until_a_record_is_lost() -> None:
    for seed in range(30):
        chance = random.Random(seed)
        whole = CorrectCluster(chance).history()
        assert forbidden(check(whole)) == [], seed
        victim = chance.choice(whole.final)
        logs = {
            partition: [each for each in entries if (partition, each.offset) != (victim.partition, victim.offset)]
            for partition, entries in whole.logs.items()
        }
        kinds = {each.kind for each in forbidden(check(attrs.evolve(whole, logs=logs)))}
        assert Kind.LOST_WRITE in kinds, seed
