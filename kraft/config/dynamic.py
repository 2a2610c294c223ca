"""Which broker settings may change while brokers run (KIP-226), and what they may be set to.

The defaults of topics take effect at once (``APPLIED_AT_ONCE``). Kafka lets a few others change too; those are kept for
the brokers that act on them, and this node reads its own at the start.
"""

from __future__ import annotations

from collections.abc import Mapping

from kraft.config.broker import BROKER_CONFIGS
from kraft.config.setting import ConfigError
from kraft.config.topic import TOPIC_CONFIGS

#: Of several names for one default (hours, minutes, milliseconds) only the strongest is dynamic.
APPLIED_AT_ONCE = frozenset(key.synonyms[0].name for key in TOPIC_CONFIGS.values() if key.synonyms)

CHANGEABLE = APPLIED_AT_ONCE | {
    "advertised.listeners",
    "background.threads",
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
    "transaction.partition.verification.enable",
}


def check_dynamic_configs(values: Mapping[str, str]) -> None:
    """Check settings of a broker, or of all, as a client wants them to be; names that nobody knows are left alone.

    Raises:
        ConfigError: a setting is read only at the start of a broker, or its value is not allowed.
    """
    for name, value in values.items():
        key = BROKER_CONFIGS.get(name)
        if key is None:
            continue
        if name not in CHANGEABLE:
            raise ConfigError(f"Cannot update these configs dynamically: {name}")
        key.parse(value)
