"""AlterUserScramCredentials: refused while no listener has SASL."""

from __future__ import annotations

from kraft.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.serving import Serving


async def test_every_user_is_refused_with_a_reason(broker: Connection, active: Serving) -> None:
    """KIP-554: one result for each user. ScramControlManager has this code at a level without SCRAM."""
    request = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name="ann", mechanism=1)],
        upsertions=[
            ScramCredentialUpsertion(name=name, mechanism=2, iterations=4096, salt=b"s", salted_password=b"p")
            for name in ("ann", "bob")
        ],
    )
    for response in (await broker.request(request), await active.ask(request)):
        assert [each.user for each in response.results] == ["ann", "bob"]
        for refused in response.results:
            assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
            assert "no listener has SASL" in refused.error_message
