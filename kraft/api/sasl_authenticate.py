"""SaslAuthenticate (key 36): a token of a SASL exchange (KIP-152).

Versions 0 to 2.

| version | change |
|---|---|
| 1 | the lifetime of the session (KIP-368) |
| 2 | flexible |

No listener has SASL yet, so every listener refuses with ILLEGAL_SASL_STATE, as Apache Kafka does on PLAINTEXT.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext, ControllerContext
from kraft.api.row import Api, ListenerType
from kraft.messages.registry import ApiKey
from kraft.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kraft.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.SASL_AUTHENTICATE,
    versions={ListenerType.BROKER: (0, 2), ListenerType.ZK_BROKER: (0, 2), ListenerType.CONTROLLER: (0, 2)},
)
_AUTHENTICATED = "SaslAuthenticate request received after successful authentication"


async def at_broker(
    context: BrokerContext | ControllerContext, request: Request, message: SaslAuthenticateRequest
) -> Reply:
    return error(message, request.api_version, ErrorCode.ILLEGAL_SASL_STATE, _AUTHENTICATED)


at_zk_broker = at_broker
at_controller = at_broker


def error(
    message: SaslAuthenticateRequest, version: int, code: ErrorCode, text: str | None = None
) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(code, text)
