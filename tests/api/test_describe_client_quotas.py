"""DescribeClientQuotas: the quotas in the metadata (KIP-546)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kraft.api.context import ZkBrokerContext
from kraft.api.describe_client_quotas import Match, at_broker, at_zk_broker
from kraft.messages.client_quota_record import ClientQuotaRecord
from kraft.messages.client_quota_record import EntityData as Part
from kraft.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import ConnectionInfo, Parked, Request
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.zookeeper.config_store import ConfigStore
from kraft.zookeeper.znodes.cluster import config_path, encode_config
from tests.support.held import broker_in, serving
from tests.support.memory_zookeeper import MemoryZooKeeper

PEER = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")
REQUEST = Request(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, 1, None, b"", 0, PEER)
ANN, DEFAULT_USER = (("user", "ann"),), (("user", None),)
ANN_WITH_X, ADDRESS = (("client-id", "x"), ("user", "ann")), (("ip", "10.0.0.1"),)


def quota(entity: tuple[tuple[str, str | None], ...], key: str, value: float) -> ClientQuotaRecord:
    return ClientQuotaRecord(entity=[Part(kind, name) for kind, name in entity], key=key, value=value)


def component(kind: str, match_type: Match, match: str | None = None) -> ComponentData:
    return ComponentData(entity_type=kind, match_type=match_type, match=match)


async def described_in_metadata(path: Path, message: DescribeClientQuotasRequest) -> Any:
    """The response of a broker whose metadata has five quotas."""
    broker = broker_in(path, 1)
    await broker.hear(
        quota(ANN, "producer_byte_rate", 1000.0),
        quota(ANN, "consumer_byte_rate", 2000.0),
        quota(DEFAULT_USER, "request_percentage", 50.0),
        quota(ANN_WITH_X, "producer_byte_rate", 10.0),
        quota(ADDRESS, "connection_creation_rate", 5.0),
    )
    return await at_broker(serving(broker.replicas), REQUEST, message)


def quotas_in_zookeeper() -> MemoryZooKeeper:
    """The same five quotas, beside settings that are none."""
    zookeeper = MemoryZooKeeper()
    zookeeper.tree.create_all([config_path("users", "ann/clients")])
    for path, settings in {
        "users/ann": {"producer_byte_rate": "1000", "consumer_byte_rate": "2000.0", "SCRAM-SHA-256": "x"},
        "users/bob": {"SCRAM-SHA-256": "x"},
        "users/<default>": {"request_percentage": "50"},
        "users/ann/clients/x": {"producer_byte_rate": "10"},
        "ips/10.0.0.1": {"connection_creation_rate": "5", "producer_byte_rate": "7"},
    }.items():
        zookeeper.tree.put(f"/config/{path}", encode_config(settings))
    return zookeeper


async def described_in_zookeeper(zookeeper: MemoryZooKeeper, message: DescribeClientQuotasRequest) -> Any:
    context = cast(ZkBrokerContext, SimpleNamespace(configs=ConfigStore(zookeeper)))
    reply = await at_zk_broker(context, REQUEST, message)
    assert isinstance(reply, Parked), "no handler waits for ZooKeeper"
    return await reply.wait()


def shown(response: Any) -> dict[Any, dict[str, float]]:
    assert response.error_code == 0
    return {
        tuple((part.entity_type, part.entity_name) for part in entry.entity): {
            value.key: value.value for value in entry.values
        }
        for entry in response.entries
    }


@pytest.mark.parametrize(
    ("components", "strict", "found"),
    [
        ([], False, {ANN, DEFAULT_USER, ANN_WITH_X, ADDRESS}),
        ([component("user", Match.EXACT, "ann")], False, {ANN, ANN_WITH_X}),
        ([component("user", Match.EXACT, "ann")], True, {ANN}),
        ([component("user", Match.DEFAULT)], False, {DEFAULT_USER}),
        ([component("user", Match.ANY)], True, {ANN, DEFAULT_USER}),
        ([component("user", Match.ANY), component("client-id", Match.EXACT, "x")], True, {ANN_WITH_X}),
        ([component("client-id", Match.DEFAULT)], False, set()),
        ([component("ip", Match.ANY)], False, {ADDRESS}),
    ],
)
async def test_a_filter(tmp_path: Path, components: list[ComponentData], strict: bool, found: set[Any]) -> None:
    """KIP-546: every component matches a part of the entity; a strict filter allows no other parts."""
    message = DescribeClientQuotasRequest(components=list(components), strict=strict)
    of_metadata = await described_in_metadata(tmp_path, message)
    of_zookeeper = await described_in_zookeeper(quotas_in_zookeeper(), message)
    for answer in (shown(of_metadata), shown(of_zookeeper)):
        assert answer.keys() == found
        if ANN in answer:
            assert answer[ANN] == {"consumer_byte_rate": 2000.0, "producer_byte_rate": 1000.0}


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([component("", Match.ANY)], ErrorCode.INVALID_REQUEST),
        ([component("user", Match.ANY)] * 2, ErrorCode.INVALID_REQUEST),
        ([component("planet", Match.ANY)], ErrorCode.UNSUPPORTED_VERSION),
        ([component("user", Match.EXACT)], ErrorCode.INVALID_REQUEST),
        ([component("user", Match.DEFAULT, "ann")], ErrorCode.INVALID_REQUEST),
        ([component("user", Match.ANY, "ann")], ErrorCode.INVALID_REQUEST),
        ([ComponentData(entity_type="user", match_type=3, match=None)], ErrorCode.INVALID_REQUEST),
        ([component("ip", Match.ANY), component("user", Match.ANY)], ErrorCode.INVALID_REQUEST),
    ],
)
async def test_a_bad_filter_is_refused(broker: Connection, components: list[ComponentData], code: ErrorCode) -> None:
    """Kafka's ClientQuotasImage.describe checks the filter before it looks at any entity."""
    for version in (0, 1):
        response = await broker.request(DescribeClientQuotasRequest(components=components), version)
        assert (response.error_code, response.entries) == (code, None)
        assert response.error_message


async def test_a_malformed_quota_in_zookeeper_is_an_error() -> None:
    """ZkAdminManager.clientQuotaPropsToDoubleMap fails."""
    zookeeper = MemoryZooKeeper()
    zookeeper.tree.put(config_path("clients", "x"), encode_config({"producer_byte_rate": "much"}))
    with pytest.raises(KafkaError) as refused:
        await described_in_zookeeper(zookeeper, DescribeClientQuotasRequest())
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
