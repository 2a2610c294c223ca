"""``bootstrap.checkpoint``: the first records of an empty metadata log, in the layout of a snapshot (KIP-630).

A control batch with the snapshot header, one batch of metadata records, a control batch with the footer. Offsets count
from 0 and every epoch and timestamp is 0, so that the same level always gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kraft.config.features import METADATA_VERSION
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.snapshot_footer_record import SnapshotFooterRecord
from kraft.messages.snapshot_header_record import SnapshotHeaderRecord
from kraft.metadata.delta import MetadataError
from kraft.metadata.frame import decode_record, encode_record
from kraft.records.batch import check_batch, iter_headers
from kraft.records.control import ControlType, control_record
from kraft.records.record import Record, encode_batch, read_records
from kraft.wire.codec import encode
from kraft.wire.decode_error import DecodeError

_MAX_BYTES = 2**20


def bootstrap_checkpoint(level: int, features: Iterable[tuple[str, int]] = ()) -> bytes:
    """Return the file for a new cluster at ``level`` of ``metadata.version``, and at levels of other features."""
    header = control_record(ControlType.SNAPSHOT_HEADER, encode(SnapshotHeaderRecord(), 0), offset=0, timestamp=0)
    records = [
        Record(offset, 0, None, encode_record(FeatureLevelRecord(name=name, feature_level=number), 0))
        for offset, (name, number) in enumerate([(METADATA_VERSION, level), *features], 1)
    ]
    end = 1 + len(records)
    footer = control_record(ControlType.SNAPSHOT_FOOTER, encode(SnapshotFooterRecord(), 0), offset=end, timestamp=0)
    return b"".join(
        (
            encode_batch([header], base_offset=0, control=True),
            encode_batch(records, base_offset=1),
            encode_batch([footer], base_offset=end, control=True),
        )
    )


def read_bootstrap(data: bytes) -> tuple[Any, ...]:
    """Return the metadata records of a ``bootstrap.checkpoint``, ours or Apache Kafka's.

    Raises MetadataError if the file is corrupt, or cut off inside a batch. The footer may be missing.
    """
    records: list[Any] = []
    try:
        for position, header in iter_headers(data):
            check_batch(data, position, header)
            if header.is_control:
                continue
            for record in read_records(data, position, header, max_bytes=_MAX_BYTES):
                if record.value is None:
                    raise MetadataError(f"metadata record at offset {record.offset} has no value")
                records.append(decode_record(record.value))
    except DecodeError as error:
        raise MetadataError(f"corrupt checkpoint: {error}") from None
    return tuple(records)
