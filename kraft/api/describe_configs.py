"""DescribeConfigs (key 32): the settings of topics, nodes, loggers and client metrics, and the source of each value.

Versions 1 to 4: 1 has sources and synonyms (KIP-226), 3 adds types and documentation (KIP-569), 4 is flexible. A
controller's listener has it too (KIP-919).

A resource that a request names again is in the response once: a few bytes of it request some kilobytes. A request for
more settings than a resource has is INVALID_REQUEST.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kraft.api.context import BrokerContext, ControllerContext, ZkBrokerContext
from kraft.api.logger_levels import describe_loggers
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.zookeeper_configs import topic_settings
from kraft.config.describe import (
    ConfigEntry,
    ConfigSource,
    Layer,
    describe_all_brokers,
    describe_broker,
    describe_client_metrics,
    describe_group,
    describe_topic,
)
from kraft.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kraft.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.image import ResourceType
from kraft.metadata.topic_name import is_valid_topic_name
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.freeing import free_in_steps
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices, in_slices

ROW = Api(
    ApiKey.DESCRIBE_CONFIGS,
    versions={ListenerType.BROKER: (1, 4), ListenerType.ZK_BROKER: (1, 4), ListenerType.CONTROLLER: (1, 4)},
    permissions=((Operation.DESCRIBE_CONFIGS, Resource.CLUSTER), (Operation.DESCRIBE_CONFIGS, Resource.TOPIC)),
)

MAX_KEYS = 1_000
"""Not a Kafka setting. The settings of one resource by name: a broker has some 250, and some hundred loggers."""
_SLICE_SETTINGS = 75
_SLICE_KEYS = 1_000


async def at_broker(broker: BrokerContext, request: Request, message: DescribeConfigsRequest) -> Reply:
    return await _describe(broker, request, message, {})


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: DescribeConfigsRequest) -> Reply:
    """Any broker changes the settings of a topic, so all of them read these in ZooKeeper (ZkConfigRepository)."""
    topics = {
        each.resource_name: None
        for each in message.resources
        if each.resource_type == ResourceType.TOPIC and broker.image.topic(each.resource_name) is not None
    }

    async def answer() -> DescribeConfigsResponse:
        return await _describe(broker, request, message, await topic_settings(broker, topics))

    return Parked(answer)


async def at_controller(controller: ControllerContext, request: Request, message: DescribeConfigsRequest) -> Reply:
    return await _describe(controller, request, message, {})


async def _describe(
    node: BrokerContext | ControllerContext,
    request: Request,
    message: DescribeConfigsRequest,
    topics: Mapping[str, Mapping[str, str]],
) -> DescribeConfigsResponse:
    """``topics`` are the settings of topics that have others than in the image."""
    says_default = request.api_version == 0  # later versions have the source of each value instead
    described: set[tuple[int, str, tuple[str, ...]]] = set()
    looks, slices = Slices(_SLICE_KEYS), Slices(_SLICE_SETTINGS)
    results = []
    for resource in message.resources:
        keys = resource.configuration_keys or ()
        if len(keys) > MAX_KEYS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"A resource has at most {MAX_KEYS} settings.")
        await looks.spend(1 + len(keys))
        what = resource.resource_type, resource.resource_name, tuple(keys)
        if what not in described:
            described.add(what)
            results.append(_one(node, resource, message, says_default, topics))
            await slices.spend(1 + len(results[-1].configs))
    owned: list[Any] = [described]
    del described
    await in_slices(free_in_steps(owned), _SLICE_KEYS)
    return DescribeConfigsResponse(results=results)


def _one(
    node: BrokerContext | ControllerContext,
    resource: DescribeConfigsResource,
    message: DescribeConfigsRequest,
    says_default: bool,
    topics: Mapping[str, Mapping[str, str]],
) -> DescribeConfigsResult:
    answer = DescribeConfigsResult(
        error_message="", resource_type=resource.resource_type, resource_name=resource.resource_name
    )
    try:
        entries = _entries(node, resource, topics)
    except KafkaError as refused:
        answer.error_code = refused.code
        if refused.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:  # that code needs no text
            answer.error_message = refused.message
        return answer
    answer.configs = [
        DescribeConfigsResourceResult(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            is_default=says_default and entry.is_default,
            config_source=entry.source,
            is_sensitive=entry.sensitive,
            synonyms=_synonyms(entry) if message.include_synonyms else [],
            config_type=entry.type,
            documentation=entry.documentation if message.include_documentation else None,
        )
        for entry in entries
    ]
    return answer


def _entries(
    node: BrokerContext | ControllerContext,
    resource: DescribeConfigsResource,
    topics: Mapping[str, Mapping[str, str]],
) -> Iterable[ConfigEntry]:
    image, name = node.image, resource.resource_name
    if resource.resource_type == ResourceType.TOPIC:
        if not is_valid_topic_name(name):
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        if image.topic(name) is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        overrides = topics.get(name, image.config(ResourceType.TOPIC, name))
        return describe_topic(overrides, _layers(node, str(node.node_id)), resource.configuration_keys)
    if resource.resource_type == ResourceType.BROKER:
        if name == "":
            return describe_all_brokers(image.config(ResourceType.BROKER, ""), resource.configuration_keys)
        if name != str(node.node_id):
            text = f"Unexpected broker id, expected {node.node_id} or empty string, but received {name}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        return describe_broker(_layers(node, name), resource.configuration_keys)
    if resource.resource_type == ResourceType.BROKER_LOGGER:
        return describe_loggers(node.node_id, name, resource.configuration_keys)
    if resource.resource_type == ResourceType.CLIENT_METRICS:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
        return describe_client_metrics(image.config(ResourceType.CLIENT_METRICS, name), resource.configuration_keys)
    if resource.resource_type == ResourceType.GROUP:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        broker = node.config.groups, node.config.share
        layers = _layers(node, str(node.node_id))
        return describe_group(image.config(ResourceType.GROUP, name), broker, layers, resource.configuration_keys)
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {resource.resource_type}")


def _layers(node: BrokerContext | ControllerContext, name: str) -> list[Layer]:
    """Return the settings of this broker by source, the one with the highest precedence first."""
    return [
        (ConfigSource.DYNAMIC_BROKER_CONFIG, node.image.config(ResourceType.BROKER, name)),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, node.image.config(ResourceType.BROKER, "")),
        (ConfigSource.STATIC_BROKER_CONFIG, node.config.values),
    ]


def _synonyms(entry: ConfigEntry) -> list[DescribeConfigsSynonym]:
    return [DescribeConfigsSynonym(each.name, each.value, each.source) for each in entry.synonyms]


def error(
    message: DescribeConfigsRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=mapped(
            message.resources,
            lambda resource: DescribeConfigsResult(code, text, resource.resource_type, resource.resource_name),
        )
    )
