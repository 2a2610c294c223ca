"""The offsets of open transactions (KIP-98, KIP-447): unstable until a marker commits or aborts their transaction.

Of several commits for one partition the last record in the log wins, whenever its transaction ends, as in Apache's
``OffsetMetadataManager``.
"""

from __future__ import annotations

import attrs

from kraft.coordinator.groups.records import CommittedOffset, OffsetRecord
from kraft.metadata.steps import Steps

TopicPartition = tuple[str, int]
_Keys = dict[TopicPartition, None]


@attrs.define
class TransactionalOffsets:
    """``by_group[group_id][topic, partition]`` has the offset of each producer with an open transaction, in the order
    of their records. None means that a later commit replaces it. ``appended`` holds the last record of each key that is
    appended but not committed.
    """

    by_group: dict[str, dict[TopicPartition, dict[int, CommittedOffset | None]]] = attrs.Factory(dict)
    appended: dict[str, dict[TopicPartition, OffsetRecord]] = attrs.Factory(dict)
    _of_producer: dict[int, dict[str, _Keys]] = attrs.Factory(dict)

    def is_unstable(self, group_id: str, key: TopicPartition) -> bool:
        return key in self.by_group.get(group_id, ()) or key in self.appended.get(group_id, ())

    def of(self, group_id: str, key: TopicPartition) -> list[CommittedOffset | None]:
        """Return the offsets of one partition, also those of records that are not committed."""
        found = list(self.by_group.get(group_id, {}).get(key, {}).values())
        record = self.appended.get(group_id, {}).get(key)
        return found if record is None else [*found, record.committed]

    def replay(self, record: OffsetRecord) -> None:
        """Apply one committed record of an open transaction."""
        group_id, key = record.group_id, (record.topic, record.partition)
        producers = self.by_group.setdefault(group_id, {}).setdefault(key, {})
        producers.pop(record.producer_id, None)
        producers[record.producer_id] = record.committed
        self._of_producer.setdefault(record.producer_id, {}).setdefault(group_id, {})[key] = None

    def replaced(self, group_id: str, key: TopicPartition) -> None:
        """Note a later commit of the same offset, outside of these transactions. The offset stays unstable."""
        producers = self.by_group.get(group_id, {}).get(key, {})
        for producer_id in producers:
            producers[producer_id] = None

    def deleted(self, group_id: str, key: TopicPartition) -> None:
        """Forget the offset of a partition, whose tombstone is committed."""
        for producer_id in list(self.by_group.get(group_id, {}).get(key, ())):
            self._remove(group_id, key, producer_id)
            groups = self._of_producer[producer_id]
            del groups[group_id][key]
            if not groups[group_id]:
                del groups[group_id]
            if not groups:
                del self._of_producer[producer_id]

    def end(
        self, producer_id: int, by_group: dict[str, dict[TopicPartition, CommittedOffset]], *, is_committed: bool
    ) -> Steps[None]:
        """End the transaction of a producer. Its offsets go to ``by_group`` if it is committed.

        Each offset changes as it becomes stable: OffsetFetch may read between two steps.
        """
        for group_id, keys in self._of_producer.pop(producer_id, {}).items():
            for key in keys:
                if is_committed:
                    self._commit(group_id, key, producer_id, by_group)
                self._remove(group_id, key, producer_id)
                yield 1

    def _commit(
        self,
        group_id: str,
        key: TopicPartition,
        producer_id: int,
        by_group: dict[str, dict[TopicPartition, CommittedOffset]],
    ) -> None:
        producers = self.by_group[group_id][key]
        for earlier in producers:
            if earlier == producer_id:
                break
            producers[earlier] = None
        offset = producers[producer_id]
        if offset is not None:
            by_group.setdefault(group_id, {})[key] = offset

    def _remove(self, group_id: str, key: TopicPartition, producer_id: int) -> None:
        table = self.by_group[group_id]
        del table[key][producer_id]
        if not table[key]:
            del table[key]
        if not table:
            del self.by_group[group_id]
