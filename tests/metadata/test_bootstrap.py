"""bootstrap.checkpoint: the layout of a snapshot with one feature level in it (KIP-630, KIP-778)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.metadata.bootstrap import bootstrap_checkpoint, read_bootstrap
from kraft.metadata.delta import MetadataError
from kraft.records.batch import iter_headers
from kraft.records.control import ControlType, control_type
from kraft.records.record import read_records


def test_written_values_are_read_back() -> None:
    (record,) = read_bootstrap(bootstrap_checkpoint(21))
    assert isinstance(record, FeatureLevelRecord)
    assert (record.name, record.feature_level) == ("metadata.version", 21)


def test_it_begins_with_a_header_and_ends_with_a_footer() -> None:
    data = bootstrap_checkpoint(21)
    batches = [(header, list(read_records(data, at, header, max_bytes=1000))) for at, header in iter_headers(data)]
    assert [header.is_control for header, _ in batches] == [True, False, True]
    assert [header.base_offset for header, _ in batches] == [0, 1, 2]
    assert control_type(batches[0][1][0]) is ControlType.SNAPSHOT_HEADER
    assert control_type(batches[2][1][0]) is ControlType.SNAPSHOT_FOOTER


@given(st.data())
def test_damage_is_never_read(data: st.DataObject) -> None:
    content = bytearray(bootstrap_checkpoint(21))
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    try:
        records = read_bootstrap(bytes(content))
    except MetadataError:
        return
    # Base offset and leader epoch lie outside the checksum, and do not matter here.
    assert records[0].feature_level == 21


def test_a_cut_file_is_an_error() -> None:
    with pytest.raises(MetadataError, match="corrupt checkpoint"):
        read_bootstrap(bootstrap_checkpoint(21)[:-1])
