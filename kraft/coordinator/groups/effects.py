"""The effects of a step of the group coordinator."""

from __future__ import annotations

from enum import Enum

import attrs

from kraft.coordinator.core import CoordinatorEffects, Token
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


class Counted(Enum):
    """The events of ``GroupCoordinatorMetrics``. A value is the beginning of the names of its metrics.

    Only OffsetDelete counts as a deletion. A rebalance of KIP-848 or KIP-932 is a group epoch that a subscription or
    the metadata of a topic raised. Apache does not count an epoch that a leaving member raised.
    """

    OFFSET_COMMITS = "offset-commit"
    OFFSET_EXPIRATIONS = "offset-expiration"
    OFFSET_DELETIONS = "offset-deletion"
    CLASSIC_REBALANCES = "group-completed-rebalance"
    CONSUMER_REBALANCES = "consumer-group-rebalance"
    SHARE_REBALANCES = "share-group-rebalance"


@attrs.define
class GroupEffects(CoordinatorEffects[CoordinatorRecord]):
    """``searches`` are the searches for topics. A group has one at a time. ``state_requests`` go to the share
    coordinator. ``counted`` are numbers for the metrics.
    """

    searches: list[RegexSearch] = attrs.Factory(list)
    state_requests: list[StateRequest] = attrs.Factory(list)
    counted: tuple[tuple[Counted, int], ...] = ()

    def waiting_for_commit(self) -> list[Token]:
        asking = [request.token for request in self.state_requests if request.token is not None]
        return [*super().waiting_for_commit(), *asking]
