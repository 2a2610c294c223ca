"""Subscriptions by a regular expression: when the coordinator searches for topics, and what it does with the result.

The driver searches on worker threads. The members wait meanwhile with the topics that they have. Source:
``ConsumerGroup.maybeUpdateRegularExpressions`` and ``GroupMetadataManager.handleRegularExpressionsResult``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from kraft.coordinator.groups.consumer.decision import GroupDecision
from kraft.coordinator.groups.consumer.group import ConsumerGroup, ConsumerMember, ResolvedRegex
from kraft.coordinator.groups.consumer.records import group_metadata, regex_tombstone, resolved_regex
from kraft.coordinator.groups.consumer.registry import ConsumerGroups
from kraft.coordinator.groups.consumer.target import metadata_hash
from kraft.coordinator.groups.effects import Counted, RegexSearch
from kraft.coordinator.groups.rebalance import Step
from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.wire.errors import KafkaError

MIN_PAUSE_S = 10.0
"""Apache's ``REGEX_BATCH_REFRESH_MIN_INTERVAL_MS``. The shortest time between two searches for one group."""


@attrs.frozen
class InvalidRegexHeartbeat:
    """A heartbeat whose expression is invalid. ``refused`` is the answer to a member whom nothing else refuses."""

    message: ConsumerGroupHeartbeatRequest
    refused: KafkaError

    @property
    def group_id(self) -> str:
        return self.message.group_id


@attrs.frozen
class RegexesResolved:
    """The driver has finished a search. ``image`` is that of the search."""

    group_id: str
    resolved: Mapping[str, ResolvedRegex]
    image: Image


def drop_unused(decision: GroupDecision, left: Iterable[ConsumerMember]) -> Steps[None]:
    """Delete the topics of expressions that no member has any more. ``left`` had them before the decision."""
    group = decision.draft
    found = {member.regex for member in left if member.regex in group.regexes}
    if found:
        tombstones = [regex_tombstone(group.group_id, each) for each in sorted(found - _subscribed(group))]
        yield from decision.add(*tombstones)


def _subscribed(group: ConsumerGroup) -> set[str]:
    return {member.regex for member in group.members.values() if member.regex}


def search_if_due(
    step: Step, consumers: ConsumerGroups, group: ConsumerGroup, member: ConsumerMember, image: Image
) -> None:
    """Begin a search for new expressions and new topics, and again every ``group.consumer.regex.refresh.interval.ms``.

    The heartbeats of a group begin it, at most every ``MIN_PAUSE_S``.
    """
    if not member.regex and not group.regexes:
        return
    state = consumers.search_of(step, group)
    if state.is_under_way or step.now <= state.at_s + MIN_PAUSE_S:
        return
    is_unresolved = bool(member.regex) and member.regex not in group.regexes
    is_old = step.now > state.at_s + step.settings.consumer.regex_refresh_interval_s
    if is_unresolved or is_old or state.topic_ids is not image.topic_ids:
        state.is_under_way = True
        regexes = tuple(sorted(_subscribed(group)))
        step.effects.searches.append(RegexSearch(group.group_id, regexes, image, step.timestamp_ms))


def resolved(step: Step, consumers: ConsumerGroups, event: RegexesResolved) -> Steps[None]:
    """Record the topics of each expression that a member still has. If they changed, the group epoch rises.

    If the records cannot be appended, the next search repeats them.
    """
    group = consumers.groups.get(event.group_id)
    if group is None:
        return
    state = consumers.search_of(step, group)
    state.is_under_way, state.at_s = False, step.now
    decision = GroupDecision(step, group.group_id, group)
    subscribed = _subscribed(group)
    try:
        has_changed = False
        for regex, found in sorted(event.resolved.items()):
            if regex in subscribed:
                before = group.regexes.get(regex)
                has_changed = has_changed or found.topics != (frozenset() if before is None else before.topics)
                yield from decision.add(resolved_regex(group.group_id, regex, found))
        if has_changed:
            topics = yield from metadata_hash(decision.draft, event.image)
            yield from decision.add(group_metadata(group.group_id, group.epoch + 1, topics))
            step.count(Counted.CONSUMER_REBALANCES)
    except KafkaError:
        return
    state.topic_ids = event.image.topic_ids
    consumers.decided(decision)
    consumers.saw(group.group_id, event.image)
