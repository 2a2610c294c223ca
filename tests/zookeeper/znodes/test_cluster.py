"""kraft.zookeeper.znodes.cluster, .admin and .notifications: data as Apache Kafka writes it."""

from __future__ import annotations

import pytest

from kraft.zookeeper.znodes.admin import (
    decode_preferred_election,
    decode_reassignment,
    encode_preferred_election,
    encode_reassignment,
)
from kraft.zookeeper.znodes.cluster import (
    FinalizedFeatures,
    ZkProducerIdBlock,
    decode_cluster_id,
    decode_config,
    decode_features,
    decode_producer_id_block,
    encode_cluster_id,
    encode_config,
    encode_features,
    encode_producer_id_block,
)
from kraft.zookeeper.znodes.fields import MalformedZnode
from kraft.zookeeper.znodes.notifications import (
    decode_config_change,
    decode_isr_change,
    decode_log_dir_event,
    encode_config_change,
    encode_isr_change,
    encode_log_dir_event,
)


def test_the_version_of_the_cluster_id_is_text() -> None:
    """ClusterIdZNode.toJson: "version" -> "1"."""
    assert encode_cluster_id("abc") == b'{"version":"1","id":"abc"}'
    assert decode_cluster_id(b'{"version":"1","id":"abc"}') == "abc"


def test_a_producer_id_block_has_both_ends_as_text() -> None:
    """ProducerIdBlockZNode: block_start and block_end as strings."""
    block = ZkProducerIdBlock(2, 1000, 1999)
    written = b'{"version":1,"broker":2,"block_start":"1000","block_end":"1999"}'
    assert encode_producer_id_block(block) == written
    assert decode_producer_id_block(written) == block
    with pytest.raises(MalformedZnode, match="/latest_producer_id_block"):
        decode_producer_id_block(b'{"version":1,"broker":2,"block_start":"9","block_end":"1"}')


def test_a_config_is_version_1() -> None:
    assert encode_config({"retention.ms": "5"}) == b'{"version":1,"config":{"retention.ms":"5"}}'
    assert decode_config("/config/topics/t", b'{"version":1,"config":{"a":"1"}}') == {"a": "1"}
    with pytest.raises(MalformedZnode, match="/config/topics/t"):
        decode_config("/config/topics/t", b'{"version":1,"config":{"a":1}}')


def test_features_of_both_versions() -> None:
    """FeatureZNode: version 2 has no minimum level."""
    features = FinalizedFeatures(True, {"f": 3})
    assert encode_features(features) == b'{"features":{"f":{"max_version_level":3}},"version":2,"status":1}'
    old = b'{"version":1,"status":1,"features":{"f":{"min_version_level":1,"max_version_level":3}}}'
    assert decode_features(old).levels == {"f": 3}
    with pytest.raises(MalformedZnode, match="/feature"):
        decode_features(b'{"version":3,"status":1,"features":{}}')


def test_tools_name_partitions_one_by_one() -> None:
    targets = {("t", 0): (1, 2)}
    assert encode_reassignment(targets) == (
        b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}'
    )
    assert decode_reassignment(encode_reassignment(targets)) == targets
    assert encode_preferred_election([("t", 4)]) == b'{"version":1,"partitions":[{"topic":"t","partition":4}]}'
    assert decode_preferred_election(encode_preferred_election([("t", 4)])) == (("t", 4),)
    with pytest.raises(MalformedZnode, match="/admin/reassign_partitions"):
        decode_reassignment(b'{"version":1,"partitions":[7]}')


def test_notifications() -> None:
    assert encode_isr_change([("t", 4)]) == b'{"version":1,"partitions":[{"topic":"t","partition":4}]}'
    assert decode_isr_change("/isr_change_notification/isr_change_1", encode_isr_change([("t", 4)])) == (("t", 4),)
    assert encode_log_dir_event(2) == b'{"version":1,"broker":2,"event":1}'
    assert decode_log_dir_event("/log_dir_event_notification/log_dir_event_1", encode_log_dir_event(2)) == 2
    assert encode_config_change("topics/t") == b'{"version":2,"entity_path":"topics/t"}'
    assert decode_config_change("/config/changes/config_change_1", encode_config_change("topics/t")) == "topics/t"
