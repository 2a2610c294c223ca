"""Control records, which the broker or the quorum writes between the records of clients.

They lie in batches with the control bit. Clients may not write them, and consumers skip them. The key is version i16
and type i16. This module encodes and decodes transaction markers. The values of the quorum's records (leader change,
snapshot header and footer, KRaft version, voters) are messages with their own specs.
"""

from __future__ import annotations

import struct
from enum import IntEnum

import attrs

from kraft.records.batch import CorruptBatch
from kraft.records.record import Record, encode_batch

_KEY = struct.Struct(">hh")
_MARKER = struct.Struct(">hi")
_VERSION = 0


class ControlType(IntEnum):
    """The types of control records (KIP-98; KIP-595; KIP-630; KIP-853)."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


def control_record(kind: ControlType, value: bytes, *, offset: int, timestamp: int) -> Record:
    """Return a control record with the encoded ``value``; ``timestamp`` is in ms."""
    return Record(offset, timestamp, _KEY.pack(_VERSION, kind), value)


def control_type(record: Record) -> ControlType | None:
    """Return the type of a control record; None for a later Kafka's. Raises CorruptBatch for a malformed key."""
    if record.key is None or len(record.key) < _KEY.size:
        raise CorruptBatch("the key of a control record is too short")
    version, kind = _KEY.unpack_from(record.key)
    if version < 0:
        raise CorruptBatch(f"control record key of version {version}")
    try:
        return ControlType(kind)
    except ValueError:
        return None


@attrs.frozen
class EndTransactionMarker:
    """The end of one producer's transaction in a partition (KIP-98). It is written for the transaction coordinator.

    ``transaction_version`` is not part of the record. From 2 on, the marker has a higher epoch than the transaction.
    """

    committed: bool
    coordinator_epoch: int
    transaction_version: int = 0

    @classmethod
    def from_record(cls, record: Record) -> EndTransactionMarker | None:
        """Return the marker in a control record, or None for another type. Raises CorruptBatch if it is malformed."""
        kind = control_type(record)
        if kind not in (ControlType.ABORT, ControlType.COMMIT):
            return None
        if record.value is None or len(record.value) < _MARKER.size:
            raise CorruptBatch("the value of a transaction marker is too short")
        version, coordinator_epoch = _MARKER.unpack_from(record.value)
        if version < 0:
            raise CorruptBatch(f"transaction marker of version {version}")
        return cls(committed=kind is ControlType.COMMIT, coordinator_epoch=coordinator_epoch)

    @property
    def key(self) -> bytes:
        return _KEY.pack(_VERSION, ControlType.COMMIT if self.committed else ControlType.ABORT)

    @property
    def value(self) -> bytes:
        return _MARKER.pack(_VERSION, self.coordinator_epoch)

    def batch(self, producer_id: int, producer_epoch: int, timestamp_ms: int) -> bytearray:
        """Return the control batch of the marker, as Kafka's ``MemoryRecords.withEndTransactionMarker``."""
        return bytearray(
            encode_batch(
                [Record(0, timestamp_ms, self.key, self.value)],
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                control=True,
                transactional=True,
            )
        )
