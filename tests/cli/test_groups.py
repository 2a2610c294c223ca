"""The output of ``kraft groups describe`` for a member's assignment: bytes that depend on the kind of the group."""

from __future__ import annotations

import pytest

from kraft.cli.groups import PartitionLag, assigned_partitions
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


@pytest.mark.parametrize(("committed", "end", "lag"), [(3, 10, 7), (10, 3, 0), (None, 10, None), (3, None, None)])
def test_the_lag_is_never_negative_and_unknown_without_both_ends(
    committed: int | None, end: int | None, lag: int | None
) -> None:
    assert PartitionLag("t", 0, committed, end, None, None, None).lag == lag
