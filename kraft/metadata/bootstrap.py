"""``bootstrap.checkpoint``: the first records of an empty metadata log, in the layout of a snapshot (KIP-630).

A control batch with the snapshot header, one batch of metadata records, a control batch with the footer. Offsets count
from 0 and every epoch and timestamp is 0, so that the same level always gives the same bytes.
``kraft.storage.snapshot.read_snapshot`` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraft.config.features import METADATA_VERSION
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.snapshot_footer_record import SnapshotFooterRecord
from kraft.messages.snapshot_header_record import SnapshotHeaderRecord
from kraft.metadata.frame import encode_record
from kraft.records.control import ControlType, control_record
from kraft.records.record import Record, encode_batch
from kraft.wire.codec import encode


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
