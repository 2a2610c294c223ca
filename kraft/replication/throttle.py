"""The throttles of replication (KIP-73): of this broker as a leader, as a follower, and between its directories.

A topic names its throttled replicas (``leader.replication.throttled.replicas``), and a broker has a rate. While the
rate is exceeded, throttled replicas that are not in sync get nothing. All others replicate as before.
"""

from __future__ import annotations

from typing import Final

import attrs
import trio

from kraft.broker.replication_quota import ReplicationQuota
from kraft.config.setting import ConfigError
from kraft.config.throttle_settings import LEADER_RATE, MOVE_RATE, THROTTLE_CONFIGS
from kraft.metadata.image import ResourceType
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas

EVERY_REPLICA: Final = "*"
REST_S: Final = 0.1
"""Not a Kafka setting. So long a replica rests while the rate is exceeded, before it looks again."""


@attrs.define(eq=False)
class Throttle:
    """One throttle of this broker. ``setting`` is the name of its rate."""

    setting: str
    replicas: Replicas
    quota: ReplicationQuota = attrs.Factory(ReplicationQuota)

    def applies_to(self, partition: HostedPartition) -> bool:
        """Whether the topic names this broker's replica as throttled. Each move between directories is throttled."""
        if self.setting == MOVE_RATE:
            return True
        config = partition.log.config
        if self.setting == LEADER_RATE:
            named = config.leader_replication_throttled_replicas
        else:
            named = config.follower_replication_throttled_replicas
        return bool(named) and (EVERY_REPLICA in named or f"{partition.index}:{self.replicas.node_id}" in named)

    def record(self, size: int) -> None:
        """Count bytes of throttled replicas, also of those that are in sync."""
        self.quota.record(size, trio.current_time())

    @property
    def is_exceeded(self) -> bool:
        """Whether the broker has replicated more than its rate allows."""
        rate = self._rate()
        return rate is not None and self.quota.rate(trio.current_time()) > rate

    async def rest(self) -> None:
        """Wait before the next look whether the rate is still exceeded."""
        await trio.sleep(REST_S)

    def _rate(self) -> int | None:
        """Return the rate of this broker, or that of all brokers, or None."""
        image = self.replicas.image
        for name in (str(self.replicas.node_id), ""):
            text = image.config(ResourceType.BROKER, name).get(self.setting)
            if text is not None:
                try:
                    rate = THROTTLE_CONFIGS[self.setting].parse(text)
                except ConfigError:  # another version accepted it
                    return None
                assert isinstance(rate, int)
                return rate
        return None
