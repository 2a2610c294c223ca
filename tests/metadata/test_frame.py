"""The record frame: round trips, and nothing but frames gets in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.messages.begin_transaction_record import BeginTransactionRecord
from kraft.messages.no_op_record import NoOpRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.delta import MetadataError, UnsupportedMetadata
from kraft.metadata.frame import decode_record, encode_record
from kraft.metadata.levels import record_version
from tests.metadata.records import histories


@given(histories())
def test_written_records_are_readable(history: list[Any]) -> None:
    """The image in memory and the image from the log must be the same, so no field may get lost on the way."""
    for record in history:
        assert decode_record(encode_record(record, record_version(record))) == record


def test_the_frame_of_a_no_op() -> None:
    """Frame version 1, type 20, version 0, and a message of nothing but an empty list of tags."""
    assert encode_record(NoOpRecord(), 0) == bytes([1, 20, 0, 0])


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"", "malformed"),
        (b"\x00\x14\x00\x00", "frame version 0"),
        (b"\x02\x14\x00\x00", "frame version 2"),
        (b"\x01\x06\x00\x00", "unknown type 6"),
        (b"\x01\x14\x01\x00", "version 1"),
        (b"\x01\x14\x00\x00\x00", "left over"),
        (b"\x01\x14\x00", "malformed"),
        (encode_record(TopicRecord(name="t"), 0)[:-3], "malformed"),
    ],
)
def test_a_bad_frame_is_refused(frame: bytes, reason: str) -> None:
    with pytest.raises(MetadataError, match=reason):
        decode_record(frame)


@pytest.mark.parametrize("frame", [b"\x02\x14\x00\x00", b"\x01\x7f\x00\x00", b"\x01\x1b\x05\x00"])
def test_records_of_a_later_kafka_are_no_damage(frame: bytes) -> None:
    """KIP-778: a level may bring frames, types and versions of records; level 30 has RegisterBroker 4."""
    with pytest.raises(UnsupportedMetadata, match=r"needs a newer kraft; this one knows .*metadata.version up to 30"):
        decode_record(frame)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_record_or_an_error(data: bytes) -> None:
    try:
        record = decode_record(data)
    except MetadataError:
        return
    assert record.API_KEY >= 0


@given(st.binary(max_size=40))
def test_any_bytes_behind_a_known_head_are_a_record_or_an_error(data: bytes) -> None:
    for record_type in (0, 2, 3, 5, 14, 17, 23):
        try:
            decode_record(bytes([1, record_type, 0]) + data)
        except MetadataError:
            continue


def test_a_record_may_have_a_null_name() -> None:
    record = BeginTransactionRecord(name=None)
    assert decode_record(encode_record(record, 0)) == record
