"""bootstrap.checkpoint: the layout of a snapshot with one feature level in it (KIP-630, KIP-778)."""

from __future__ import annotations

from kraft.metadata.bootstrap import bootstrap_checkpoint
from kraft.records.batch import iter_headers
from kraft.records.control import ControlType, control_type
from kraft.records.record import read_records


def test_it_begins_with_a_header_and_ends_with_a_footer() -> None:
    data = bootstrap_checkpoint(21)
    batches = [(header, list(read_records(data, at, header, max_bytes=1000))) for at, header in iter_headers(data)]
    assert [header.is_control for header, _ in batches] == [True, False, True]
    assert [header.base_offset for header, _ in batches] == [0, 1, 2]
    assert control_type(batches[0][1][0]) is ControlType.SNAPSHOT_HEADER
    assert control_type(batches[2][1][0]) is ControlType.SNAPSHOT_FOOTER
