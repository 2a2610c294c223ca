"""One decision on a share group."""

from __future__ import annotations

import attrs

from kraft.coordinator.groups.decision import ReplayedDecision
from kraft.coordinator.groups.share.group import ShareGroup
from kraft.coordinator.groups.share.records import ShareGroupRecord
from kraft.coordinator.groups.share.replay import replay


@attrs.define
class ShareDecision(ReplayedDecision[ShareGroup, ShareGroupRecord]):
    """The draft is the group after the records so far."""

    def replayed(self, record: ShareGroupRecord) -> ShareGroup | None:
        return replay(self.group, record)
