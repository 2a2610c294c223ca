"""Control records: keys, transaction markers, and versions of a later Kafka."""

from __future__ import annotations

import struct

import pytest
from aiokafka.record.control_record import ABORT_MARKER, COMMIT_MARKER, ControlRecord
from hypothesis import given
from hypothesis import strategies as st

from kraft.records.batch import CorruptBatch
from kraft.records.control import ControlType, EndTransactionMarker, control_record, control_type
from kraft.records.record import Record


@given(st.booleans(), st.integers(0, 2**31 - 1))
def test_a_marker_is_read(committed: bool, coordinator_epoch: int) -> None:
    """KIP-98, "Control Message Schema": key version i16, type i16; value version i16, coordinator epoch i32."""
    key = struct.pack(">hh", 0, 1 if committed else 0)
    assert ControlRecord.parse(key) == (COMMIT_MARKER if committed else ABORT_MARKER)
    record = Record(3, 4, key, struct.pack(">hi", 0, coordinator_epoch))
    assert EndTransactionMarker.from_record(record) == EndTransactionMarker(committed, coordinator_epoch)


@pytest.mark.parametrize("kind", list(ControlType))
def test_every_type_is_read_back(kind: ControlType) -> None:
    assert control_type(control_record(kind, b"", offset=0, timestamp=0)) is kind


def test_a_later_type_or_version_is_passed_over() -> None:
    """KIP-98: readers ignore control types that they do not know."""
    assert control_type(Record(0, 0, struct.pack(">hh", 0, 99), b"")) is None
    assert control_type(Record(0, 0, struct.pack(">hhq", 1, 2, 7), b"")) is ControlType.LEADER_CHANGE
    leader_change = control_record(ControlType.LEADER_CHANGE, b"", offset=0, timestamp=0)
    assert EndTransactionMarker.from_record(leader_change) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"\0\0\0", None),
        (struct.pack(">hh", -1, 0), b""),
        (struct.pack(">hh", 0, 0), None),
        (struct.pack(">hh", 0, 0), b"\0\0\0\0\0"),
        (struct.pack(">hh", 0, 0), struct.pack(">hi", -1, 0)),
    ],
)
def test_malformed_markers_are_corrupt(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        EndTransactionMarker.from_record(Record(0, 0, key, value))
