"""ApiVersions (key 18): what a controller's listener offers.

Versions 0 to 4: as at a broker, but for the epoch of the features.
"""

from __future__ import annotations

from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.node.apis import CONTROLLER_APIS
from kraft.node.control_plane import ControlPlane
from kraft.node.handlers.api_versions import error as error
from kraft.node.handlers.api_versions import offer
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControlPlane, request: Request, message: ApiVersionsRequest | None) -> Reply:
    return offer(CONTROLLER_APIS, plane.image, plane.metadata.features_epoch, request, message)
