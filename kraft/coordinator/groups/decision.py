"""One decision on a group: the records so far, and the group after them.

The coordinator first decides, and then takes over the group and appends the records. A request that is refused half-way
leaves nothing behind.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import attrs

from kraft.coordinator.groups.consumer.records import ConsumerGroupRecord
from kraft.coordinator.groups.rebalance import Step
from kraft.coordinator.groups.records import CoordinatorRecord
from kraft.coordinator.groups.share.records import ShareGroupRecord
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

_RECORD_BYTES = 20
"""At most the size of a record without its key and value."""
_BATCH_BYTES = 61
_REPLAYED_BYTES = 200
"""The size of a record whose replay takes as long as a step."""

G = TypeVar("G")
R = TypeVar("R", ConsumerGroupRecord, ShareGroupRecord)


@attrs.define
class ReplayedDecision(Generic[G, R]):
    """``group`` is None before it is created and once it is deleted."""

    step: Step
    group_id: str
    group: G | None
    records: list[CoordinatorRecord] = attrs.Factory(list)
    size: int = _BATCH_BYTES

    @property
    def draft(self) -> G:
        assert self.group is not None
        return self.group

    def replayed(self, record: R) -> G | None:
        """Return the group after a record."""
        raise NotImplementedError

    def add(self, *records: R) -> Steps[None]:
        """Add records, and replay them.

        Raises KafkaError COORDINATOR_NOT_AVAILABLE if too few replicas are in sync, UNKNOWN_SERVER_ERROR if the batch
        would exceed ``max.message.bytes``, as in Apache's ``CoordinatorRuntime``.
        """
        for record in records:
            self.append(record, record.size)
            self.group = self.replayed(record)
            yield 1 + record.size // _REPLAYED_BYTES

    def append(self, record: CoordinatorRecord, size: int) -> None:
        """Add a record that changes no draft. Raises KafkaError as :meth:`add`."""
        if not self.step.may_write():
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.size += _RECORD_BYTES + size
        if self.size > self.step.max_batch_bytes():
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The records of the group exceed max.message.bytes.")
        self.records.append(record)
