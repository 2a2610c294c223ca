"""Variable-length integers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.wire.decode_error import DecodeError
from kraft.wire.varint import read_uvarint, read_varint, read_varlong, uvarint, varint, varlong


@given(st.integers(0, 2**32 - 1))
def test_unsigned_integers_come_back(value: int) -> None:
    assert read_uvarint(b"\xff" + uvarint(value) + b"\xff", 1) == (value, 1 + len(uvarint(value)))


@given(st.integers(-(2**31), 2**31 - 1))
def test_signed_integers_come_back(value: int) -> None:
    assert read_varint(varint(value), 0) == (value, len(varint(value)))


@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_longs_come_back(value: int) -> None:
    assert read_varlong(varlong(value), 0) == (value, len(varlong(value)))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (-65, "8101"), (2**31 - 1, "feffffff0f")],
)
def test_zigzag_is_that_of_protocol_buffers(value: int, encoded: str) -> None:
    """KIP-98: record fields use the zigzag encoding of Protocol Buffers."""
    assert varint(value).hex() == encoded
    assert varlong(value).hex() == encoded


def test_superfluous_zero_bytes_are_read() -> None:
    assert read_uvarint(b"\x81\x80\x80\x80\x00", 0) == (1, 5)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff\xff\xff\x10", b"\x80\x80\x80\x80\x80\x00"])
def test_endless_and_overlong_integers_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        read_uvarint(data, 0)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80\x80", b"\xff\xff\xff\xff\x10", b"\x80\x80\x80\x80\x80\x00"])
def test_endless_and_overlong_signed_integers_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        read_varint(data, 0)


def test_longs_have_ten_bytes() -> None:
    assert read_varlong(b"\xff" * 9 + b"\x01", 0) == (-(2**63), 10)
    with pytest.raises(DecodeError, match="64 bits"):
        read_varlong(b"\xff" * 9 + b"\x02", 0)
