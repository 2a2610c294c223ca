"""The rates at which a broker may replicate (KIP-73). They are dynamic only: a properties file does not have them."""

from __future__ import annotations

import attrs

from kraft.config.setting import LONG_MAX, ConfigKey, at_least, long, table


@attrs.frozen(eq=False, repr=False)
class ThrottleSettings:
    """Bytes per second; without a value there is no limit."""

    leader_replication_throttled_rate: int = long(
        LONG_MAX,
        "The bytes per second that the broker sends to throttled replicas that are not in sync.",
        limit=at_least(0),
    )
    follower_replication_throttled_rate: int = long(
        LONG_MAX,
        "The bytes per second that the broker fetches for its throttled replicas that are not in sync.",
        limit=at_least(0),
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = long(
        LONG_MAX,
        "The bytes per second of replicas that move between the directories of the broker.",
        limit=at_least(0),
    )


THROTTLE_CONFIGS: dict[str, ConfigKey] = table(ThrottleSettings)
LEADER_RATE, FOLLOWER_RATE, MOVE_RATE = THROTTLE_CONFIGS
