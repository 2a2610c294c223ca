"""ApiVersions (key 18): the APIs and versions that this listener offers.

Versions 0 to 4: 3 is flexible, and adds the client's name to the request and the cluster's features to the response; 4
may have a feature whose lowest version is 0. The response header is never flexible: the client cannot know yet which
header to expect.

The response to a version that is not offered is in version 0. It has UNSUPPORTED_VERSION and this one key, from which
the client takes the version to try next (KIP-511). With more keys, some clients would take it for the final response.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kraft.api.context import BrokerContext, ControllerContext, ZkBrokerContext
from kraft.api.row import Api, ListenerType, Versions
from kraft.api.table import FORWARDABLE, OFFERED
from kraft.config.features import SUPPORTED_FEATURES
from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.image import Image
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.API_VERSIONS,
    versions={ListenerType.BROKER: (0, 4), ListenerType.ZK_BROKER: (0, 4), ListenerType.CONTROLLER: (0, 4)},
)

SOFTWARE_VERSION = 3
#: Java clients before 3.9 use version 3 and close the connection if a feature begins at 0 (KAFKA-17011).
ZERO_FEATURES_VERSION = 4
_NO_VERSIONS: Versions = (0, -1)
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


async def at_broker(broker: BrokerContext, request: Request, message: ApiVersionsRequest | None) -> Reply:
    apis, epoch = _forwarded(OFFERED[ListenerType.BROKER], broker.channel.versions), broker.image.offset
    return _offer(apis, broker.image, epoch, request, message, SUPPORTED_FEATURES)


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: ApiVersionsRequest | None) -> Reply:
    """No broker of that era has features (Kafka's BrokerFeatures.createEmpty), but they have an epoch."""
    apis, epoch = OFFERED[ListenerType.ZK_BROKER], broker.commands.features_epoch
    return _offer(apis, broker.image, epoch, request, message, {})


async def at_controller(controller: ControllerContext, request: Request, message: ApiVersionsRequest | None) -> Reply:
    apis, epoch = OFFERED[ListenerType.CONTROLLER], controller.metadata.features_epoch
    return _offer(apis, controller.image, epoch, request, message, SUPPORTED_FEATURES)


def _forwarded(apis: Mapping[int, Versions], of_controller: Mapping[int, Versions] | None) -> Mapping[int, Versions]:
    """Return the APIs of a broker. Those that it forwards are limited to the versions of the active controller, if
    that is on another node (Kafka's ``ApiVersionsResponse.intersectForwardableApis``).
    """
    if of_controller is None:
        return apis
    common = dict[int, Versions]()
    for key, (low, high) in apis.items():
        if key in FORWARDABLE:
            its_low, its_high = of_controller.get(key, _NO_VERSIONS)
            low, high = max(low, its_low), min(high, its_high)
        if low <= high:
            common[key] = low, high
    return common


def _offer(
    apis: Mapping[int, Versions],
    image: Image,
    features_epoch: int,
    request: Request,
    message: ApiVersionsRequest | None,
    features: Mapping[str, tuple[int, int]],
) -> ApiVersionsResponse:
    """Return the ``apis`` and the features of the cluster. ``message`` is None in a version that is not offered.

    A client compares the ``features_epoch`` of two responses to find the newer one. As in Apache Kafka, that of a
    broker grows with its metadata, and that of a controller with each change of the features.
    """
    if message is None:
        known = ApiVersion(ApiKey.API_VERSIONS, *apis[ApiKey.API_VERSIONS])
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[known])
    if request.api_version >= SOFTWARE_VERSION:
        names = (message.client_software_name, message.client_software_version)
        if not all(_SOFTWARE.fullmatch(name) for name in names):
            return error(message, request.api_version, ErrorCode.INVALID_REQUEST)
        request.connection.client_software_name, request.connection.client_software_version = names
    return ApiVersionsResponse(
        api_keys=[ApiVersion(key, *versions) for key, versions in apis.items()],
        supported_features=[
            SupportedFeatureKey(name, low, high)
            for name, (low, high) in features.items()
            if low > 0 or request.api_version >= ZERO_FEATURES_VERSION
        ],
        finalized_features_epoch=features_epoch,
        finalized_features=[FinalizedFeatureKey(name, level, level) for name, level in sorted(image.features.items())],
    )


def error(
    message: ApiVersionsRequest | None, version: int, code: ErrorCode, text: str | None = None
) -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=code)
