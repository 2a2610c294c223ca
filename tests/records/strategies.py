"""Record batches for property tests, and the one tool that a forger of batches needs."""

from __future__ import annotations

import struct

from crc32c import crc32c
from hypothesis import strategies as st

from kraft.records.record import Record

MIB = 1024 * 1024
CAP = 16 * MIB

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
