"""The state of a share partition as its coordinator keeps it: a start offset, and delivery states from there on."""

from __future__ import annotations

import enum
import heapq
import itertools
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import attrs

from kraft.metadata.steps import Steps
from kraft.wire.uuids import uuid_from_text, uuid_to_text

NO_START_OFFSET = -1
"""The state is initialised, and no leader has read it yet: the group's settings say where it begins."""
NOT_COUNTED = -1
NO_EPOCH = -1
"""In a request: do not compare the epoch."""


class DeliveryState(enum.IntEnum):
    """The state of a record in a share group, with Kafka's codes. No record is stored as acquired."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4


class SharePartitionKey(NamedTuple):
    """A partition of a topic, as one share group reads it."""

    group_id: str
    topic_id: UUID
    partition: int

    @property
    def coordinator_key(self) -> str:
        """The text whose hash chooses the partition of ``__share_group_state``, and the key of FindCoordinator."""
        return f"{self.group_id}:{uuid_to_text(self.topic_id)}:{self.partition}"

    @classmethod
    def from_text(cls, coordinator_key: str) -> SharePartitionKey:
        """Return the share partition with this ``coordinator_key``. A group id may have colons of its own.

        Raises ValueError if it is not ``group:topicId:partition``.
        """
        group_id, *rest = coordinator_key.rsplit(":", 2)
        if not group_id or len(rest) != 2:
            raise ValueError("not the key of a share partition: expected group:topicId:partition")
        topic_id, partition = rest
        return cls(group_id, uuid_from_text(topic_id), int(partition))


class StateBatch(NamedTuple):
    """The delivery state and count of the records from ``first_offset`` to ``last_offset``."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


@attrs.frozen
class ShareState:
    """The state of one share partition. ``leader_epoch`` is that of the last leader that read it."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...] = ()
    created_ms: int = 0
    written_ms: int = 0


def combined(batches: Sequence[StateBatch], start_offset: int) -> Steps[tuple[StateBatch, ...]]:
    """Return the batches without overlaps, in order, from ``start_offset`` on.

    Where batches overlap, the one with more deliveries counts, or else the later state, as in Apache's
    ``PersisterStateBatchCombiner``. Neighbours that are alike become one batch.
    """
    ordered = sorted(batches)
    bounds = sorted({each.first_offset for each in ordered} | {each.last_offset + 1 for each in ordered})
    yield len(ordered) // 10
    covering: list[tuple[int, int, int]] = []
    """A heap of the batches that began: the strongest first, with its end."""
    found: list[StateBatch] = []
    begun = 0
    for first, end in itertools.pairwise(bounds):
        while begun < len(ordered) and ordered[begun].first_offset <= first:
            each = ordered[begun]
            heapq.heappush(covering, (-each.delivery_count, -each.delivery_state, each.last_offset))
            begun += 1
        while covering and covering[0][2] < first:
            heapq.heappop(covering)
        if not covering or end <= start_offset:
            continue
        count, state = -covering[0][0], -covering[0][1]
        first = max(first, start_offset)
        if found and found[-1].last_offset + 1 == first and found[-1][2:] == (state, count):
            found[-1] = found[-1]._replace(last_offset=end - 1)
        else:
            found.append(StateBatch(first, end - 1, state, count))
        yield 1
    return tuple(found)
