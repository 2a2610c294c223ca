"""UpdateFeatures (key 57): other levels of features, as brokers pass it on (KIP-584).

Versions 0 to 2: as at a broker.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.api.update_features import error as error
from kraft.messages.update_features_request import UpdateFeaturesRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: UpdateFeaturesRequest) -> Reply:
    return decide(plane, request, message)
