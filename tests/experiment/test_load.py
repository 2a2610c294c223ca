"""The producers of an experiment: their batches, and the leaders that they know."""

from __future__ import annotations

import pytest

from kraft.experiment.load import ALL, LEADER, Account, Batches, ClientView
from kraft.records.batch import check_batch, parse_header
from kraft.records.compression import Compression
from kraft.records.record import read_records


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.GZIP])
def test_each_batch_is_valid_and_has_its_number_as_timestamp(compression: Compression) -> None:
    """A broker refuses a batch with a wrong checksum, and a reader finds a batch again by its header."""
    batches = Batches.of(3, 100, compression)
    for expected in (1, 2, 3):
        number, data = batches.encode()
        header = parse_header(data)
        check_batch(data, 0, header)
        assert number == header.base_timestamp == header.max_timestamp == expected
        assert (header.size, header.compression) == (len(data), compression)
        records = list(read_records(data, 0, header, max_bytes=10_000))
        assert [(record.offset, len(record.value or b"")) for record in records] == [(0, 100), (1, 100), (2, 100)]


def test_clients_follow_the_newest_epoch_only() -> None:
    """A broker with stale metadata names a former leader; a client that knows a newer epoch does not go back."""
    view = ClientView()
    view.learn(7, 1, 4)
    assert view.led_by(1) == [7]
    view.learn(7, 2, 5)
    view.learn(7, 1, 4)
    view.learn(7, -1, 6)  # no leader: Metadata while an election is under way
    assert (view.led_by(1), view.led_by(2)) == ([], [7])


def test_the_account_notes_the_first_acknowledgement_that_is_awaited() -> None:
    account = Account()
    account.awaited.add((2, 7))
    assert not account.note(LEADER, 1, 7, 10, 100.0)
    assert account.note(ALL, 2, 7, 11, 200.0)
    assert not account.note(ALL, 2, 7, 12, 300.0)
    assert account.first_ms == {(2, 7): 200.0}
    assert account.acknowledged == {LEADER: {10}, ALL: {11, 12}}
