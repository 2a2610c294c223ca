"""The bytes of the records of ``__share_group_state``."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraft.coordinator.share.records import ShareRecord, ShareUpdate, decode_share_record, share_record
from kraft.coordinator.share.state import SharePartitionKey, ShareState, StateBatch
from kraft.metadata.steps import finished
from kraft.wire.decode_error import DecodeError

KEY = SharePartitionKey("g", UUID(int=7), 2)
BATCHES = (StateBatch(5, 6, 2, 1), StateBatch(8, 8, 0, 3))
SNAPSHOT = ShareState(1, 2, 3, 5, 2, BATCHES, 10, 11)
UPDATE = ShareUpdate(1, 3, 5, 2, BATCHES)


def record(change: ShareState | ShareUpdate | None) -> ShareRecord:
    return finished(share_record(KEY, change))


def test_the_bytes_are_those_of_kafka() -> None:
    """``ShareSnapshotKey`` is type 0, ``ShareUpdateKey`` type 1. Both keys are not flexible, and their values are."""
    key = "0001 67" + UUID(int=7).hex + "00000002"
    assert record(SNAPSHOT).key.hex() == "0000" + key.replace(" ", "")
    assert record(UPDATE).key.hex() == "0001" + key.replace(" ", "")
    batches = "03" + "00000000000000050000000000000006" + "02" + "0001" + "00"
    batches += "00000000000000080000000000000008" + "00" + "0003" + "00"
    tag = "01" + "00" + "04" + "00000002"
    assert (record(UPDATE).value or b"").hex() == "0000" + "00000001" + "00000003" + f"{5:016x}" + batches + tag
    epochs = "00000001" + "00000002" + "00000003"
    times = f"{10:016x}{11:016x}"
    assert (record(SNAPSHOT).value or b"").hex() == "0000" + epochs + f"{5:016x}" + times + batches + tag


@pytest.mark.parametrize("change", [SNAPSHOT, UPDATE, None])
def test_a_record_is_read_as_it_was_written(change: ShareState | ShareUpdate | None) -> None:
    written = record(change)
    read = finished(decode_share_record(written.key, written.value))
    assert read is not None
    assert (read.share_partition, read.change) == (KEY, change)


def test_a_record_of_an_unknown_type_is_skipped() -> None:
    """A newer Kafka may write further types of records."""
    assert finished(decode_share_record(b"\x00\x07rest", b"")) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\x00", b""),
        (b"\x00\x00\x00", b""),
        (record(UPDATE).key, b"\x00\x09"),
        (record(UPDATE).key, (record(UPDATE).value or b"")[:-1]),
    ],
)
def test_a_damaged_record_is_refused(key: bytes, value: bytes) -> None:
    with pytest.raises(DecodeError):
        finished(decode_share_record(key, value))
