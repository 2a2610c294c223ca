"""UpdateFeatures (key 57): move the cluster to other levels of its features (KIP-584).

Versions 0 to 2: 1 names the kind of upgrade and may only validate (KIP-778), 2 is all or nothing.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.forwarding import forward
from kraft.messages.update_features_request import UpdateFeaturesRequest
from kraft.messages.update_features_response import UpdateFeaturesResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: BrokerContext, request: Request, message: UpdateFeaturesRequest) -> Reply:
    return forward(broker, request, message)


def error(
    message: UpdateFeaturesRequest, version: int, code: ErrorCode, text: str | None = None
) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=code, error_message=text)
