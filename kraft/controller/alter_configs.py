"""IncrementalAlterConfigs (44, KIP-339) and the older AlterConfigs (33), for topics and nodes (the type BROKER).

The first changes single keys; the second replaces everything that is set on a resource. A resource succeeds or fails
as a whole. A key that already has the requested value gets no record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from enum import IntEnum
from typing import Any

from kraft.config.broker import BROKER_CONFIGS
from kraft.config.dynamic import check_dynamic_configs
from kraft.config.setting import ConfigError, ConfigKey, ConfigType, to_text
from kraft.config.topic import TOPIC_CONFIGS, validate_topic_configs
from kraft.controller.context import MAX_RECORDS_PER_USER_OPERATION, Context, Decision
from kraft.controller.topic_name import check_topic_name
from kraft.messages.alter_configs_request import AlterConfigsRequest
from kraft.messages.alter_configs_response import AlterConfigsResourceResponse as LegacyResult
from kraft.messages.alter_configs_response import AlterConfigsResponse
from kraft.messages.config_record import ConfigRecord
from kraft.messages.incremental_alter_configs_request import AlterableConfig, IncrementalAlterConfigsRequest
from kraft.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kraft.metadata.image import ResourceType
from kraft.metadata.steps import Steps, counted
from kraft.wire.errors import ErrorCode, KafkaError, shortened

Values = dict[str, str]

_COST_OF_RESOURCE = 10
_TOO_MANY = "Too many configuration changes in one request."


class ConfigOperation(IntEnum):
    """The change of a key, as IncrementalAlterConfigs numbers it."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def incremental_alter_configs(context: Context, request: IncrementalAlterConfigsRequest) -> Steps[Decision]:
    """Change single keys; with ``validate_only`` only check whether they could be changed."""
    records, results = yield from _alter_each(context, request.resources, _changed, AlterConfigsResourceResponse)
    return Decision(() if request.validate_only else records, IncrementalAlterConfigsResponse(responses=results))


def alter_configs(context: Context, request: AlterConfigsRequest) -> Steps[Decision]:
    """Replace the whole configuration of each resource; with ``validate_only`` only check it."""
    records, results = yield from _alter_each(context, request.resources, _replaced, LegacyResult)
    return Decision(() if request.validate_only else records, AlterConfigsResponse(responses=results))


def _alter_each(
    context: Context, resources: Sequence[Any], new_values: Callable[[Context, Any, Values], Values], result_class: Any
) -> Steps[tuple[tuple[ConfigRecord, ...], list[Any]]]:
    times = yield from counted((resource.resource_type, resource.resource_name) for resource in resources)
    records: list[ConfigRecord] = []
    results: list[Any] = []
    for resource in resources:
        yield _COST_OF_RESOURCE + len(resource.configs)
        kind, name = resource.resource_type, resource.resource_name
        result = result_class(resource_type=kind, resource_name=name, error_code=ErrorCode.NONE, error_message=None)
        results.append(result)
        try:
            if times[kind, name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            if len(resource.configs) > MAX_RECORDS_PER_USER_OPERATION:
                raise KafkaError(ErrorCode.POLICY_VIOLATION, _TOO_MANY)
            _check_keys(resource)
            _check_resource(context, kind, name)
            before = dict(context.image.config(kind, name))
            after = new_values(context, resource, dict(before))
            yield len(resource.configs)
            _check_values(context, kind, before, after, {config.name for config in resource.configs})
            changes = _records(kind, name, before, after)
            if len(records) + len(changes) > MAX_RECORDS_PER_USER_OPERATION:
                raise KafkaError(ErrorCode.POLICY_VIOLATION, _TOO_MANY)
            records += changes
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
        except ConfigError as error:
            result.error_code, result.error_message = ErrorCode.INVALID_CONFIG, shortened(str(error))
    return tuple(records), results


def _check_keys(resource: Any) -> None:
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


def _check_resource(context: Context, kind: int, name: str) -> None:
    """Raise KafkaError unless the resource is of a configurable type and exists."""
    if kind == ResourceType.TOPIC:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        check_topic_name(name)
        if name not in context.image.topic_ids:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    elif kind == ResourceType.BROKER:
        if name == "":
            return
        if not name.isascii() or not name.isdigit():
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
        if int(name) not in context.image.brokers and int(name) not in context.image.controllers:
            raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")
    else:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Configurations of resource type {kind} cannot be altered.")


def _check_values(context: Context, kind: int, before: Values, after: Values, asked: Set[str]) -> None:
    """Refuse values that the resource may not have.

    A topic may carry keys that only another version knows; a request that sets such a key is refused.

    Raises:
        ConfigError: a value of a topic.
        KafkaError: INVALID_REQUEST, a value of a broker.
    """
    if kind == ResourceType.TOPIC:
        judged = {name: value for name, value in after.items() if name in TOPIC_CONFIGS or name in asked}
        validate_topic_configs(judged, context.broker_values())
        return
    try:
        check_dynamic_configs({name: value for name, value in after.items() if before.get(name) != value})
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None


def _replaced(context: Context, resource: Any, before: Values) -> Values:
    return {config.name: config.value for config in resource.configs}


def _changed(context: Context, resource: Any, before: Values) -> Values:
    after = dict(before)
    for config in resource.configs:
        if config.config_operation == ConfigOperation.DELETE:
            after.pop(config.name, None)
        elif config.config_operation == ConfigOperation.SET:
            after[config.name] = config.value
        else:
            after[config.name] = _list_changed(resource.resource_type, config, before.get(config.name))
    return after


def _list_changed(kind: int, config: AlterableConfig, before: str | None) -> str:
    """The list ``before`` (or its default) with the elements of ``config`` appended or taken out."""
    if config.config_operation not in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operation type {config.config_operation}.")
    operation = ConfigOperation(config.config_operation)
    known: Mapping[str, ConfigKey] = TOPIC_CONFIGS if kind == ResourceType.TOPIC else BROKER_CONFIGS
    key = known.get(config.name)
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


def _records(kind: int, name: str, before: Values, after: Values) -> list[ConfigRecord]:
    changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    return [ConfigRecord(resource_type=kind, resource_name=name, name=key, value=after.get(key)) for key in changed]
