"""The share groups of one partition of ``__consumer_offsets``, and the sessions of their members.

``groups`` are the groups with all appended records, on which the coordinator decides. ``committed`` are those with the
committed records only: clients see no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from uuid import UUID

import attrs

from kraft.coordinator.core import NO_DEADLINE, Token
from kraft.coordinator.groups.configured import configured_s
from kraft.coordinator.groups.rebalance import CoordinatorSettings, Step
from kraft.coordinator.groups.share.decision import ShareDecision
from kraft.coordinator.groups.share.effects import StateRequest
from kraft.coordinator.groups.share.group import ShareGroup
from kraft.coordinator.groups.share.records import ShareGroupRecord
from kraft.coordinator.groups.share.replay import replay
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps

_RETRY_AFTER_S = 1.0
"""Not a Kafka setting. The pause before the coordinator tries again to fence a member."""


@attrs.define
class ShareGroups:
    """``image`` returns the metadata of topics as this broker knows it. ``waiting`` are the clients of the requests to
    the share coordinator.
    """

    image: Callable[[], Image]
    groups: dict[str, ShareGroup] = attrs.Factory(dict)
    committed: dict[str, ShareGroup] = attrs.Factory(dict)
    waiting: list[Token] = attrs.Factory(list)
    sessions: dict[str, dict[str, float]] = attrs.Factory(dict)
    initializing_since: dict[str, float] = attrs.Factory(dict)
    """When the share coordinator was last asked to initialize the group's states."""
    asked: set[StateRequest] = attrs.Factory(set)
    """The requests to the share coordinator that it has not answered."""
    began_at: float = -math.inf
    """When this coordinator began: requests of the one before may be under way."""
    _seen: dict[str, object] = attrs.Factory(dict)
    """The topics with which the metadata hash of each group was computed."""

    # Decisions.

    def has_seen(self, group_id: str, image: Image) -> bool:
        return self._seen.get(group_id) is image.topics

    def saw(self, group_id: str, image: Image) -> None:
        """The metadata hash of the group is that of ``image``."""
        self._seen[group_id] = image.topics

    def decided(self, decision: ShareDecision) -> None:
        """Take over a decision."""
        decision.step.effects.append += decision.records
        group_id, group = decision.group_id, decision.group
        if group is None:
            for table in (self.groups, self.sessions, self.initializing_since, self._seen):
                table.pop(group_id, None)
            return
        self.groups[group_id] = group
        sessions = self.sessions.get(group_id, {})
        if len(sessions) > len(group.members):
            self.sessions[group_id] = {each: at for each, at in sessions.items() if each in group.members}

    def ask(self, decision: ShareDecision, request: StateRequest) -> None:
        """Ask the share coordinator once the decision is committed."""
        if request.token is not None:
            self.waiting.append(request.token)
        self.asked.add(request)
        decision.step.effects.state_requests.append(request)

    def is_under_way(
        self, step: Step, group_id: str, kind: type[StateRequest], topic_id: UUID | None = None, *, noted: bool
    ) -> bool:
        """Return whether a request may still change the states of a group, or of one topic.

        ``noted`` states may have one of an earlier coordinator, for ``group.share.initialize.retry.interval.ms``.
        """
        if noted and step.now - self.began_at < step.settings.share.initialize_retry_interval_s:
            return True
        return any(
            isinstance(each, kind) and each.group_id == group_id and (topic_id is None or topic_id in each.topics)
            for each in self.asked
        )

    # Sessions.

    def configured_s(self, settings: CoordinatorSettings, group_id: str, name: str, default_s: float) -> float:
        """Return a setting of the group in seconds within the broker's limits, or the broker's setting."""
        return configured_s(self.image(), group_id, name, default_s, settings.group_limits)

    def alive(self, now: float, group_id: str, member_id: str, settings: CoordinatorSettings) -> None:
        """Restart the session of a member."""
        default_s = settings.share.session_timeout_s
        timeout_s = self.configured_s(settings, group_id, "share.session.timeout.ms", default_s)
        self.sessions.setdefault(group_id, {})[member_id] = now + timeout_s

    def deadline(self, group_id: str) -> float:
        return min(self.sessions.get(group_id, {}).values(), default=NO_DEADLINE)

    def late(self, now: float, group_id: str) -> list[str]:
        """Return the members whose session has ended."""
        return [member_id for member_id, at in self.sessions.get(group_id, {}).items() if at <= now]

    def retry(self, now: float, group_id: str, member_id: str) -> None:
        """Fence a member later: its removal cannot be appended now."""
        self.sessions[group_id][member_id] = now + _RETRY_AFTER_S

    # Records.

    def commit(self, record: ShareGroupRecord) -> None:
        """Show a committed record to clients."""
        _replay(self.committed, record)

    def load(self, record: ShareGroupRecord) -> None:
        _replay(self.groups, record)

    def begin(self, now: float, settings: CoordinatorSettings) -> Steps[None]:
        """Start the sessions of the loaded members. Another coordinator may have asked for states just before."""
        self.committed = dict(self.groups)
        self.began_at = now
        for group_id, group in self.groups.items():
            self.initializing_since[group_id] = now
            for member_id in group.members:
                self.alive(now, group_id, member_id, settings)
                yield 1
            yield 1


def _replay(groups: dict[str, ShareGroup], record: ShareGroupRecord) -> None:
    group = replay(groups.get(record.group_id), record)
    if group is None:
        groups.pop(record.group_id, None)
    else:
        groups[record.group_id] = group
