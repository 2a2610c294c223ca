"""The DescribeConfigs view of a setting: its value, the source of the value, and the values that it overrides.

Values come in layers, strongest first. A layer is a ConfigSource and a mapping of Kafka's names to texts. A setting
takes its value from the first layer that has one; Kafka's default is the last resort.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

import attrs

from kraft.config.broker import BROKER_CONFIGS, broker_key
from kraft.config.client_metrics import CLIENT_METRICS_CONFIGS
from kraft.config.dynamic import APPLIED_AT_ONCE
from kraft.config.group import GROUP_CONFIGS, BrokerSettings, broker_name, broker_setting
from kraft.config.setting import ConfigError, ConfigKey, ConfigType, Importance, Synonym, to_text
from kraft.config.throttle_settings import THROTTLE_CONFIGS
from kraft.config.topic import TOPIC_CONFIGS, TOPIC_DEFAULT_CONFIGS, in_topic_units


class ConfigSource(IntEnum):
    """The source of a value, numbered as in DescribeConfigs responses (KIP-226)."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


Layer = tuple[ConfigSource, Mapping[str, str]]


@attrs.frozen
class ConfigSynonym:
    """One value that a setting has or would fall back to. ``value`` is None if the setting is sensitive."""

    name: str
    value: str | None
    source: ConfigSource


@attrs.frozen
class ConfigEntry:
    """One setting as in a DescribeConfigs response. ``value`` is None if the setting is sensitive or has no value."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    type: ConfigType
    documentation: str
    synonyms: tuple[ConfigSynonym, ...]

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


def describe_topic(
    overrides: Mapping[str, str], broker_layers: Sequence[Layer], names: Iterable[str] | None = None
) -> list[ConfigEntry]:
    """Describe a topic's settings: all, or those in ``names``. Unknown names are left out."""
    entries = []
    for key in _wanted(TOPIC_CONFIGS, names):
        synonyms = []
        if key.name in overrides:
            synonyms.append(ConfigSynonym(key.name, overrides[key.name], ConfigSource.DYNAMIC_TOPIC_CONFIG))
        synonyms += _from_layers([synonym.name for synonym in key.synonyms], broker_layers)
        synonyms += _topic_defaults(key)
        value = _topic_value(key, synonyms[0])
        entries.append(_entry(key, value, synonyms, read_only=False))
    return entries


def describe_broker(layers: Sequence[Layer], names: Iterable[str] | None = None) -> list[ConfigEntry]:
    """Describe a broker's settings: all, or those in ``names``. Rates, settings of one listener and unknown names have
    no default, and are left out if they have no value. Their values are as written (``AbstractConfig.originals``).
    """
    entries = []
    given = dict.fromkeys(name for _, values in layers for name in values if name not in BROKER_CONFIGS)
    rates = {name: key for name, key in THROTTLE_CONFIGS.items() if name in given}
    others = {name: broker_key(name) or _unknown(name) for name in given if name not in rates}
    for key in _wanted({**BROKER_CONFIGS, **rates, **others}, names):
        synonyms = _from_layers([key.name], layers)
        if key.default is not None and key.name in BROKER_CONFIGS:
            synonyms.append(ConfigSynonym(key.name, to_text(key.default), ConfigSource.DEFAULT_CONFIG))
        value = synonyms[0].value if synonyms else None
        if value is not None and key.name in BROKER_CONFIGS:
            value = _normalised(key, value)
        entries.append(_entry(key, value, synonyms, read_only=key.name not in APPLIED_AT_ONCE | rates.keys()))
    return entries


def describe_all_brokers(values: Mapping[str, str], names: Iterable[str] | None = None) -> list[ConfigEntry]:
    """Describe the dynamic settings that all brokers together have, each value as it was set
    (``DynamicBrokerConfig.currentDynamicDefaultConfigs``): all, or those in ``names``.
    """
    entries = describe_broker([(ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, values)], names)
    return [attrs.evolve(entry, value=entry.synonyms[0].value) for entry in entries if entry.name in values]


def describe_client_metrics(values: Mapping[str, str], names: Iterable[str] | None = None) -> list[ConfigEntry]:
    """Describe a subscription: all its settings, or those in ``names``. Unknown names are left out."""
    entries = []
    for key in _wanted(CLIENT_METRICS_CONFIGS, names):
        is_set = key.name in values
        value = _normalised(key, values[key.name]) if is_set else to_text(key.default)
        synonyms = [ConfigSynonym(key.name, value, ConfigSource.CLIENT_METRICS_CONFIG)] if is_set else []
        entries.append(_entry(key, value, synonyms, read_only=False))
    return entries


def describe_group(
    values: Mapping[str, str],
    broker: BrokerSettings,
    broker_layers: Sequence[Layer],
    names: Iterable[str] | None = None,
) -> list[ConfigEntry]:
    """Describe the settings of a group: all, or those in ``names``. The broker has the defaults of most
    (``ConfigHelper.createGroupConfigEntry``).
    """
    entries = []
    for key in _wanted(GROUP_CONFIGS, names):
        default = broker_setting(broker, key.name)
        synonyms = []
        if key.name in values:
            own = _normalised(key, values[key.name])
            synonyms.append(ConfigSynonym(key.name, own, ConfigSource.GROUP_CONFIG))
        if default is None:
            synonyms.append(ConfigSynonym(key.name, to_text(key.default), ConfigSource.DEFAULT_CONFIG))
        else:
            name = broker_name(key.name)
            synonyms += _from_layers([name], broker_layers)
            synonyms.append(ConfigSynonym(name, to_text(BROKER_CONFIGS[name].default), ConfigSource.DEFAULT_CONFIG))
        value = to_text(default) if key.name not in values and default is not None else synonyms[0].value
        entries.append(_entry(key, value, synonyms, read_only=False))
    return entries


def _unknown(name: str) -> ConfigKey:
    """Return the key of a setting that Kafka does not know either. Its value may be a secret."""
    return ConfigKey(name, ConfigType.UNKNOWN, None, None, Importance.LOW, "")


def _normalised(key: ConfigKey, text: str) -> str | None:
    """Return ``text`` as Kafka prints the value. One that only another controller accepts stays as it is."""
    return to_text(key.parse(text)) if key.takes(text) else text


def _wanted(table: Mapping[str, ConfigKey], names: Iterable[str] | None) -> list[ConfigKey]:
    wanted = dict.fromkeys(names or ())
    if not wanted:
        return list(table.values())
    return [table[name] for name in wanted if name in table]


def _from_layers(names: Sequence[str], layers: Sequence[Layer]) -> list[ConfigSynonym]:
    return [ConfigSynonym(name, values[name], source) for name in names for source, values in layers if name in values]


def _topic_defaults(key: ConfigKey) -> list[ConfigSynonym]:
    """Return Kafka's default, under the name of the broker synonym that has it, else under the topic setting's own
    name.
    """
    defaults = [
        ConfigSynonym(synonym.name, to_text(default), ConfigSource.DEFAULT_CONFIG)
        for synonym in key.synonyms
        if (default := TOPIC_DEFAULT_CONFIGS[synonym.name].default) is not None
    ]
    return defaults or [ConfigSynonym(key.name, to_text(key.default), ConfigSource.DEFAULT_CONFIG)]


def _topic_value(key: ConfigKey, strongest: ConfigSynonym) -> str | None:
    """Return the value in the topic's unit, normalised as Kafka prints it."""
    if strongest.value is None:
        return None
    factors: dict[str, Synonym] = {synonym.name: synonym for synonym in key.synonyms}
    is_own = strongest.source is ConfigSource.DYNAMIC_TOPIC_CONFIG or strongest.name not in factors
    try:
        return _normalised(key, strongest.value if is_own else in_topic_units(factors[strongest.name], strongest.value))
    except ConfigError:
        return strongest.value


def _entry(key: ConfigKey, value: str | None, synonyms: Sequence[ConfigSynonym], *, read_only: bool) -> ConfigEntry:
    if key.sensitive:
        value, synonyms = None, [attrs.evolve(synonym, value=None) for synonym in synonyms]
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
    return ConfigEntry(key.name, value, source, read_only, key.sensitive, key.type, key.doc, tuple(synonyms))
