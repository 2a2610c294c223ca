"""The broker settings that may change at runtime (KIP-226), and their allowed values.

Defaults of topic settings take effect at once (``APPLIED_AT_ONCE``). Kafka allows a few other changes. This node stores
those for brokers that apply them, and itself reads these settings only at its start.
"""

from __future__ import annotations

from collections.abc import Mapping

from kraft.config.broker import BROKER_CONFIGS, broker_key
from kraft.config.setting import ConfigError
from kraft.config.throttle_settings import THROTTLE_CONFIGS
from kraft.config.topic import TOPIC_CONFIGS

#: If several names set one default (hours, minutes, milliseconds), only the strongest is dynamic.
APPLIED_AT_ONCE = frozenset(key.synonyms[0].name for key in TOPIC_CONFIGS.values() if key.synonyms)

CHANGEABLE = APPLIED_AT_ONCE | {
    "advertised.listeners",
    "background.threads",
    "config.providers",
    "cordoned.log.dirs",
    "group.consumer.assignment.interval.ms",
    "group.coordinator.cached.buffer.max.bytes",
    "group.share.assignment.interval.ms",
    "listener.security.protocol.map",
    "listeners",
    "log.cleaner.backoff.ms",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.threads",
    "max.connection.creation.rate",
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
    "metric.reporters",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "producer.id.expiration.ms",
    "share.coordinator.cached.buffer.max.bytes",
    "transaction.partition.verification.enable",
}


PER_BROKER = frozenset({"cordoned.log.dirs", "listener.security.protocol.map", "listeners"})
"""Settings that a broker may have, and not all brokers together (``DynamicBrokerConfig.PerBrokerConfigs``)."""
ONLY_WITH_ZOOKEEPER = frozenset({"advertised.listeners"})


def check_dynamic_configs(values: Mapping[str, str]) -> None:
    """Check the dynamic settings of one broker or of all brokers. Unknown names are ignored.

    Raises ConfigError if a broker reads the setting only at its start, or the value is not allowed.
    """
    for name, value in values.items():
        key = broker_key(name) or THROTTLE_CONFIGS.get(name)
        if key is None:
            continue
        if name in BROKER_CONFIGS and name not in CHANGEABLE:
            raise ConfigError(f"Cannot update these configs dynamically: {name}")
        key.parse(value)
