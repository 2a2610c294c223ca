"""What an active controller does unasked: leadership goes back to preferred replicas, and partitions that nobody in
sync can lead get an unclean leader where the topic has come to allow it.

Each is looked after at an interval: auto.leader.rebalance.enable with leader.imbalance.check.interval.seconds, and
every five minutes. Partitions without a leader also when unclean.leader.election.enable changes. A look makes
MAX_ELECTIONS at most, so that requests get their turn; the next one follows soon if there may be more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import attrs

from kraft.controller.context import Context, ControllerConfig
from kraft.controller.elections import MAX_ELECTIONS, balanced, unclean
from kraft.messages.config_record import ConfigRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.image import Image
from kraft.metadata.index import LEADERLESS, NOT_PREFERRED

_UNCLEAN_INTERVAL_MS = 300_000
_SOON_MS = 10

Records = tuple[PartitionChangeRecord, ...]


@attrs.define
class _Check:
    """A look at the partitions under a key of the index, due again at ``due_ms`` if there are any."""

    key: int
    elect: Callable[[Context], Records]
    interval_ms: float
    due_ms: float


class Upkeep:
    """When which look is due. Times are milliseconds on the caller's clock."""

    def __init__(self, config: ControllerConfig, now_ms: float) -> None:
        interval_ms = config.leader_imbalance_check_interval_ms if config.auto_leader_rebalance_enable else math.inf
        self._balance = _Check(NOT_PREFERRED, balanced, interval_ms, now_ms + interval_ms)
        self._unclean = _Check(LEADERLESS, unclean, _UNCLEAN_INTERVAL_MS, now_ms + _UNCLEAN_INTERVAL_MS)

    def deadline_ms(self, image: Image) -> float:
        """When something is to be done; infinity for never."""
        return min((check.due_ms for check in self._checks() if check.key in image.index), default=math.inf)

    def skip(self, now_ms: float, image: Image) -> None:
        """Put off the looks that were due with nothing to look at: what comes up now waits for an interval."""
        for check in self._checks():
            if check.due_ms <= now_ms and check.key not in image.index:
                check.due_ms = now_ms + check.interval_ms

    def replayed(self, records: Iterable[object]) -> None:
        """Look at once at what has no leader if it may now have an unclean one."""
        if any(isinstance(r, ConfigRecord) and r.name == "unclean.leader.election.enable" for r in records):
            self._unclean.due_ms = -math.inf

    def do(self, context: Context) -> Records:
        """The records of one look that is due, if one is."""
        for check in self._checks():
            if check.due_ms <= context.now_ms:
                records = check.elect(context)
                more = len(records) == MAX_ELECTIONS
                check.due_ms = context.now_ms + (_SOON_MS if more else check.interval_ms)
                return records
        return ()

    def _checks(self) -> tuple[_Check, _Check]:
        return self._unclean, self._balance
