"""IncrementalAlterConfigs (44, KIP-339) and the older AlterConfigs (33), for topics, nodes (the type BROKER)
and client metrics.

A resource succeeds or fails as a whole. A key that already has the requested value gets no record, except a broker's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

from kraft.config.dynamic import ONLY_WITH_ZOOKEEPER, PER_BROKER
from kraft.config.features import NAME_OF_LEVEL
from kraft.config.setting import ConfigError
from kraft.controller.context import MAX_RECORDS_PER_USER_OPERATION, Context, Decision
from kraft.controller.topic_name import check_topic_name
from kraft.messages.alter_configs_request import AlterConfigsRequest
from kraft.messages.alter_configs_response import AlterConfigsResourceResponse as LegacyResult
from kraft.messages.alter_configs_response import AlterConfigsResponse
from kraft.messages.config_record import ConfigRecord
from kraft.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kraft.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kraft.metadata.config_changes import NewValues, Values, changed, check_keys, check_values, replaced
from kraft.metadata.image import Image, ResourceType
from kraft.metadata.levels import CORDONED_DIRECTORIES
from kraft.metadata.steps import Steps, counted
from kraft.wire.encoder import MAX_STRING_BYTES
from kraft.wire.errors import ErrorCode, KafkaError, shortened

_COST_OF_RESOURCE = 10
_NODE_ID = re.compile("[0-9]{1,10}")
_LARGEST_ID = 2**31 - 1
_TOO_MANY = "Too many configuration changes in one request."


def incremental_alter_configs(context: Context, request: IncrementalAlterConfigsRequest) -> Steps[Decision]:
    """Change single keys; with ``validate_only`` only check whether they could be changed."""
    records, results = yield from _alter_each(context, request.resources, changed, AlterConfigsResourceResponse)
    response = IncrementalAlterConfigsResponse(responses=results)
    return Decision(() if request.validate_only else records, response, is_atomic=True)


def alter_configs(context: Context, request: AlterConfigsRequest) -> Steps[Decision]:
    """Replace the whole configuration of each resource; with ``validate_only`` only check it."""
    records, results = yield from _alter_each(context, request.resources, replaced, LegacyResult)
    return Decision(() if request.validate_only else records, AlterConfigsResponse(responses=results), is_atomic=True)


def _alter_each(
    context: Context, resources: Sequence[Any], new_values: NewValues, result_class: Any
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
            check_keys(resource)
            _check_name(kind, name)
            before = context.image.config(kind, name)
            after = new_values(resource, before)
            yield len(resource.configs)
            asked = {config.name for config in resource.configs}
            if kind == ResourceType.BROKER:
                _check_broker_settings(context.level, name, asked, asked & after.keys())
            check_values(kind, before, after, asked, context.broker_values())
            _check_existence(context.image, kind, name)
            changes = _records(kind, name, before, after, asked if kind == ResourceType.BROKER else set())
            if len(records) + len(changes) > MAX_RECORDS_PER_USER_OPERATION:
                raise KafkaError(ErrorCode.POLICY_VIOLATION, _TOO_MANY)
            records += changes
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
        except ConfigError as error:
            result.error_code, result.error_message = ErrorCode.INVALID_CONFIG, shortened(str(error))
    return tuple(records), results


def _check_name(kind: int, name: str) -> None:
    """Raise KafkaError unless the resource is of a configurable type and may have this name."""
    if kind == ResourceType.TOPIC:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        check_topic_name(name)
    elif kind == ResourceType.BROKER:
        if name and (not _NODE_ID.fullmatch(name) or int(name) > _LARGEST_ID):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    elif kind == ResourceType.CLIENT_METRICS:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    elif kind == ResourceType.GROUP:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    else:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Configurations of resource type {kind} cannot be altered.")


def _check_broker_settings(level: int, node: str, asked: Set[str], given: Set[str]) -> None:
    """Raise KafkaError for a setting that brokers with a quorum, all nodes ("") or this metadata.version cannot have.

    ``given`` are the asked ones that get a value.
    """
    fixed = given & ONLY_WITH_ZOOKEEPER
    if fixed:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: {min(fixed)}")
    if not node and given & PER_BROKER:
        what = f"A broker must be named to set {min(given & PER_BROKER)}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, what)
    if level < CORDONED_DIRECTORIES and "cordoned.log.dirs" in asked:
        needed = NAME_OF_LEVEL[CORDONED_DIRECTORIES]
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"cordoned.log.dirs needs metadata.version {needed}")


def _check_existence(image: Image, kind: int, name: str) -> None:
    """Raise KafkaError unless the topic, or the node, exists."""
    if kind == ResourceType.TOPIC and name not in image.topic_ids:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if kind == ResourceType.BROKER and name and int(name) not in image.brokers and int(name) not in image.controllers:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")


def _records(
    kind: int, name: str, before: Mapping[str, str], after: Values, again: Set[str] = frozenset()
) -> list[ConfigRecord]:
    """Return the records of the changes, and of the settings ``again``: a broker reads a file anew if its name is set
    again (KAFKA-14136).

    Raises KafkaError INVALID_CONFIG for a value that is too large for a record.
    """
    altered = again | {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    for key in altered:
        if len((after.get(key) or "").encode()) > MAX_STRING_BYTES:
            what = f"the maximum value size of {MAX_STRING_BYTES} bytes"
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"The configuration value cannot be added because it exceeds {what}."
            )
    return [
        ConfigRecord(resource_type=kind, resource_name=name, name=key, value=after.get(key)) for key in sorted(altered)
    ]
