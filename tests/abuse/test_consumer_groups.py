"""Requests of the consumer protocol (KIP-848) that no client sends: each gets Kafka's code, and the group goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, OwnedTopicPartitions
from kraft.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.rpc.client import Connection
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from tests.api.groups import coordinated
from tests.support.nodes import connected

GROUP = "g"
LONG = "x" * 32_000
MANY = [f"topic-{number}" for number in range(20_000)]
EVERYTHING = [OwnedTopicPartitions(UUID(int=number), list(range(100))) for number in range(1, 500)]


@pytest.fixture
async def broker() -> AsyncIterator[Connection]:
    """A broker at group.version 1 whose group has the member ``m1`` at epoch 2."""
    async with embedded_node(topics={"orders": 1}) as node, connected(node) as broker:
        await coordinated(broker, GROUP)
        update = FeatureUpdateKey(feature="group.version", max_version_level=1, upgrade_type=1)
        await broker.request(UpdateFeaturesRequest(timeout_ms=10_000, feature_updates=[update]))
        assert (await beat(broker, "m1", 0, joins=True)).error_code == 0
        yield broker


async def beat(
    broker: Connection, member_id: str, epoch: int, *, joins: bool = False, **what: Any
) -> ConsumerGroupHeartbeatResponse:
    first = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["orders"], "topic_partitions": []}
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP, member_id=member_id, member_epoch=epoch, **{**(first if joins else {}), **what}
    )
    response: ConsumerGroupHeartbeatResponse = await broker.request(request)
    return response


async def test_wrong_heartbeats_get_their_codes(broker: Connection) -> None:
    """``throwIfConsumerGroupHeartbeatRequestIsInvalid``, ``throwIfConsumerGroupMemberEpochIsInvalid``."""
    for member_id, epoch, what, code in (
        ("m1", 3, {}, ErrorCode.FENCED_MEMBER_EPOCH),
        ("m1", 2**31 - 1, {}, ErrorCode.FENCED_MEMBER_EPOCH),
        ("m1", -(2**31), {}, ErrorCode.INVALID_REQUEST),
        ("m1", -2, {}, ErrorCode.INVALID_REQUEST),
        ("nobody", 1, {}, ErrorCode.UNKNOWN_MEMBER_ID),
        ("nobody", -1, {}, ErrorCode.UNKNOWN_MEMBER_ID),
        (LONG, 1, {}, ErrorCode.UNKNOWN_MEMBER_ID),
        ("m1", 2, {"instance_id": LONG}, ErrorCode.UNKNOWN_MEMBER_ID),
        ("m1", 2, {"server_assignor": LONG}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ("m1", 2, {"subscribed_topic_regex": "(" * 16_000}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        ("m1", 2, {"subscribed_topic_regex": "(?:" + LONG[:30_000] + "){1000}"}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    ):
        assert (await beat(broker, member_id, epoch, **what)).error_code == code, (member_id[:10], epoch, code)
    assert (await beat(broker, "m1", 2)).error_code == 0


async def test_oversized_members_are_served(broker: Connection) -> None:
    """Long names, many topics that do not exist, and partitions that the member never had."""
    joined = await beat(broker, LONG, 0, joins=True, instance_id=LONG, rack_id=LONG)
    assert (joined.error_code, joined.member_id) == (0, LONG)
    assert (await beat(broker, "many", 0, joins=True, subscribed_topic_names=MANY)).error_code == 0
    owning = await beat(broker, "m1", 2, topic_partitions=EVERYTHING)
    assert owning.error_code == 0
    assert (await beat(broker, "m1", owning.member_epoch, topic_partitions=[])).error_code == 0


async def test_a_subscription_beyond_max_message_bytes_is_refused(broker: Connection) -> None:
    """Apache's ``CoordinatorRuntime``: UNKNOWN_SERVER_ERROR for records that do not fit into a batch."""
    names = [f"{number}".ljust(249, "x") for number in range(5_000)]
    refused = await beat(broker, "many", 0, joins=True, subscribed_topic_names=names)
    assert refused.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (await beat(broker, "many", 1)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (await beat(broker, "m1", 2)).error_code == 0
