"""DescribeUserScramCredentials: the mechanisms of users in the metadata (KIP-554)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock

from kraft.api.context import ZkBrokerContext
from kraft.api.describe_user_scram_credentials import at_broker, at_zk_broker
from kraft.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest, UserName
from kraft.messages.registry import ApiKey
from kraft.messages.user_scram_credential_record import UserScramCredentialRecord
from kraft.rpc.channel import ConnectionInfo, Parked, Request
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.zookeeper.config_store import ConfigStore
from kraft.zookeeper.znodes.cluster import config_path, encode_config
from tests.api.serving import Serving
from tests.support.held import broker_in, serving
from tests.support.memory_zookeeper import MemoryZooKeeper

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


CREDENTIAL = "salt=c2FsdA==,stored_key=a2V5,server_key=a2V5,iterations=4096"


async def in_zookeeper(tree: MemoryZooKeeper, *users: str) -> dict[str, Any]:
    """The code and the mechanisms of each user, from a broker with ZooKeeper."""
    context = cast(ZkBrokerContext, SimpleNamespace(configs=ConfigStore(tree)))
    message = DescribeUserScramCredentialsRequest(users=[UserName(name) for name in users])
    reply = await at_zk_broker(context, REQUEST, message)
    assert isinstance(reply, Parked), "no handler waits for ZooKeeper"
    response: Any = await reply.wait()
    assert response.error_code == ErrorCode.NONE
    return {
        each.user: (ErrorCode(each.error_code), {info.mechanism: info.iterations for info in each.credential_infos})
        for each in response.results
    }


async def test_a_broker_with_zookeeper_reads_the_credentials_there() -> None:
    """AdminZkClient.fetchAllEntityConfigs: the names are escaped, and a user may have settings without a credential."""
    zookeeper = MemoryZooKeeper()
    settings = {"SCRAM-SHA-256": CREDENTIAL, "SCRAM-SHA-512": CREDENTIAL.replace("4096", "8192")}
    zookeeper.tree.put(config_path("users", "ann%2Fb%20c"), encode_config(settings))
    zookeeper.tree.put(config_path("users", "quota"), encode_config({"producer_byte_rate": "1"}))
    zookeeper.tree.put(config_path("users", "bad"), encode_config({"SCRAM-SHA-256": "iterations=many"}))
    zeros = CREDENTIAL.replace("4096", "0" * 5000)
    zookeeper.tree.put(config_path("users", "zeros"), encode_config({"SCRAM-SHA-256": zeros}))
    ann = (ErrorCode.NONE, {SHA_256: 4096, SHA_512: 8192})
    bad = (ErrorCode.UNKNOWN_SERVER_ERROR, {})
    assert await in_zookeeper(zookeeper) == {"ann/b c": ann, "bad": bad, "zeros": bad}
    missing, twice = (ErrorCode.RESOURCE_NOT_FOUND, {}), (ErrorCode.DUPLICATE_RESOURCE, {})
    found = await in_zookeeper(zookeeper, "ann/b c", "quota", "..", "", "x", "x")
    assert found == {"ann/b c": ann, "quota": missing, "..": missing, "": missing, "x": twice}


async def test_a_broker_without_zookeeper_says_so(autojump_clock: MockClock) -> None:
    zookeeper = MemoryZooKeeper()
    zookeeper.is_there = trio.Event()  # never set
    with pytest.raises(KafkaError) as refused:
        await in_zookeeper(zookeeper)
    assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT
