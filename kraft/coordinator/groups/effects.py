"""The effects of a step of the group coordinator."""

from __future__ import annotations

import attrs

from kraft.coordinator.core import CoordinatorEffects
from kraft.coordinator.groups.records import CoordinatorRecord
from kraft.coordinator.groups.share.effects import StateRequest
from kraft.metadata.image import Image


@attrs.frozen(eq=False)
class RegexSearch:
    """Find the topics of ``image`` whose names match the regular expressions of a group, and report them with
    :class:`~kraft.coordinator.groups.consumer.regexes.RegexesResolved`.
    """

    group_id: str
    regexes: tuple[str, ...]
    image: Image
    timestamp_ms: int


@attrs.define
class GroupEffects(CoordinatorEffects[CoordinatorRecord]):
    """``searches`` are the searches for topics. A group has one at a time. ``state_requests`` go to the share
    coordinator.
    """

    searches: list[RegexSearch] = attrs.Factory(list)
    state_requests: list[StateRequest] = attrs.Factory(list)
