"""The changes of a resource's settings that AlterConfigs and IncrementalAlterConfigs (KIP-339) request.

The controller of a quorum applies them to the image, a broker with ZooKeeper to a znode. AlterConfigs replaces
everything that is set on a resource, IncrementalAlterConfigs changes single keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Set
from enum import IntEnum
from typing import Any

from kraft.config.broker import BROKER_CONFIGS
from kraft.config.client_metrics import CLIENT_METRICS_CONFIGS, INTERVALS_MS
from kraft.config.dynamic import check_dynamic_configs
from kraft.config.group import check_group_configs
from kraft.config.setting import ConfigError, ConfigKey, ConfigType, one_line, to_text
from kraft.config.topic import TOPIC_CONFIGS, validate_topic_configs
from kraft.messages.incremental_alter_configs_request import AlterableConfig
from kraft.metadata.image import ResourceType
from kraft.wire.errors import ErrorCode, KafkaError

Values = dict[str, str]
NewValues = Callable[[Any, Mapping[str, str]], Values]
"""Makes the settings of a resource, from its part of the request and those that it has."""


class ConfigOperation(IntEnum):
    """The change of a key, as IncrementalAlterConfigs numbers it."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def check_keys(resource: Any) -> None:
    """Raise KafkaError INVALID_REQUEST if a key is there twice or has no value."""
    repeated = [name for name, times in Counter(config.name for config in resource.configs).items() if times > 1]
    if repeated:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys: {','.join(sorted(repeated))}")
    empty = [
        config.name
        for config in resource.configs
        if config.value is None and getattr(config, "config_operation", ConfigOperation.SET) != ConfigOperation.DELETE
    ]
    if empty:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {','.join(sorted(empty))}")


def check_values(
    kind: int, before: Mapping[str, str], after: Mapping[str, str], asked: Set[str], broker_values: Mapping[str, str]
) -> None:
    """Refuse values that the resource may not have. ``broker_values`` are the defaults of topics, and limit the values
    of groups.

    A topic may carry keys that only another version knows; a request that sets such a key is refused.

    Raises:
        ConfigError: a value of a topic, of client metrics or of a group.
        KafkaError: INVALID_REQUEST, a value of a broker, or an unknown setting or an interval of client metrics.
    """
    if kind == ResourceType.CLIENT_METRICS:
        _check_client_metrics(after)
        return
    if kind == ResourceType.GROUP:
        check_group_configs(after, broker_values)
        return
    if kind == ResourceType.TOPIC:
        judged = {name: value for name, value in after.items() if name in TOPIC_CONFIGS or name in asked}
        validate_topic_configs(judged, broker_values)
        return
    try:
        check_dynamic_configs({name: value for name, value in after.items() if before.get(name) != value})
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None


def _check_client_metrics(values: Mapping[str, str]) -> None:
    """Check the values of a subscription, with the codes of Kafka's ClientMetricsConfigs."""
    for name, text in values.items():
        key = CLIENT_METRICS_CONFIGS.get(name)
        if key is None:
            why = f"Unknown client metrics configuration: {one_line(name)}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, why)
        value = key.parse(text)
        if isinstance(value, int) and value not in INTERVALS_MS:
            why = f"Invalid value {value} for {name}, interval must be between 100 and 3600000 (1 hour)"
            raise KafkaError(ErrorCode.INVALID_REQUEST, why)


def replaced(resource: Any, before: Mapping[str, str]) -> Values:
    """The settings after an AlterConfigs."""
    return {config.name: config.value for config in resource.configs}


def changed(resource: Any, before: Mapping[str, str]) -> Values:
    """The settings after an IncrementalAlterConfigs. Raises KafkaError for an operation that the key does not have."""
    after = dict(before)
    for config in resource.configs:
        if config.config_operation == ConfigOperation.DELETE:
            after.pop(config.name, None)
        elif config.config_operation == ConfigOperation.SET:
            after[config.name] = config.value
        else:
            after[config.name] = _list_changed(resource.resource_type, config, before.get(config.name))
    return after


#: The settings to which a request may append. Kafka's controller does not know the types of the others.
_LISTS_OF: Mapping[int, Mapping[str, ConfigKey]] = {
    ResourceType.TOPIC: TOPIC_CONFIGS,
    ResourceType.BROKER: BROKER_CONFIGS,
}


def _list_changed(kind: int, config: AlterableConfig, before: str | None) -> str:
    """The list ``before`` (or its default) with the elements of ``config`` appended or taken out."""
    if config.config_operation not in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operation type {config.config_operation}.")
    operation = ConfigOperation(config.config_operation)
    key = _LISTS_OF.get(kind, {}).get(config.name)
    if key is None or key.type is not ConfigType.LIST:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Can't {operation.name} to key {config.name} because its type is not LIST.",
        )
    elements = _elements(before if before is not None else to_text(key.default))
    for element in _elements(config.value):
        if operation is ConfigOperation.SUBTRACT and element in elements:
            elements.remove(element)
        elif operation is ConfigOperation.APPEND and element not in elements:
            elements.append(element)
    return ",".join(elements)


def _elements(text: str | None) -> list[str]:
    return [element.strip() for element in text.split(",") if element.strip()] if text else []
