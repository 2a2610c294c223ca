"""The reconciliation of one member with its target assignment: revoke before assign.

A member first gives up the partitions that are not in its target, and reports by a heartbeat that it does not own them
any more. It then moves to the assignment epoch, and gets each partition of its target once no other member holds it.
Source: ``CurrentAssignmentBuilder``.
"""

from __future__ import annotations

from uuid import UUID

import attrs

from kraft.coordinator.groups.consumer.group import (
    ConsumerGroup,
    ConsumerMember,
    MemberState,
    OwnedPartitions,
    TopicPartitions,
)
from kraft.messages.consumer_group_heartbeat_request import OwnedTopicPartitions
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

_AT_ONCE = 100
"""The partitions of a topic that are divided in a step."""


@attrs.frozen
class Reconciliation:
    """One member, its group, and the partitions that it owns by its own account, None if it reported none."""

    group: ConsumerGroup
    member: ConsumerMember
    image: Image
    owned: list[OwnedTopicPartitions] | None

    def next(self, *, subscription_changed: bool) -> Steps[ConsumerMember]:
        """Return the member after the next step, or the same one if it must wait.

        Raises KafkaError FENCED_MEMBER_EPOCH if a newer Kafka left the member in an unknown state.
        """
        member = self.member
        if member.state is MemberState.STABLE and member.member_epoch == self.group.assignment_epoch:
            return (yield from self._unsubscribed()) if subscription_changed else member
        if member.state is MemberState.UNREVOKED_PARTITIONS and self._owns_any(member.revoking):
            return (yield from self._unsubscribed()) if subscription_changed else member
        if member.state is MemberState.UNKNOWN and self.owned != []:
            text = "The consumer group member is in an unknown state. It must abandon its partitions and rejoin."
            raise KafkaError(ErrorCode.FENCED_MEMBER_EPOCH, text)
        return (yield from self._towards_target())

    def _owns_any(self, revoking: OwnedPartitions) -> bool:
        """Return whether the member reports one of the partitions. It may own any of them if it reported none."""
        if self.owned is None:
            return True
        return any(
            partition in revoking.get(topic.topic_id, ()) for topic in self.owned for partition in topic.partitions
        )

    def _target(self) -> TopicPartitions:
        """The member's target without the topics to which it subscribes no more."""
        target, subscribed = self.group.target.get(self.member.member_id, {}), self._subscribed()
        return {topic_id: partitions for topic_id, partitions in target.items() if topic_id in subscribed}

    def _subscribed(self) -> frozenset[UUID]:
        ids = self.image.topic_ids
        return frozenset(ids[name] for name in self.group.topics_of(self.member) if name in ids)

    def _unsubscribed(self) -> Steps[ConsumerMember]:
        """Revoke the topics to which the member subscribes no more."""
        member, subscribed = self.member, self._subscribed()
        yield len(member.assigned)
        gone = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in subscribed}
        if not gone:
            return member
        assigned = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id in subscribed}
        revoking = dict(member.revoking)
        for topic_id, epochs in gone.items():
            revoking[topic_id] = {**revoking.get(topic_id, {}), **epochs}
        if self._owns_any(revoking):
            return member.moved(member.member_epoch, MemberState.UNREVOKED_PARTITIONS, assigned, revoking)
        return member.moved(member.member_epoch, member.state, assigned, member.revoking)

    def _towards_target(self) -> Steps[ConsumerMember]:
        member, group = self.member, self.group
        target = self._target()
        assigned: dict[UUID, dict[int, int]] = {}
        revoking: dict[UUID, dict[int, int]] = {}
        free: dict[UUID, list[int]] = {}
        has_unreleased = False
        for topic_id in sorted({*target, *member.assigned}):
            wanted, current = target.get(topic_id, frozenset()), member.assigned.get(topic_id, {})
            yield 1 + len(wanted) // _AT_ONCE + len(current) // _AT_ONCE
            kept = {each: epoch for each, epoch in current.items() if each in wanted}
            lost = {each: epoch for each, epoch in current.items() if each not in wanted}
            missing = [each for each in sorted(wanted) if each not in kept]
            # The member itself may still hold a partition that it was asked to revoke.
            unowned = [each for each in missing if group.owners.get((topic_id, each)) in (None, member.member_id)]
            has_unreleased = has_unreleased or len(unowned) < len(missing)
            for table, part in ((assigned, kept), (revoking, lost)):
                if part:
                    table[topic_id] = part
            if unowned:
                free[topic_id] = unowned
        if revoking and self._owns_any(revoking):
            return member.moved(member.member_epoch, MemberState.UNREVOKED_PARTITIONS, assigned, revoking)
        epoch = group.assignment_epoch
        for topic_id, partitions in free.items():
            assigned[topic_id] = {**assigned.get(topic_id, {}), **dict.fromkeys(partitions, epoch)}
        state = MemberState.UNRELEASED_PARTITIONS if has_unreleased else MemberState.STABLE
        return member.moved(epoch, state, assigned, {})
