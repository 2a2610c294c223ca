"""The ``.txnindex`` files: Kafka's bytes, and the same entries after a kill, a power cut, a truncation, replication."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from kraft.records.control import EndTransactionMarker
from kraft.storage.directory import LastStop
from kraft.storage.log import Log
from kraft.storage.transaction_index import AbortedTransaction, TransactionIndex
from tests.storage.logs import EVERYTHING, NAME, append, batch, config, content, open_log

INDEX = f"{NAME}/00000000000000000000.txnindex"
SECOND = f"{NAME}/00000000000000000008.txnindex"


def write(log: Log, producer_id: int, sequence: int = 0) -> None:
    append(
        log, batch([b"a", b"b"], producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True)
    )


def end(log: Log, producer_id: int, *, committed: bool = False) -> None:
    append(log, EndTransactionMarker(committed, 0).batch(producer_id, 0, 1000))


def filled(log: Log) -> None:
    """Producer 1 aborts offsets 0 to 1 with the marker 4, producer 2 aborts 2 to 3 with 8, and 3 commits 5 to 6."""
    write(log, 1)
    write(log, 2)
    end(log, 1)
    write(log, 3)
    end(log, 3, committed=True)
    log.roll()
    end(log, 2)


ENTRIES = [AbortedTransaction(1, 0, 4, 2), AbortedTransaction(2, 2, 8, 9)]


def entries(log: Log) -> list[AbortedTransaction]:
    return [each for segment in log.segments for each in segment.aborted.from_offset(0)]


def aborted(log: Log, offset: int, *, max_bytes: int = EVERYTHING, upper: int = EVERYTHING) -> list[int]:
    """The producer ids of the aborted transactions that a Fetch reports."""
    piece = log.read(offset, max_bytes, upper)
    return [each.producer_id for each in log.segments.aborted_in(piece, offset)]


def test_an_abort_is_indexed_where_its_marker_lies(tmp_path: Path) -> None:
    """``AbortedTxn``: version 0, producer id, first offset, last offset, last stable offset. A transaction that was
    committed has no entry, and a segment without aborts no file."""
    log = open_log(tmp_path, config())
    write(log, 3)
    end(log, 3, committed=True)
    assert not (tmp_path / INDEX).exists()
    log.truncate_to(0, 0)
    filled(log)
    assert (tmp_path / INDEX).read_bytes() == struct.pack(">hqqqq", 0, 1, 0, 4, 2)
    assert (tmp_path / SECOND).read_bytes() == struct.pack(">hqqqq", 0, 2, 2, 8, 9)


def test_a_fetch_names_the_aborted_transactions_of_its_offsets(tmp_path: Path) -> None:
    """KIP-98: the response names the aborted transactions that overlap its records, wherever their markers lie."""
    log = open_log(tmp_path, config())
    filled(log)
    assert aborted(log, 0) == [1, 2]
    assert aborted(log, 0, max_bytes=1) == [1], "the first batch is one of producer 1"
    assert aborted(log, 2, max_bytes=1) == [1, 2], "transaction 1 is open until its marker"
    assert aborted(log, 5) == [2], "the marker of transaction 1 lies below"
    assert aborted(log, 8) == [2]


def test_nothing_is_named_beyond_the_end_of_the_records(tmp_path: Path) -> None:
    """``TransactionIndex.collectAbortedTxns`` ends the search where the last stable offset reaches the upper bound."""
    log = open_log(tmp_path, config())
    for producer_id in range(50):
        write(log, producer_id)
        end(log, producer_id)
    assert aborted(log, 30, upper=33) == [10]
    assert aborted(log, 30, upper=36) == [10, 11]


def test_a_transaction_that_begins_later_is_not_named(tmp_path: Path) -> None:
    """Producer 2 begins behind the fetched records, and its marker lies between them and that of producer 1."""
    log = open_log(tmp_path, config())
    write(log, 1)
    write(log, 2)
    end(log, 2)
    end(log, 1)
    assert aborted(log, 0, max_bytes=1) == [1]
    assert aborted(log, 0) == [2, 1]


def test_a_follower_writes_the_same_index(tmp_path: Path) -> None:
    for name in ("leader", "follower"):
        (tmp_path / name).mkdir()
    leader, follower = open_log(tmp_path / "leader", config()), open_log(tmp_path / "follower", config())
    filled(leader)
    for segment in leader.segments:
        follower.append_as_follower(content(leader.read(segment.base_offset, EVERYTHING, EVERYTHING)), 1000)
        if segment.base_offset == 0:
            follower.roll()
    for name in (INDEX, SECOND):
        assert (tmp_path / "follower" / name).read_bytes() == (tmp_path / "leader" / name).read_bytes()


def test_a_truncation_takes_the_entries_with_it(tmp_path: Path) -> None:
    log = open_log(tmp_path, config())
    filled(log)
    log.truncate_to(4, 0)
    assert entries(log) == []
    end(log, 1)
    assert entries(log) == [AbortedTransaction(1, 0, 4, 2)]


def test_a_kill_between_the_log_and_the_index(tmp_path: Path) -> None:
    """The log file is written first. The next start reads the marker again, and adds what the index lacks."""
    log = open_log(tmp_path, config())
    filled(log)
    log.abandon()
    (tmp_path / SECOND).unlink()
    reopened = open_log(tmp_path, config(), last_stop=LastStop.KILLED)
    assert entries(reopened) == ENTRIES


@pytest.mark.parametrize("recovery_point", [0, 5, 8])
def test_a_power_cut_takes_entries_and_leaves_a_snapshot(tmp_path: Path, recovery_point: int) -> None:
    """Beyond the recovery point any file may be older than any other, so all entries come from the log again."""
    log = open_log(tmp_path, config())
    filled(log)
    log.complete()
    if recovery_point:
        log.flush(recovery_point)
    log.abandon()
    if not recovery_point:
        (tmp_path / INDEX).unlink()
    (tmp_path / SECOND).write_bytes(bytes(20))
    reopened = open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST, recovery_point=recovery_point)
    assert entries(reopened) == ENTRIES


@pytest.mark.parametrize("is_log_whole", [True, False])
@pytest.mark.parametrize(
    "tail",
    [bytes(68), b"\xff" * 68, struct.pack(">hqqqq", 0, 9, 0, 10, 11)],
    ids=["zeros", "ones", "an old entry"],
)
@pytest.mark.parametrize("flushed", [0, 1])
def test_a_power_cut_leaves_any_bytes_behind_the_flushed_entries(
    tmp_path: Path, flushed: int, tail: bytes, is_log_whole: bool
) -> None:
    """``LogSegment.recover`` resets the index of a segment and builds it again. A file that grew before a power cut may
    have zeros there. As an entry they say that producer 0 aborted a transaction at offset 0.
    """
    log = open_log(tmp_path, config())
    write(log, 1)
    if flushed:
        end(log, 1)
    write(log, 2)
    log.flush()
    recovery_point, size = log.log_end_offset, log.segments.active.size
    end(log, 2)
    expected = entries(log)
    log.abandon()
    index = tmp_path / INDEX
    index.write_bytes(index.read_bytes()[: 34 * flushed] + tail)
    if not is_log_whole:
        os.truncate(tmp_path / NAME / "00000000000000000000.log", size)
    reopened = open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST, recovery_point=recovery_point)
    assert entries(reopened) == (expected if is_log_whole else expected[:-1])
    if not is_log_whole:
        end(reopened, 2)
    assert entries(reopened) == expected
    assert aborted(reopened, 0) == [each.producer_id for each in expected]


def test_a_flush_syncs_the_index(tmp_path: Path) -> None:
    """Recovery trusts the index below the recovery point, so the flush that raises this point includes it."""
    log = open_log(tmp_path, config())
    filled(log)
    flush = log.begin_flush()
    assert {str(tmp_path / INDEX), str(tmp_path / SECOND)} <= set(flush.paths)
    flush.run()
    log.flushed(flush)
    write(log, 1, sequence=2)
    assert not any(path.endswith(".txnindex") for path in log.begin_flush().paths)


@pytest.mark.parametrize("is_flushed", [False, True])
def test_a_flush_after_a_kill_syncs_what_the_killed_process_wrote(tmp_path: Path, is_flushed: bool) -> None:
    """``LogSegment.flush`` forces all indexes, also those of an earlier process. Otherwise a power cut after the flush
    could take aborted transactions of a segment that recovery trusts from then on.
    """
    log = open_log(tmp_path, config())
    filled(log)
    if is_flushed:
        log.flush()
    recovery_point = log.recovery_point
    log.abandon()
    killed = open_log(tmp_path, config(), last_stop=LastStop.KILLED, recovery_point=recovery_point)
    flush = killed.begin_flush()
    first = killed.segments[0]
    written = {str(tmp_path / INDEX), str(tmp_path / SECOND), first.index.path, killed.epochs.path}
    assert (written <= set(flush.paths), killed.directory in flush.directories) == (not is_flushed,) * 2
    flush.run()
    killed.flushed(flush)
    assert killed.begin_flush().is_empty
    killed.abandon()


def test_half_an_entry_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.txnindex"
    path.write_bytes(struct.pack(">hqqqq", 0, 1, 0, 4, 2) + bytes(9))
    index = TransactionIndex(str(path))
    assert len(index) == 1
    index.record(ENTRIES[1])
    assert list(index.from_offset(0)) == ENTRIES
    assert path.stat().st_size == 68


def test_many_entries_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Fetch reads them in the event loop. One transaction that stays open keeps the stable offset of all others."""
    index = TransactionIndex(str(tmp_path / "00000000000000000000.txnindex"))
    written = [AbortedTransaction(number % 7, 2 * number, 2 * number + 1, 0) for number in range(3000)]
    for each in written:
        index.record(each)
    reads = []
    pread = os.pread
    monkeypatch.setattr("os.pread", lambda *arguments: (reads.append(1), pread(*arguments))[1])
    assert list(index.from_offset(0)) == written
    assert list(index.from_offset(101)) == written[50:]
    assert len(reads) < 50
    index.close()
