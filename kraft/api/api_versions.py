"""ApiVersions (key 18): what this listener offers.

Versions 0 to 4: 3 is flexible and tells the client's name and the cluster's features; 4 may show a feature whose lowest
version is 0. The header of the answer is never flexible, because the client cannot know yet what it may expect.

A version that is not offered is answered in version 0 with UNSUPPORTED_VERSION and this one key, from which the client
takes the version to try next (KIP-511). More keys would look like the final answer to some clients.
"""

from __future__ import annotations

import re

from kraft.api.context import BrokerContext, ControllerContext
from kraft.api.row import Api, ListenerType
from kraft.api.table import OFFERED
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
    versions={ListenerType.BROKER: (0, 4), ListenerType.CONTROLLER: (0, 4)},
)

SOFTWARE_VERSION = 3
#: Java clients before 3.9 speak version 3 and close the connection over a feature that begins at 0 (KAFKA-17011).
ZERO_FEATURES_VERSION = 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


async def at_broker(broker: BrokerContext, request: Request, message: ApiVersionsRequest | None) -> Reply:
    return _offer(ListenerType.BROKER, broker.image, broker.image.offset, request, message)


async def at_controller(controller: ControllerContext, request: Request, message: ApiVersionsRequest | None) -> Reply:
    return _offer(ListenerType.CONTROLLER, controller.image, controller.metadata.features_epoch, request, message)


def _offer(
    listener: ListenerType, image: Image, features_epoch: int, request: Request, message: ApiVersionsRequest | None
) -> ApiVersionsResponse:
    """What a listener offers, and the features of the cluster. ``message`` is None in a version that it does not.

    ``features_epoch`` tells which of two answers is newer. As with Apache Kafka, a broker's grows with its metadata,
    and a controller's with the changes of the features.
    """
    if message is None:
        known = ApiVersion(ApiKey.API_VERSIONS, *OFFERED[listener][ApiKey.API_VERSIONS])
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[known])
    if request.api_version >= SOFTWARE_VERSION:
        names = (message.client_software_name, message.client_software_version)
        if not all(_SOFTWARE.fullmatch(name) for name in names):
            return error(message, request.api_version, ErrorCode.INVALID_REQUEST)
        request.connection.client_software_name, request.connection.client_software_version = names
    return ApiVersionsResponse(
        api_keys=[ApiVersion(key, *versions) for key, versions in OFFERED[listener].items()],
        supported_features=[
            SupportedFeatureKey(name, low, high)
            for name, (low, high) in SUPPORTED_FEATURES.items()
            if low > 0 or request.api_version >= ZERO_FEATURES_VERSION
        ],
        finalized_features_epoch=features_epoch,
        finalized_features=[FinalizedFeatureKey(name, level, level) for name, level in sorted(image.features.items())],
    )


def error(
    message: ApiVersionsRequest | None, version: int, code: ErrorCode, text: str | None = None
) -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=code)
