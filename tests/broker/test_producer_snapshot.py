"""The ``.snapshot`` file: Kafka's bytes, and the detection of damage."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from kraft.broker.producer_snapshot import CorruptSnapshot, decode_snapshot, encode_snapshot
from kraft.broker.producer_state import BatchMetadata, ProducerEntry


@st.composite
def entry_lists(draw: st.DrawFn) -> list[ProducerEntry]:
    entries = []
    for producer_id in draw(st.lists(st.integers(0, 2**63 - 1), max_size=5, unique=True)):
        entry = ProducerEntry(
            producer_id,
            epoch=draw(st.integers(-1, 2**15 - 1)),
            coordinator_epoch=draw(st.integers(-1, 2**31 - 1)),
            last_timestamp_ms=draw(st.integers(-1, 2**63 - 1)),
            transaction_first_offset=draw(st.none() | st.integers(0, 2**63 - 1)),
        )
        if draw(st.booleans()):
            last_sequence, last_offset, delta = draw(
                st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), st.integers(0, 2**31 - 1))
            )
            entry.batches.append(BatchMetadata(last_sequence, last_offset, delta, entry.last_timestamp_ms))
        entries.append(entry)
    return entries


@given(entry_lists())
def test_round_trip(entries: list[ProducerEntry]) -> None:
    assert decode_snapshot(encode_snapshot(entries)) == entries


def test_bytes_are_those_of_kafka() -> None:
    """Version 1 of the producer snapshot, written out field by field."""
    entry = ProducerEntry(7, epoch=2, coordinator_epoch=3, last_timestamp_ms=5000, transaction_first_offset=40)
    entry.batches.append(BatchMetadata(last_sequence=11, last_offset=42, offset_delta=2, timestamp_ms=4000))
    body = bytes.fromhex(
        "00000002"  # entries
        "0000000000000007"
        "0002"
        "0000000b"
        "000000000000002a"
        "00000002"
        "0000000000001388"
        "00000003"
        "0000000000000028"
        "0000000000000008"
        "ffff"
        "ffffffff"
        "ffffffffffffffff"
        "00000000"
        "ffffffffffffffff"
        "ffffffff"
        "ffffffffffffffff"
    )
    assert encode_snapshot([entry, ProducerEntry(8)]) == struct.pack(">hI", 1, crc32c(body)) + body


@given(entry_lists(), st.data())
def test_a_flipped_bit_or_a_cut_is_seen(entries: list[ProducerEntry], data: st.DataObject) -> None:
    content = bytearray(encode_snapshot(entries))
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(bytes(content[:cut]))
    content[cut] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(bytes(content))


@pytest.mark.parametrize("count", [-1, 1, 2**31 - 1])
def test_a_count_that_lies_is_seen(count: int) -> None:
    body = struct.pack(">i", count)
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(struct.pack(">hI", 1, crc32c(body)) + body)
