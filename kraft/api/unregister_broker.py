"""UnregisterBroker (key 64): remove the registration of a broker, alive or not (KIP-631).

Version 0.
"""

from __future__ import annotations

from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.registry import ApiKey
from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.messages.unregister_broker_response import UnregisterBrokerResponse
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.UNREGISTER_BROKER,
    versions={ListenerType.BROKER: (0, 0), ListenerType.CONTROLLER: (0, 0)},
    permissions=((Operation.ALTER, Resource.CLUSTER),),
    forwardable=True,
)

at_broker = forward
at_controller = decide


def error(
    message: UnregisterBrokerRequest, version: int, code: ErrorCode, text: str | None = None
) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(error_code=code, error_message=text)
