"""UpdateFeatures (key 57): change the levels of the cluster's features (KIP-584).

Versions 0 to 2: 1 has the type of upgrade and may only validate (KIP-778), 2 is all or nothing. With ZooKeeper there is
no version 2, because its response has no place for the refusal of each feature.
"""

from __future__ import annotations

from kraft.api.controller_requests import ask_controller, decide
from kraft.api.forwarding import forward
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.registry import ApiKey
from kraft.messages.update_features_request import UpdateFeaturesRequest
from kraft.messages.update_features_response import UpdateFeaturesResponse
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.UPDATE_FEATURES,
    versions={ListenerType.BROKER: (0, 2), ListenerType.ZK_BROKER: (0, 1), ListenerType.CONTROLLER: (0, 2)},
    permissions=((Operation.ALTER, Resource.CLUSTER),),
    forwardable=True,
)

at_broker = forward
at_zk_broker = ask_controller
at_controller = decide


def error(
    message: UpdateFeaturesRequest, version: int, code: ErrorCode, text: str | None = None
) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=code, error_message=text)
