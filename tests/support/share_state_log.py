"""The log of ``__share_group_state`` on a broker's disk, and what it says of each record of a share group.

It has the writes of all leaders in the order in which the share coordinators took them, so it is the oracle of a share
group whose leaders and coordinators move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import attrs

from kraft.coordinator.share.records import ShareRecord, ShareUpdate, decode_share_record
from kraft.coordinator.share.state import NO_START_OFFSET, DeliveryState, SharePartitionKey, ShareState, StateBatch
from kraft.metadata.steps import finished
from kraft.records.batch import iter_headers
from kraft.records.record import read_records

MAX_BYTES = 1 << 20
FINAL = DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED


@attrs.define
class ShareHistory:
    """The records of one share partition, replayed, and each step that KIP-932 forbids.

    The oracle is for groups whose records no limit of deliveries archives: a leader may move its start offset past such
    a record before it is stored as archived.
    """

    start_offset: int = 0
    leader_epoch: int = 0
    states: dict[int, StateBatch] = attrs.Factory(dict)
    """By offset, from the start offset on: the last batch that has it."""
    acknowledged: set[int] = attrs.Factory(set)
    """All offsets that were ever stored so."""
    snapshots: int = 0
    violations: list[str] = attrs.Factory(list)

    def add(self, place: str, change: ShareState | ShareUpdate) -> None:
        """Apply a snapshot or an update. A violation is that it takes back an outcome, a delivery, the start offset or
        an epoch, or that its start offset goes past a record without an outcome. It is noted with ``place``.
        """
        new = {offset: each for each in change.batches for offset in range(each.first_offset, each.last_offset + 1)}
        start_offset = self.start_offset if change.start_offset == NO_START_OFFSET else change.start_offset
        violations = [
            f"offset {offset} was {self.states.get(offset, 'below the start offset')}, and is {each}"
            for offset, each in new.items()
            if not self._may_become(offset, each)
        ]
        if isinstance(change, ShareState):
            self.snapshots += 1
            lost = [offset for offset in self.states if offset >= start_offset and offset not in new]
            violations += [f"the snapshot has no state of offset {offset}" for offset in lost]
        passed = range(self.start_offset, start_offset)
        violations += [f"the start offset is past {offset}" for offset in passed if not self._is_final(offset)]
        if start_offset < self.start_offset:
            violations.append(f"the start offset was {self.start_offset}, and is {start_offset}")
        if change.leader_epoch < self.leader_epoch:
            violations.append(f"the leader epoch was {self.leader_epoch}, and is {change.leader_epoch}")
        self.violations += [f"{place}: {each}" for each in violations]
        self.acknowledged |= {offset for offset, each in new.items() if each.delivery_state == FINAL[0]}
        self.states = {offset: each for offset, each in (self.states | new).items() if offset >= start_offset}
        self.start_offset, self.leader_epoch = start_offset, change.leader_epoch

    def _is_final(self, offset: int) -> bool:
        return offset in self.states and self.states[offset].delivery_state in FINAL

    def _may_become(self, offset: int, new: StateBatch) -> bool:
        """Whether a record may have this state. A leader that got no answer writes the same state again."""
        if offset < self.start_offset:
            return False
        known = self.states.get(offset)
        if known is None:
            return True
        keeps_outcome = not self._is_final(offset) or new.delivery_state == known.delivery_state
        return keeps_outcome and new.delivery_count >= known.delivery_count


def share_histories(directory: Path) -> dict[SharePartitionKey, ShareHistory]:
    """The histories of all share partitions in the directory of one partition of ``__share_group_state``."""
    found: dict[SharePartitionKey, ShareHistory] = defaultdict(ShareHistory)
    for place, record in _stored(directory):
        if record.change is None:
            found.pop(record.share_partition, None)
        else:
            found[record.share_partition].add(place, record.change)
    return found


def _stored(directory: Path) -> Iterator[tuple[str, ShareRecord]]:
    """Each record and its place: its offset, and the epoch of the coordinator that appended it."""
    data = b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))
    for position, header in iter_headers(data):
        for record in () if header.is_control else read_records(data, position, header, max_bytes=MAX_BYTES):
            decoded = finished(decode_share_record(record.key, record.value))
            if decoded is not None:
                yield f"record {record.offset} of coordinator epoch {header.leader_epoch}", decoded
