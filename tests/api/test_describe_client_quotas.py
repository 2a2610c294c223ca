"""DescribeClientQuotas: the quotas in the metadata (KIP-546)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraft.api.describe_client_quotas import Match, at_broker, at_zk_broker
from kraft.messages.client_quota_record import ClientQuotaRecord
from kraft.messages.client_quota_record import EntityData as Part
from kraft.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import ConnectionInfo, Request
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.support.held import broker_in, serving

PEER = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")
REQUEST = Request(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, 1, None, b"", 0, PEER)
ANN, DEFAULT_USER = (("user", "ann"),), (("user", None),)
ANN_WITH_X, ADDRESS = (("client-id", "x"), ("user", "ann")), (("ip", "10.0.0.1"),)


def quota(entity: tuple[tuple[str, str | None], ...], key: str, value: float) -> ClientQuotaRecord:
    return ClientQuotaRecord(entity=[Part(kind, name) for kind, name in entity], key=key, value=value)


def component(kind: str, match_type: Match, match: str | None = None) -> ComponentData:
    return ComponentData(entity_type=kind, match_type=match_type, match=match)


async def described(path: Path, *components: ComponentData, strict: bool = False) -> dict[Any, dict[str, float]]:
    """The answer of a broker whose metadata has four quotas."""
    broker = broker_in(path, 1)
    await broker.hear(
        quota(ANN, "producer_byte_rate", 1000.0),
        quota(ANN, "consumer_byte_rate", 2000.0),
        quota(DEFAULT_USER, "request_percentage", 50.0),
        quota(ANN_WITH_X, "producer_byte_rate", 10.0),
        quota(ADDRESS, "connection_creation_rate", 5.0),
    )
    message = DescribeClientQuotasRequest(components=list(components), strict=strict)
    response: Any = await at_broker(serving(broker.replicas), REQUEST, message)
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
    answer = await described(tmp_path, *components, strict=strict)
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


async def test_a_broker_with_zookeeper_refuses_at_once(tmp_path: Path) -> None:
    context = serving(broker_in(tmp_path, 1).replicas)
    response: Any = await at_zk_broker(context, REQUEST, DescribeClientQuotasRequest())
    assert (response.error_code, response.entries) == (ErrorCode.UNSUPPORTED_VERSION, None)
