"""BrokerRegistration (key 62): register an incarnation of a broker, which is fenced at first (KIP-631).

Versions 0 to 4: 2 has the ids of log directories (KIP-858), 3 the former epoch (KIP-966), 4 may have a feature whose
lowest version is 0.
"""

from __future__ import annotations

from kraft.api.controller_requests import decide_for_node
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.broker_registration_request import BrokerRegistrationRequest
from kraft.messages.broker_registration_response import BrokerRegistrationResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.BROKER_REGISTRATION,
    versions={ListenerType.CONTROLLER: (0, 4)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
)

at_controller = decide_for_node


def error(
    message: BrokerRegistrationRequest, version: int, code: ErrorCode, text: str | None = None
) -> BrokerRegistrationResponse:
    return BrokerRegistrationResponse(error_code=code)
