"""The records of ``__share_group_state`` in Apache Kafka's bytes: an int16 type, then the message in version 0.

A snapshot has the whole state of a share partition. An update has the changes that a leader wrote since.
"""

from __future__ import annotations

from typing import TypeVar

import attrs

from kraft.coordinator.framing import VERSION, framed, unframed, version_of
from kraft.coordinator.share.state import NO_START_OFFSET, SharePartitionKey, ShareState, StateBatch, combined
from kraft.messages.share_snapshot_key import ShareSnapshotKey
from kraft.messages.share_snapshot_value import ShareSnapshotValue
from kraft.messages.share_snapshot_value import StateBatch as SnapshotBatch
from kraft.messages.share_update_key import ShareUpdateKey
from kraft.messages.share_update_value import ShareUpdateValue
from kraft.messages.share_update_value import StateBatch as UpdateBatch
from kraft.metadata.steps import Steps
from kraft.wire.codec import decode_in_steps, encode_in_steps
from kraft.wire.decode_error import DecodeError

SNAPSHOT_TYPE = 0
UPDATE_TYPE = 1
VALUE_VERSION = 0
_ENCODING_COST = 100
"""The cost of a step of :func:`encode_in_steps`."""


@attrs.frozen
class ShareUpdate:
    """The changes of a state since its snapshot. A start offset of -1 keeps that of the state."""

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]

    def applied_to(self, state: ShareState | None) -> Steps[ShareState]:
        """Return the state after this update. An update without a snapshot is a state of its own, as in Apache."""
        if state is None:
            return ShareState(
                self.snapshot_epoch,
                0,
                self.leader_epoch,
                self.start_offset,
                self.delivery_complete_count,
                self.batches,
            )
        start_offset = state.start_offset if self.start_offset == NO_START_OFFSET else self.start_offset
        return attrs.evolve(
            state,
            leader_epoch=state.leader_epoch if self.leader_epoch == -1 else self.leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=self.delivery_complete_count,
            batches=(yield from combined((*state.batches, *self.batches), start_offset)),
        )


@attrs.frozen(eq=False)
class ShareRecord:
    """A snapshot, an update, or the tombstone of a state if ``change`` is None."""

    share_partition: SharePartitionKey
    change: ShareState | ShareUpdate | None
    value: bytes | None

    @property
    def key(self) -> bytes:
        kind = UPDATE_TYPE if isinstance(self.change, ShareUpdate) else SNAPSHOT_TYPE
        message = (ShareUpdateKey if kind else ShareSnapshotKey)(*self.share_partition)
        return framed(message, 0) if not kind else VERSION.pack(kind) + framed(message, 0)[VERSION.size :]


def share_record(share_partition: SharePartitionKey, change: ShareState | ShareUpdate | None) -> Steps[ShareRecord]:
    """Encode a record. Its size is known then, and one that is too large is refused."""
    if change is None:
        return ShareRecord(share_partition, None, None)
    value: ShareSnapshotValue | ShareUpdateValue
    if isinstance(change, ShareUpdate):
        value = ShareUpdateValue(
            snapshot_epoch=change.snapshot_epoch,
            leader_epoch=change.leader_epoch,
            start_offset=change.start_offset,
            delivery_complete_count=change.delivery_complete_count,
            state_batches=[UpdateBatch(*each) for each in change.batches],
        )
    else:
        value = ShareSnapshotValue(
            snapshot_epoch=change.snapshot_epoch,
            state_epoch=change.state_epoch,
            leader_epoch=change.leader_epoch,
            start_offset=change.start_offset,
            delivery_complete_count=change.delivery_complete_count,
            create_timestamp=change.created_ms,
            write_timestamp=change.written_ms,
            state_batches=[SnapshotBatch(*each) for each in change.batches],
        )
    out = bytearray(VERSION.pack(VALUE_VERSION))
    for _ in encode_in_steps(value, VALUE_VERSION, out, []):
        yield _ENCODING_COST
    return ShareRecord(share_partition, change, bytes(out))


V = TypeVar("V", ShareSnapshotValue, ShareUpdateValue)


def decode_share_record(key: bytes | None, value: bytes | None) -> Steps[ShareRecord | None]:
    """Return one record of the log, or None if its type is unknown. A newer Kafka wrote it, and it is skipped.

    Raises DecodeError if the record is damaged, or its value has an unknown version.
    """
    kind = None if key is None else version_of(key)
    if key is None or kind not in (SNAPSHOT_TYPE, UPDATE_TYPE):
        return None
    named = unframed(ShareSnapshotKey, VERSION.pack(0) + key[VERSION.size :])  # both keys have the same fields
    share_partition = SharePartitionKey(named.group_id, named.topic_id, named.partition)
    if value is None:
        return ShareRecord(share_partition, None, None)
    if version_of(value) != VALUE_VERSION:
        raise DecodeError(f"a record of __share_group_state has version {version_of(value)}")
    if kind == UPDATE_TYPE:
        update = yield from _decoded(ShareUpdateValue, value)
        change: ShareState | ShareUpdate = ShareUpdate(
            update.snapshot_epoch,
            update.leader_epoch,
            update.start_offset,
            update.delivery_complete_count,
            tuple(_batch(each) for each in update.state_batches),
        )
    else:
        snapshot = yield from _decoded(ShareSnapshotValue, value)
        change = ShareState(
            snapshot.snapshot_epoch,
            snapshot.state_epoch,
            snapshot.leader_epoch,
            snapshot.start_offset,
            snapshot.delivery_complete_count,
            tuple(_batch(each) for each in snapshot.state_batches),
            snapshot.create_timestamp,
            snapshot.write_timestamp,
        )
    return ShareRecord(share_partition, change, value)


def _decoded(kind: type[V], value: bytes) -> Steps[V]:
    message, _, _ = yield from decode_in_steps(kind, VALUE_VERSION, value, VERSION.size, max_elements=len(value))
    return message


def _batch(each: SnapshotBatch | UpdateBatch) -> StateBatch:
    return StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
