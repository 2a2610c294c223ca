"""Record batches for property tests, and the one tool that a forger of batches needs."""

from __future__ import annotations

import struct

from crc32c import crc32c
from hypothesis import strategies as st

from kraft.records.record import Record, encode_batch

MIB = 1024 * 1024
CAP = 16 * MIB

ONE = encode_batch([Record(0, 1000, b"k", b"v")])
"""A batch of one record. Its payload is 10 00 00 00 02 6b 02 76 00: length 8, attributes, deltas, key "k", value "v",
no headers."""
MALFORMED = {
    "nothing": "",
    "length without record": "10",
    "length beyond the batch": "12000000026b027600",
    "length below its fields": "0e000000026b027600",
    "end before the key": "06000000",
    "negative length": "01000000026b027600",
    "length of six bytes": "ffffffffff7f0000",
    "length of 35 bits": "ffffffff7f0000",
    "bytes behind the last record": "10000000026b02760000",
    "second record": "10000000026b02760010000000026b027600",
    "negative offset delta": "10000001026b027600",
    "offset delta beyond the last": "10000002026b027600",
    "timestamp of eleven bytes": "2600ffffffffffffffffffff0100026b027600",
    "timestamp of 65 bits": "22008080808080808080800200026b027600",
    "byte behind the headers": "12000000026b02760000",
    "timestamp overflow": "2200feffffffffffffffff0100026b027600",
    "key beyond the record": "10000000206b027600",
    "key of length -2": "10000000036b027600",
    "value beyond the record": "10000000026b7e7600",
    "negative header count": "10000000026b027601",
    "more headers than bytes": "10000000026b027602",
    "2^31 - 1 headers": "18000000026b0276feffffff0f",
    "null header key": "14000000026b0276020101",
    "header key beyond the record": "14000000026b02760204ff",
    "cut in the header value": "14000000026b02760200",
}
"""Payloads of one record, in hexadecimal, that no batch with this header may have."""

timestamps = st.integers(min_value=-1, max_value=2**62)
header_names = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
header_lists = st.lists(st.tuples(header_names, st.none() | st.binary(max_size=20)), max_size=3).map(tuple)
payloads = st.none() | st.binary(max_size=200)


@st.composite
def record_lists(
    draw: st.DrawFn, *, gaps: bool = False, timestamps: st.SearchStrategy[int] = timestamps
) -> list[Record]:
    """One to eight records from offset 0 on; with ``gaps`` as compaction leaves them."""
    offset = draw(st.integers(0, 5)) if gaps else 0
    records: list[Record] = []
    for _ in range(draw(st.integers(1, 8))):
        records.append(Record(offset, draw(timestamps), draw(payloads), draw(payloads), draw(header_lists)))
        offset += draw(st.integers(1, 300)) if gaps else 1
    return records


def forge(batch: bytes, payload: bytes | None = None, **fields: tuple[int, str, int]) -> bytes:
    """Change a batch and make length and checksum right again. A field is (position, struct format, value)."""
    forged = bytearray(batch if payload is None else batch[:61] + payload)
    for position, layout, value in fields.values():
        struct.pack_into(">" + layout, forged, position, value)
    struct.pack_into(">i", forged, 8, len(forged) - 12)
    struct.pack_into(">I", forged, 17, crc32c(forged[21:]))
    return bytes(forged)
