"""The levels of the loggers of this process, as the config resource BROKER_LOGGER (KIP-412).

Kafka's levels are those of Log4j: FATAL is Python's CRITICAL, and TRACE is below DEBUG. A change lasts until the
process ends. Only the node itself has its levels: a broker changes them, and forwards the other resources of a request.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import attrs

from kraft.config.describe import ConfigEntry, ConfigSource
from kraft.config.setting import ConfigError, ConfigType, one_line
from kraft.messages.incremental_alter_configs_request import AlterConfigsResource, IncrementalAlterConfigsRequest
from kraft.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kraft.metadata.config_changes import ConfigOperation, check_keys
from kraft.metadata.image import ResourceType
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.codec import encode_in_steps
from kraft.wire.errors import ErrorCode, KafkaError, shortened
from kraft.world.slices import next_slice

logger = logging.getLogger("kraft.node")
#: The parent of all loggers here, so that a request can set them together.
logging.getLogger("kraft")

ROOT = "root"
LEVELS = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50}

Forward = Callable[[Request, IncrementalAlterConfigsRequest], Awaitable[Reply]]


def describe_loggers(node_id: int, name: str, wanted: Iterable[str] | None) -> list[ConfigEntry]:
    """Describe the loggers in ``wanted``, or all. Raises KafkaError if ``name`` is not this node's id."""
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    _check_node(node_id, name)
    names = set(wanted or ())
    return [
        ConfigEntry(
            name=each,
            value=_level_name(found.getEffectiveLevel()),
            source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
            read_only=False,
            sensitive=False,
            type=ConfigType.UNKNOWN,
            documentation="",
            synonyms=(),
        )
        for each, found in _loggers().items()
        if not names or each in names
    ]


async def alter_loggers(
    node_id: int, request: Request, message: IncrementalAlterConfigsRequest, alter_others: Forward
) -> Reply:
    """Change the levels that ``message`` has, and let ``alter_others`` change the other resources.

    As in Kafka, each resource succeeds or fails alone, and levels change first (ConfigAdminManager.preprocess).
    """
    of_loggers = [each for each in message.resources if each.resource_type == ResourceType.BROKER_LOGGER]
    if not of_loggers:
        return await alter_others(request, message)
    times = Counter(each.resource_name for each in of_loggers)
    results = [_alter_resource(node_id, each, times, message.validate_only) for each in of_loggers]
    others = [each for each in message.resources if each.resource_type != ResourceType.BROKER_LOGGER]
    if not others:
        return IncrementalAlterConfigsResponse(responses=results)
    rest = message.evolve(resources=others)
    frame = bytearray(request.frame[: request.body_position])
    for _ in encode_in_steps(rest, request.api_version, frame, []):
        await next_slice()
    reply = await alter_others(attrs.evolve(request, frame=frame), rest)

    async def answer() -> Any:
        response = await reply.wait() if isinstance(reply, Parked) else reply
        if isinstance(response, IncrementalAlterConfigsResponse):
            response.responses = _in_order(message.resources, results, response.responses)
        return response

    return Parked(answer)


def _in_order(
    resources: Iterable[AlterConfigsResource],
    of_loggers: Iterable[AlterConfigsResourceResponse],
    of_others: Iterable[AlterConfigsResourceResponse],
) -> list[AlterConfigsResourceResponse]:
    loggers, others = iter(of_loggers), iter(of_others)
    return [next(loggers if each.resource_type == ResourceType.BROKER_LOGGER else others) for each in resources]


def _alter_resource(
    node_id: int, resource: AlterConfigsResource, times: Counter[str], validate_only: bool
) -> AlterConfigsResourceResponse:
    result = AlterConfigsResourceResponse(
        error_message=None, resource_type=resource.resource_type, resource_name=resource.resource_name
    )
    try:
        if times[resource.resource_name] > 1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
        check_keys(resource)
        _check_node(node_id, resource.resource_name)
        levels = {config.name: _new_level(config) for config in resource.configs}
    except KafkaError as refused:
        result.error_code, result.error_message = refused.code, refused.message
    except ConfigError as refused:
        result.error_code, result.error_message = ErrorCode.INVALID_CONFIG, shortened(str(refused))
    else:
        if not validate_only:
            _set_levels(levels)
    return result


def _set_levels(levels: dict[str, int]) -> None:
    """Set the levels of existing loggers. One without a level has that of its parent."""
    known = _loggers()
    for name, level in levels.items():
        known[name].setLevel(level)
        logger.warning("the level of logger %s is now %s", name, _level_name(known[name].getEffectiveLevel()))


def _new_level(config: Any) -> int:
    """Return the level that the change asks for, by the rules of Kafka's RuntimeLoggerManager."""
    operation = config.config_operation
    if operation not in (ConfigOperation.SET, ConfigOperation.DELETE):
        known = operation in list(ConfigOperation)
        what = f"{ConfigOperation(operation).name} operation" if known else f"Unknown operation type {operation}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{what} is not allowed for the BROKER_LOGGER resource")
    if config.name not in _loggers():
        raise ConfigError(f"Logger {one_line(config.name)} does not exist!")
    if operation == ConfigOperation.DELETE:
        if config.name == ROOT:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")
        return logging.NOTSET
    if config.value not in LEVELS:
        allowed = f"as it is not a supported log level. Valid log levels are {', '.join(sorted(LEVELS))}"
        raise ConfigError(f"Cannot set the log level of {config.name} to {one_line(config.value)} {allowed}")
    return LEVELS[config.value]


def _check_node(node_id: int, name: str) -> None:
    if not name.isascii() or not name.removeprefix("-").isdigit():
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {one_line(name)}")
    if name != str(node_id):
        text = f"Unexpected broker id, expected {node_id} but received {one_line(name)}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)


def _loggers() -> dict[str, logging.Logger]:
    """The loggers by name. A placeholder in Python's table is no logger yet."""
    named = logging.root.manager.loggerDict.copy()
    return {ROOT: logging.root} | {name: each for name, each in named.items() if isinstance(each, logging.Logger)}


def _level_name(level: int) -> str:
    """Return Kafka's name for a level of Python, which may lie between two of them."""
    return max((name for name, least in LEVELS.items() if least <= level), key=LEVELS.__getitem__, default="TRACE")
