"""ListConfigResources (key 74): the names of the resources that have settings (KIP-1142).

Versions 0 to 1: 0 was ListClientMetricsResources (KIP-714) and lists client metrics alone, 1 adds the other types.

Every topic and every broker has settings, also without own values. Groups and client metrics are listed if values are
set on them.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.list_config_resources_request import ListConfigResourcesRequest
from kraft.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse
from kraft.messages.registry import ApiKey
from kraft.metadata.image import Image, ResourceType
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.LIST_CONFIG_RESOURCES,
    versions={ListenerType.BROKER: (0, 1)},
    permissions=((Operation.DESCRIBE_CONFIGS, Resource.CLUSTER),),
)

_SLICE_RESOURCES = 3_000


async def at_broker(broker: BrokerContext, request: Request, message: ListConfigResourcesRequest) -> Reply:
    known = set(ResourceType) if request.api_version else {ResourceType.CLIENT_METRICS}
    wanted = set(message.resource_types) or known
    if not wanted <= known:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    image, listener = broker.image, request.connection.listener
    slices, found = Slices(_SLICE_RESOURCES), list[ConfigResource]()
    for kind in sorted(wanted):
        for name in _names(image, ResourceType(kind), listener):
            found.append(ConfigResource(name, kind))
            await slices.spend()
    return ListConfigResourcesResponse(config_resources=found)


def _names(image: Image, kind: ResourceType, listener: str) -> Iterable[str]:
    match kind:
        case ResourceType.TOPIC:
            return image.topic_ids
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return (str(each.id) for each in image.brokers.values() if each.endpoint(listener) is not None)
        case ResourceType.CLIENT_METRICS | ResourceType.GROUP:
            return (name for (type_of_it, name), values in image.configs.items() if type_of_it == kind and values)


def error(
    message: ListConfigResourcesRequest, version: int, code: ErrorCode, text: str | None = None
) -> ListConfigResourcesResponse:
    return ListConfigResourcesResponse(error_code=code)
