"""The periodic work of an active controller: preferred leaders, and leaders for partitions without one.

Preferred leaders: auto.leader.rebalance.enable, every leader.imbalance.check.interval.seconds. Partitions without a
leader: every five minutes, when a broker is unfenced, when unclean.leader.election.enable changes, and after a
failover, because the predecessor may not have finished. A step examines ``partitions_at_once`` partitions, so that
other requests run in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import attrs

from kraft.controller.context import Context, ControllerConfig
from kraft.controller.elections import led_again, preferred
from kraft.controller.walk import Found, Walk
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.config_record import ConfigRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.image import Image
from kraft.metadata.index import LEADERLESS, NOT_PREFERRED

_LEADERLESS_INTERVAL_S = 300.0
_UNFENCED = -1

Records = tuple[PartitionChangeRecord, ...]


@attrs.define
class _Check:
    """A periodic check of the partitions under a key of the index, due again at ``due_at`` if there are any."""

    key: int
    elect: Callable[[Context, Found], PartitionChangeRecord | None]
    interval_s: float
    due_at: float
    walk: Walk | None = None

    def deadline(self, image: Image) -> float:
        if self.walk is not None:
            return -math.inf
        return self.due_at if self.key in image.index else math.inf

    def do(self, context: Context) -> Records:
        """The records of the next partitions."""
        if self.walk is None:
            self.walk = Walk(context.image, self.key)
            self.due_at = context.now + self.interval_s
        found = self.walk.some(context.image, context.config.partitions_at_once)
        if self.walk.finished:
            self.walk = None
        changes = (self.elect(context, each) for each in found)
        return tuple(record for record in changes if record is not None)


class Upkeep:
    """The schedule of the checks. Times are seconds on the caller's clock."""

    def __init__(self, config: ControllerConfig, now: float) -> None:
        interval_s = config.leader_imbalance_check_interval_s if config.auto_leader_rebalance_enable else math.inf
        self._balance = _Check(NOT_PREFERRED, preferred, interval_s, now + interval_s)
        self._leaderless = _Check(LEADERLESS, led_again, _LEADERLESS_INTERVAL_S, -math.inf)

    def deadline(self, image: Image) -> float:
        """When the next check is due; infinity for never, and minus infinity while a check is unfinished."""
        return min(check.deadline(image) for check in self._checks())

    def skip(self, now: float, image: Image) -> None:
        """Put off the checks that were due without a partition to examine: a partition that comes later waits for an
        interval.
        """
        for check in self._checks():
            if check.due_at <= now and check.key not in image.index:
                check.due_at = now + check.interval_s

    def replayed(self, records: Iterable[object]) -> None:
        """Make the check of partitions without a leader due, if one of ``records`` may bring a leader."""
        if any(map(_may_bring_leaders, records)):
            self._leaderless.due_at = -math.inf

    def do(self, context: Context) -> Records:
        """The records of the next step of a check that is due, if one is."""
        for check in self._checks():
            if check.deadline(context.image) <= context.now:
                return check.do(context)
        return ()

    def _checks(self) -> tuple[_Check, _Check]:
        return self._leaderless, self._balance


def _may_bring_leaders(record: object) -> bool:
    match record:
        case ConfigRecord(name="unclean.leader.election.enable"):
            return True
        case BrokerRegistrationChangeRecord(fenced=fenced):
            return fenced == _UNFENCED
    return False
