"""The consumer groups of one partition of ``__consumer_offsets``, and the timeouts of their members.

``groups`` are the groups with all appended records, on which the coordinator decides. ``committed`` are those with the
committed records only: clients see no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container

import attrs

from kraft.coordinator.core import NO_DEADLINE, CoordinatorRequest
from kraft.coordinator.groups.configured import configured_s
from kraft.coordinator.groups.consumer.committers import EPOCHS_VERSION, check_commit, check_fetch
from kraft.coordinator.groups.consumer.decision import GroupDecision
from kraft.coordinator.groups.consumer.group import ConsumerGroup, ConsumerMember, MemberState
from kraft.coordinator.groups.consumer.records import ConsumerGroupRecord, group_tombstones
from kraft.coordinator.groups.consumer.replay import replay
from kraft.coordinator.groups.group import Group
from kraft.coordinator.groups.rebalance import CoordinatorSettings, Step, join_error
from kraft.messages.join_group_request import JoinGroupRequest
from kraft.messages.offset_commit_request import OffsetCommitRequest
from kraft.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

_RETRY_AFTER_S = 1.0
"""Not a Kafka setting. The pause before the coordinator tries again to fence a member."""


@attrs.define
class Timeouts:
    """When the session of each member ends, and when a member must have revoked its partitions.

    A revocation belongs to the member epoch in which it began.
    """

    sessions: dict[str, float] = attrs.Factory(dict)
    revocations: dict[str, tuple[float, int]] = attrs.Factory(dict)
    requests: dict[str, float] = attrs.Factory(dict)
    """When a classic member must have sent its next JoinGroup or SyncGroup."""

    def revoke(self, now: float, member: ConsumerMember) -> None:
        """Give a member its rebalance timeout to revoke partitions, if it has any to revoke."""
        if member.state is MemberState.UNREVOKED_PARTITIONS and member.classic is None:
            self.revocations[member.member_id] = now + member.rebalance_timeout_s, member.member_epoch
        else:
            self.revocations.pop(member.member_id, None)

    def keep(self, members: Container[str]) -> None:
        """Forget the timeouts of all others."""
        self.sessions = {each: at for each, at in self.sessions.items() if each in members}
        self.revocations = {each: at for each, at in self.revocations.items() if each in members}
        self.requests = {each: at for each, at in self.requests.items() if each in members}

    def deadline(self) -> float:
        return min(
            min(self.sessions.values(), default=NO_DEADLINE),
            min((at for at, _ in self.revocations.values()), default=NO_DEADLINE),
            min(self.requests.values(), default=NO_DEADLINE),
        )


@attrs.define
class SearchState:
    """The last search for the topics of a group's regular expressions. ``topic_ids`` are the topics that it saw."""

    at_s: float
    topic_ids: object = None
    is_under_way: bool = False


@attrs.define
class ConsumerGroups:
    """``image`` returns the metadata of topics as this broker knows it."""

    image: Callable[[], Image]
    groups: dict[str, ConsumerGroup] = attrs.Factory(dict)
    committed: dict[str, ConsumerGroup] = attrs.Factory(dict)
    timeouts: dict[str, Timeouts] = attrs.Factory(dict)
    _seen: dict[str, object] = attrs.Factory(dict)
    """The topics with which the metadata hash of each group was computed."""
    _searches: dict[str, SearchState] = attrs.Factory(dict)

    # Decisions.

    def has_seen(self, group_id: str, image: Image) -> bool:
        return self._seen.get(group_id) is image.topics

    def decided(self, decision: GroupDecision) -> None:
        """Take over a decision."""
        decision.step.effects.append += decision.records
        group_id, group = decision.group_id, decision.group
        if group is None:
            self.groups.pop(group_id, None)
            self.timeouts.pop(group_id, None)
            self._seen.pop(group_id, None)
            self._searches.pop(group_id, None)
            return
        self.groups[group_id] = group
        timeouts = self.timeouts.setdefault(group_id, Timeouts())
        if len(timeouts.sessions) > len(group.members):
            timeouts.keep(group.members)

    def saw(self, group_id: str, image: Image) -> None:
        """The metadata hash of the group is that of ``image``."""
        self._seen[group_id] = image.topics

    def search_of(self, step: Step, group: ConsumerGroup) -> SearchState:
        """Return the state of the group's searches. Records have the time of those before this coordinator. A time of
        the future, by a clock that was ahead, counts as none.
        """
        state = self._searches.get(group.group_id)
        if state is None:
            last_ms = max((each.timestamp_ms for each in group.regexes.values()), default=math.inf)
            age_s = (step.timestamp_ms - last_ms) / 1000
            state = SearchState(step.now - age_s if age_s >= 0 else -math.inf)
            self._searches[group.group_id] = state
        return state

    def delete(self, step: Step, group_id: str) -> Steps[None]:
        """Delete a group without members.

        Raises KafkaError COORDINATOR_NOT_AVAILABLE if too few replicas are in sync.
        """
        group = self.groups[group_id]
        decision = GroupDecision(step, group_id, group)
        yield from decision.add(*group_tombstones(group))
        self.decided(decision)

    def has_members(self, group_id: str) -> bool:
        group = self.groups.get(group_id)
        return group is not None and bool(group.members)

    def gives_way(self, step: Step, classic: dict[str, Group], request: CoordinatorRequest) -> Steps[bool]:
        """Make an empty group a classic one, whose id a classic member takes. Refuse the JoinGroup if that cannot be
        appended. The classic group stays if the JoinGroup is refused after all: the offsets need a group to expire.
        """
        message: JoinGroupRequest = request.message
        if message.group_id not in self.groups:
            return True
        try:
            yield from self.delete(step, message.group_id)
        except KafkaError as refused:
            step.reply(request.token, join_error(request.version, refused.code, message.member_id))
            return False
        classic[message.group_id] = Group(message.group_id, state_since_ms=step.timestamp_ms)
        return True

    def check_commit(self, message: OffsetCommitRequest, version: int) -> Steps[None]:
        """Raises KafkaError as :func:`.committers.check_commit`."""
        partitions = ((topic.name, each.partition_index) for topic in message.topics for each in topic.partitions)
        epoch = message.generation_id_or_member_epoch
        group = self.groups[message.group_id]
        yield from check_commit(group, message.member_id, epoch, version, partitions, self.image())

    def check_transactional_commit(self, message: TxnOffsetCommitRequest) -> Steps[None]:
        """Check the sender of TxnOffsetCommit, if the request names a member: the request may leave it out.

        Raises KafkaError UNKNOWN_MEMBER_ID, or ILLEGAL_GENERATION for a stale member epoch, which this API does not
        have.
        """
        if message.generation_id < 0 and not message.member_id and message.group_instance_id is None:
            return
        partitions = ((topic.name, each.partition_index) for topic in message.topics for each in topic.partitions)
        group, epoch = self.groups[message.group_id], message.generation_id
        try:
            yield from check_commit(group, message.member_id, epoch, EPOCHS_VERSION, partitions, self.image())
        except KafkaError as refused:
            if refused.code is not ErrorCode.STALE_MEMBER_EPOCH:
                raise
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION) from None

    def check_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """Raises KafkaError as :func:`.committers.check_fetch`."""
        group = self.committed.get(group_id)
        if group is not None:
            check_fetch(group, member_id, epoch)

    # Timeouts.

    def configured_s(self, settings: CoordinatorSettings, group_id: str, name: str, default_s: float) -> float:
        """Return a setting of the group in seconds within the broker's limits, or the broker's setting."""
        return configured_s(self.image(), group_id, name, default_s, settings.group_limits)

    def _session_timeout_s(self, settings: CoordinatorSettings, group_id: str, member: ConsumerMember) -> float:
        """Classic members bring their session timeout."""
        if member.classic is not None:
            return member.classic.session_timeout_ms / 1000
        default_s = settings.consumer.session_timeout_s
        return self.configured_s(settings, group_id, "consumer.session.timeout.ms", default_s)

    def start(self, now: float, settings: CoordinatorSettings, group_id: str, member_id: str) -> None:
        """Start the session of a classic member whose group was upgraded."""
        member = self.groups[group_id].members.get(member_id)
        if member is not None:
            self.timeouts[group_id].sessions[member_id] = now + self._session_timeout_s(settings, group_id, member)

    def alive(self, step: Step, group_id: str, member: ConsumerMember, *, moved: bool) -> None:
        """Restart the session of a member, and its rebalance timeout if it moved to a new state."""
        timeouts = self.timeouts.setdefault(group_id, Timeouts())
        timeouts.sessions[member.member_id] = step.now + self._session_timeout_s(step.settings, group_id, member)
        if moved:
            timeouts.revoke(step.now, member)

    def await_request(self, step: Step, group_id: str, member: ConsumerMember, *, only_first: bool = False) -> None:
        """Give a classic member its rebalance timeout for the next JoinGroup or SyncGroup.

        With ``only_first`` a timeout that runs already is kept.
        """
        requests = self.timeouts[group_id].requests
        if not only_first or member.member_id not in requests:
            requests[member.member_id] = step.now + member.rebalance_timeout_s

    def arrived(self, group_id: str, member: ConsumerMember) -> None:
        """A classic member has its assignment, and nothing more to request."""
        self.timeouts[group_id].requests.pop(member.member_id, None)

    def deadline(self, group_id: str) -> float:
        timeouts = self.timeouts.get(group_id)
        return NO_DEADLINE if timeouts is None else timeouts.deadline()

    def late(self, now: float, group_id: str) -> list[str]:
        """Return the members whose session or rebalance timeout has passed."""
        group, timeouts = self.groups.get(group_id), self.timeouts.get(group_id)
        if group is None or timeouts is None:
            return []
        late = {member_id: None for member_id, at in timeouts.sessions.items() if at <= now}
        late.update((member_id, None) for member_id, at in timeouts.requests.items() if at <= now)
        for member_id, (at, epoch) in list(timeouts.revocations.items()):
            if at <= now:
                member = group.members.get(member_id)
                if member is not None and member.member_epoch == epoch:
                    late[member_id] = None
                else:
                    del timeouts.revocations[member_id]
        if any(member_id not in group.members for member_id in late):
            timeouts.keep(group.members)  # a static member returned under another id
        return [member_id for member_id in late if member_id in group.members]

    def retry(self, now: float, group_id: str, member_id: str) -> None:
        """Fence a member later: its removal cannot be appended now. The timeout that has passed stays passed, although
        a heartbeat of the member restarts its session.
        """
        timeouts, retry_at = self.timeouts[group_id], now + _RETRY_AFTER_S
        for running in (timeouts.sessions, timeouts.requests):
            if running.get(member_id, NO_DEADLINE) <= now:
                running[member_id] = retry_at
        at, epoch = timeouts.revocations.get(member_id, (NO_DEADLINE, 0))
        if at <= now:
            timeouts.revocations[member_id] = retry_at, epoch

    # Records.

    def commit(self, record: ConsumerGroupRecord) -> None:
        """Show a committed record to clients."""
        _replay(self.committed, record)

    def load(self, record: ConsumerGroupRecord) -> None:
        _replay(self.groups, record)

    def begin(self, now: float, settings: CoordinatorSettings) -> Steps[None]:
        """Start the timeouts of the loaded members."""
        self.committed = dict(self.groups)
        for group_id, group in self.groups.items():
            timeouts = self.timeouts[group_id] = Timeouts()
            for member_id, member in group.members.items():
                timeouts.sessions[member_id] = now + self._session_timeout_s(settings, group_id, member)
                timeouts.revoke(now, member)
                yield 1
            yield 1


def _replay(groups: dict[str, ConsumerGroup], record: ConsumerGroupRecord) -> None:
    group = replay(groups.get(record.group_id), record)
    if group is None:
        groups.pop(record.group_id, None)
    else:
        groups[record.group_id] = group
