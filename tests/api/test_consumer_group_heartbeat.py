"""ConsumerGroupHeartbeat and ConsumerGroupDescribe on a node: the level of ``group.version`` decides."""

from __future__ import annotations

from kraft.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kraft.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.groups import coordinated
from tests.support.eventually import eventually_async

GROUP = "g"


def joining(member_id: str, regex: str | None = None) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=["orders"] if regex is None else None,
        subscribed_topic_regex=regex,
        topic_partitions=[],
    )


async def upgrade(broker: Connection) -> None:
    update = FeatureUpdateKey(feature="group.version", max_version_level=1, upgrade_type=1)
    response = await broker.request(UpdateFeaturesRequest(timeout_ms=10_000, feature_updates=[update]))
    assert response.error_code == 0


async def test_group_version_0_has_no_consumer_groups(own: Connection) -> None:
    """Apache: ``KafkaApis.handleConsumerGroupHeartbeat`` answers UNSUPPORTED_VERSION below group.version 1."""
    await coordinated(own, GROUP)
    assert (await own.request(joining("m1"))).error_code == ErrorCode.UNSUPPORTED_VERSION
    described = await own.request(ConsumerGroupDescribeRequest([GROUP]))
    assert [group.error_code for group in described.groups] == [ErrorCode.UNSUPPORTED_VERSION]


async def test_a_member_joins_is_described_and_fetches_with_its_epoch(own: Connection) -> None:
    await coordinated(own, GROUP)
    await upgrade(own)
    joined = await own.request(joining("m1"))
    assert (joined.error_code, joined.member_epoch) == (0, 2)
    assert [topic.partitions for topic in joined.assignment.topic_partitions] == [[0]]
    described = await own.request(ConsumerGroupDescribeRequest([GROUP, "another", GROUP], True))
    first, second = described.groups
    assert (first.group_state, [member.member_id for member in first.members]) == ("Stable", ["m1"])
    assert first.authorized_operations > 0
    assert second.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    for epoch, code in ((2, ErrorCode.NONE), (3, ErrorCode.STALE_MEMBER_EPOCH)):
        wanted = OffsetFetchRequestGroup(group_id=GROUP, member_id="m1", member_epoch=epoch, topics=None)
        response = await own.request(OffsetFetchRequest(groups=[wanted]), 9)
        assert response.groups[0].error_code == code


async def test_a_member_that_subscribes_by_an_expression_gets_the_topics(own: Connection) -> None:
    """KIP-848: the coordinator resolves SubscribedTopicRegex beside the heartbeats, and refuses an invalid one."""
    await coordinated(own, GROUP)
    await upgrade(own)
    refused = await own.request(joining("m1", "orders("))
    assert refused.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert "`orders(`" in refused.error_message
    joined = await own.request(joining("m1", "ord.*"))
    assert (joined.error_code, joined.member_epoch) == (0, 1)

    async def has_topic() -> bool:
        request = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="m1", member_epoch=1, topic_partitions=[])
        told = await own.request(request)
        assert told.error_code == 0
        return told.assignment is not None and [each.partitions for each in told.assignment.topic_partitions] == [[0]]

    await eventually_async(has_topic)
    (described,) = (await own.request(ConsumerGroupDescribeRequest([GROUP]))).groups
    assert [member.subscribed_topic_regex for member in described.members] == ["ord.*"]


async def test_an_invalid_expression_is_refused_after_the_member(own: Connection) -> None:
    """Apache: ``maybeUpdateRegularExpressions`` comes after the checks of the member and its epoch."""
    await coordinated(own, GROUP)
    await upgrade(own)
    unknown = joining("m1", "[")
    unknown.member_epoch = 5
    assert (await own.request(unknown)).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert (await own.request(joining("m1", "["))).error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
