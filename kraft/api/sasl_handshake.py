"""SaslHandshake (key 17): the SASL mechanism that a client wants (KIP-43).

Versions 0 to 1: after 1 the tokens are those of SaslAuthenticate.

No listener has SASL yet, so every listener refuses with ILLEGAL_SASL_STATE, as Apache Kafka does on PLAINTEXT. All
offer the API nevertheless: when a coordinator moves, librdkafka wants the APIs of the former one at the new one.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext, ControllerContext
from kraft.api.row import Api, ListenerType
from kraft.messages.registry import ApiKey
from kraft.messages.sasl_handshake_request import SaslHandshakeRequest
from kraft.messages.sasl_handshake_response import SaslHandshakeResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.SASL_HANDSHAKE,
    versions={ListenerType.BROKER: (0, 1), ListenerType.ZK_BROKER: (0, 1), ListenerType.CONTROLLER: (0, 1)},
)


async def at_broker(
    context: BrokerContext | ControllerContext, request: Request, message: SaslHandshakeRequest
) -> Reply:
    return error(message, request.api_version, ErrorCode.ILLEGAL_SASL_STATE)


at_zk_broker = at_broker
at_controller = at_broker


def error(
    message: SaslHandshakeRequest, version: int, code: ErrorCode, text: str | None = None
) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(code)
