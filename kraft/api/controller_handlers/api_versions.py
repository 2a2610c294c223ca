"""ApiVersions (key 18): what a controller's listener offers.

Versions 0 to 4: as at a broker, but for the epoch of the features.
"""

from __future__ import annotations

from kraft.api.api_versions import error as error
from kraft.api.api_versions import offer
from kraft.api.apis import CONTROLLER_APIS
from kraft.api.context import ControllerContext
from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: ApiVersionsRequest | None) -> Reply:
    return offer(CONTROLLER_APIS, plane.image, plane.metadata.features_epoch, request, message)
