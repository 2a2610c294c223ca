"""One decision on a consumer group."""

from __future__ import annotations

import attrs

from kraft.coordinator.groups.consumer.group import ConsumerGroup
from kraft.coordinator.groups.consumer.records import ConsumerGroupRecord
from kraft.coordinator.groups.consumer.replay import replay
from kraft.coordinator.groups.decision import ReplayedDecision
from kraft.coordinator.groups.records import GroupRecord


@attrs.define
class GroupDecision(ReplayedDecision[ConsumerGroup, ConsumerGroupRecord]):
    """The draft is the group after the records so far."""

    def replayed(self, record: ConsumerGroupRecord) -> ConsumerGroup | None:
        return replay(self.group, record)

    def add_classic(self, record: GroupRecord) -> None:
        """Add a record of the classic group that has the same id, before or after this one. Raises KafkaError."""
        self.append(record, len(record.key) + len(record.value or b""))
