"""DescribeUserScramCredentials: the mechanisms of users in the metadata (KIP-554)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kraft.api.describe_user_scram_credentials import at_broker, at_zk_broker
from kraft.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest, UserName
from kraft.messages.registry import ApiKey
from kraft.messages.user_scram_credential_record import UserScramCredentialRecord
from kraft.rpc.channel import ConnectionInfo, Request
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.serving import Serving
from tests.support.held import broker_in, serving

PEER = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")
REQUEST = Request(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 1, None, b"", 0, PEER)
SHA_256, SHA_512 = 1, 2


async def test_users_and_their_mechanisms(tmp_path: Path) -> None:
    """KIP-554: without names all users; the iterations, and no secret."""
    broker = broker_in(tmp_path, 1)
    await broker.hear(
        UserScramCredentialRecord(name="ann", mechanism=SHA_512, iterations=8192, salt=b"s"),
        UserScramCredentialRecord(name="ann", mechanism=SHA_256, iterations=4096, salt=b"s"),
        UserScramCredentialRecord(name="bob", mechanism=SHA_256, iterations=4096, salt=b"s"),
    )
    context = serving(broker.replicas)
    for users, names in ((None, {"ann", "bob"}), ([], {"ann", "bob"}), ([UserName("bob")], {"bob"})):
        response: Any = await at_broker(context, REQUEST, DescribeUserScramCredentialsRequest(users=users))
        found = {
            each.user: [(info.mechanism, info.iterations) for info in each.credential_infos]
            for each in response.results
        }
        expected = {"ann": [(SHA_256, 4096), (SHA_512, 8192)], "bob": [(SHA_256, 4096)]}
        assert found == {name: expected[name] for name in names}


async def test_an_unknown_and_a_repeated_user(broker: Connection, active: Serving) -> None:
    """Kafka's ScramImage.describe: RESOURCE_NOT_FOUND, and DUPLICATE_RESOURCE once for the name."""
    request = DescribeUserScramCredentialsRequest(users=[UserName("x"), UserName("y"), UserName("y")])
    for response in (await broker.request(request), await active.ask(request)):
        codes = {each.user: each.error_code for each in response.results}
        assert codes == {"x": ErrorCode.RESOURCE_NOT_FOUND, "y": ErrorCode.DUPLICATE_RESOURCE}
        assert len(response.results) == 2


async def test_a_broker_with_zookeeper_refuses_at_once(tmp_path: Path) -> None:
    context = serving(broker_in(tmp_path, 1).replicas)
    response: Any = await at_zk_broker(context, REQUEST, DescribeUserScramCredentialsRequest())
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
