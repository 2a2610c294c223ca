"""ControllerRegistration (key 70): register a controller and its endpoints (KIP-919).

Version 0.
"""

from __future__ import annotations

from kraft.api.controller_requests import decide_for_node
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.controller_registration_request import ControllerRegistrationRequest
from kraft.messages.controller_registration_response import ControllerRegistrationResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.CONTROLLER_REGISTRATION,
    versions={ListenerType.CONTROLLER: (0, 0)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
)

at_controller = decide_for_node


def error(
    message: ControllerRegistrationRequest, version: int, code: ErrorCode, text: str | None = None
) -> ControllerRegistrationResponse:
    return ControllerRegistrationResponse(error_code=code, error_message=text)
