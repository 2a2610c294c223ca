"""Variable-length integers: 7 bits per byte, lowest first. The top bit says that more bytes follow.

Message lengths and tags are unsigned (KIP-482); record fields are zigzag-signed (KIP-98). As in Kafka, 32 bits take at
most 5 bytes, and 64 bits at most 10. A longer run is malformed; superfluous zero bits within the limit are not.
"""

from __future__ import annotations

from kraft.wire.decode_error import DecodeError

__all__ = [
    "Buffer",
    "read_uvarint",
    "read_varint",
    "read_varlong",
    "uvarint",
    "varint",
    "varlong",
]

Buffer = bytes | bytearray | memoryview


def _read(buffer: Buffer, position: int, bits: int) -> tuple[int, int]:
    value = shift = 0
    try:
        while True:
            byte = buffer[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift >= bits:
                raise DecodeError(f"variable-length integer of more than {bits} bits")
    except IndexError:
        raise DecodeError("the bytes end inside a variable-length integer") from None
    if value >> bits:
        raise DecodeError(f"variable-length integer of more than {bits} bits")
    return value, position


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read an unsigned 32-bit integer. Return it and the position after it.

    Raises DecodeError if it does not end, or needs more than 32 bits.
    """
    if position < len(buffer) and (byte := buffer[position]) < 128:
        return byte, position + 1
    return _read(buffer, position, 32)


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read a zigzag-signed 32-bit integer. Return it and the position after it. Raises as ``read_uvarint``."""
    try:  # the lengths of most records have one or two bytes
        value = buffer[position]
        if value < 0x80:
            return (value >> 1) ^ -(value & 1), position + 1
        if (high := buffer[position + 1]) < 0x80:
            value = value & 0x7F | high << 7
            return (value >> 1) ^ -(value & 1), position + 2
    except IndexError:
        pass
    value, position = _read(buffer, position, 32)
    return (value >> 1) ^ -(value & 1), position


def read_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read a zigzag-signed 64-bit integer. Return it and the position after it. Raises as ``read_uvarint``."""
    value, position = _read(buffer, position, 64)
    return (value >> 1) ^ -(value & 1), position


def uvarint(value: int) -> bytes:
    """Return the bytes of an unsigned integer."""
    if value < 0x80:
        return value.to_bytes(1, "big")
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(value: int) -> bytes:
    """Return the bytes of a zigzag-signed 32-bit integer."""
    return uvarint((value << 1 ^ value >> 31) & 0xFFFFFFFF)


def varlong(value: int) -> bytes:
    """Return the bytes of a zigzag-signed 64-bit integer."""
    return uvarint((value << 1 ^ value >> 63) & 0xFFFFFFFFFFFFFFFF)
