"""From Kafka's names to Python's."""

from __future__ import annotations

import pytest

from kraft.codegen.names import camel_case, constant_name, json_name, snake_case
from kraft.wire.schema import camel_case as camel_case_at_run_time


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("TopicId", "topic_id"),
        ("LeaderAndIsrRequest", "leader_and_isr_request"),
        ("KRaftVersionRecord", "kraft_version_record"),
        ("isKRaftController", "is_kraft_controller"),
        ("NoOpRecord", "no_op_record"),
        ("StopReplicaPartitionV0", "stop_replica_partition_v0"),
        ("V3AndBelowTopics", "v3_and_below_topics"),
        ("From", "from_"),
    ],
)
def test_names_become_snake_case(name: str, snake: str) -> None:
    assert snake_case(name) == snake


def test_constants_and_json_names() -> None:
    assert constant_name("DescribeQuorum") == "DESCRIBE_QUORUM"
    assert json_name("KRaftVersion") == "kRaftVersion"


@pytest.mark.parametrize("snake", ["topic_id", "name", "v3_and_below_topics"])
def test_the_generator_derives_json_names_as_the_converter_does(snake: str) -> None:
    assert camel_case(snake) == camel_case_at_run_time(snake)
