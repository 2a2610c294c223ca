"""UpdateFeatures (key 57): other levels of features, as brokers pass it on (KIP-584).

Versions 0 to 2: as at a broker.
"""

from __future__ import annotations

from kraft.messages.update_features_request import UpdateFeaturesRequest
from kraft.node.control_plane import ControlPlane
from kraft.node.controller_handlers.deciding import decide
from kraft.node.handlers.update_features import error as error
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControlPlane, request: Request, message: UpdateFeaturesRequest) -> Reply:
    return decide(plane, request, message)
