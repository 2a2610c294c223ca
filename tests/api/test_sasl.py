"""SaslHandshake and SaslAuthenticate: refused on a listener without SASL."""

from __future__ import annotations

from kraft.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kraft.messages.sasl_handshake_request import SaslHandshakeRequest
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.serving import Serving


async def test_a_plaintext_connection_has_no_sasl_exchange(broker: Connection, active: Serving) -> None:
    """KIP-43: a handshake is the first request of a connection that authenticates, and ILLEGAL_SASL_STATE otherwise."""
    for version in range(2):
        handshake = SaslHandshakeRequest("PLAIN")
        for response in (await broker.request(handshake, version), await active.ask(handshake, version)):
            assert (response.error_code, response.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])


async def test_a_plaintext_connection_needs_no_authentication(broker: Connection, active: Serving) -> None:
    """Kafka's KafkaApis.handleSaslAuthenticateRequest. The connection goes on."""
    for version in range(3):
        token = SaslAuthenticateRequest(b"token")
        for response in (await broker.request(token, version), await active.ask(token, version)):
            assert (response.error_code, response.auth_bytes) == (ErrorCode.ILLEGAL_SASL_STATE, b"")
            assert response.error_message == "SaslAuthenticate request received after successful authentication"
