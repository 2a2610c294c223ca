"""The assignment of a member of a classic group: bytes that depend on the kind of the group."""

from __future__ import annotations

import pytest

from kraft.client.groups import assigned_partitions
from kraft.messages.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from kraft.messages.describe_groups_response import DescribedGroupMember
from kraft.wire.codec import encode


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_the_assignment_of_a_consumer(version: int) -> None:
    assignment = ConsumerProtocolAssignment(assigned_partitions=[TopicPartition(topic="t", partitions=[0, 2])])
    data = version.to_bytes(2, "big") + encode(assignment, version)
    assert assigned_partitions(DescribedGroupMember(member_assignment=data)) == [("t", 0), ("t", 2)]


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xffnot", b"\0\x01\x7f\xff\xff\xff"])
def test_an_assignment_of_another_protocol_has_no_partitions(data: bytes) -> None:
    assert assigned_partitions(DescribedGroupMember(member_assignment=data)) == []
