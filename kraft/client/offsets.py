"""Read and commit the offsets of a group without being a member."""

from __future__ import annotations

from collections.abc import Mapping

from kraft.client.cluster import Cluster, check
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_fetch_request import OffsetFetchRequest
from kraft.wire.errors import ErrorCode


async def committed_offsets(cluster: Cluster, group: str) -> dict[str, dict[int, int]]:
    """Return the committed offsets of a group: topic to partition to offset. Raises KafkaError or GaveUp on failure."""
    request = OffsetFetchRequest(group_id=group, topics=None)
    response = await cluster.ask_coordinator(group, request, lambda answer: answer.error_code)
    check(response.error_code)
    committed: dict[str, dict[int, int]] = {}
    for topic in response.topics:
        for partition in topic.partitions:
            check(partition.error_code)
            if partition.committed_offset >= 0:
                committed.setdefault(topic.name, {})[partition.partition_index] = partition.committed_offset
    return committed


async def commit_offsets(cluster: Cluster, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """Commit offsets for a group without being a member.

    Raises:
        KafkaError: the coordinator refused, for example because the group has members.
        GaveUp: no coordinator responded in time.
    """
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        for index, offset in sorted(offsets.items())
    ]
    request = OffsetCommitRequest(group_id=group, topics=[OffsetCommitRequestTopic(name=topic, partitions=partitions)])
    response = await cluster.ask_coordinator(group, request, lambda answer: answer.topics[0].partitions[0].error_code)
    for answer in (partition for answered in response.topics for partition in answered.partitions):
        has_members = answer.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS)
        check(answer.error_code, f"group {group} has members; stop them first" if has_members else None)
