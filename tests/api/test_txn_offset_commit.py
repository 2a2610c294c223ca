"""TxnOffsetCommit: offsets that belong to a producer's transaction, from the commit to the marker."""

from __future__ import annotations

import pytest

from kraft.api import txn_offset_commit
from kraft.coordinator.partitions import coordinator_partition
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kraft.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from kraft.wire.internal_topics import OFFSETS_TOPIC
from tests.api.groups import commit
from tests.api.transactions import PRODUCER, end

EPOCH = 3


def request(group: str, topic: str, *indexes: int, offset: int = 44, epoch: int = EPOCH) -> TxnOffsetCommitRequest:
    partitions = [TxnOffsetCommitRequestPartition(index, offset) for index in indexes or (0,)]
    topics = [TxnOffsetCommitRequestTopic(topic, partitions)]
    return TxnOffsetCommitRequest("transaction", group, PRODUCER, epoch, topics=topics)


async def codes(broker: Connection, message: TxnOffsetCommitRequest, version: int = 4) -> list[ErrorCode]:
    response = await broker.request(message, version)
    return [ErrorCode(each.error_code) for each in response.topics[0].partitions]


async def stable_offset(broker: Connection, group: str, topic: str) -> int | ErrorCode:
    """Return the offset of partition 0 by OffsetFetch with ``require_stable``. Versions 7 and 9 must agree."""
    older = OffsetFetchRequest(group_id=group, topics=[OffsetFetchRequestTopic(topic, [0])], require_stable=True)
    [before] = (await broker.request(older, 7)).topics[0].partitions
    wanted = OffsetFetchRequestGroup(group, topics=[OffsetFetchRequestTopics(topic, partition_indexes=[0])])
    newer = OffsetFetchRequest(groups=[wanted], require_stable=True)
    [found] = (await broker.request(newer, 9)).groups[0].topics[0].partitions
    assert (before.committed_offset, before.error_code) == (found.committed_offset, found.error_code)
    return ErrorCode(found.error_code) if found.error_code else found.committed_offset


async def end_of_group(broker: Connection, group: str, *, committed: bool = True, epoch: int = EPOCH) -> ErrorCode:
    """Write the marker to the partition that holds the group."""
    message = MetadataRequest([MetadataRequestTopic(name=OFFSETS_TOPIC)])
    [topic] = (await broker.request(message, 9)).topics
    index = coordinator_partition(group, len(topic.partitions))
    [code] = await end(broker, OFFSETS_TOPIC, index, committed=committed, epoch=epoch)
    return code


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("committed", [True, False])
async def test_an_offset_counts_if_its_transaction_commits(
    broker: Connection, group: str, topic: str, version: int, committed: bool
) -> None:
    """KIP-98: offsets become visible "only if the transaction is committed"; KIP-447: they are unstable before."""
    assert await commit(broker, group, topic, 3) == 0
    assert await codes(broker, request(group, topic), version) == [ErrorCode.NONE]
    assert await stable_offset(broker, group, topic) == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert await end_of_group(broker, group, committed=committed) == ErrorCode.NONE
    assert await stable_offset(broker, group, topic) == (44 if committed else 3)


async def test_an_unknown_partition_has_an_error_of_its_own(broker: Connection, group: str, topic: str) -> None:
    assert await commit(broker, group, topic, 3) == 0
    assert await codes(broker, request(group, topic, 0, 7)) == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert await codes(broker, request(group, "absent")) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    await end_of_group(broker, group)


async def test_a_fenced_producer_commits_nothing(broker: Connection, group: str, topic: str) -> None:
    """The marker of a fenced transaction has a higher epoch (``ProducerAppendInfo.checkProducerEpoch``)."""
    assert await commit(broker, group, topic, 3) == 0
    assert await codes(broker, request(group, topic)) == [ErrorCode.NONE]
    assert await end_of_group(broker, group, committed=False, epoch=EPOCH + 1) == ErrorCode.NONE
    assert await codes(broker, request(group, topic)) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert await end_of_group(broker, group) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert await stable_offset(broker, group, topic) == 3
    assert await codes(broker, request(group, topic, epoch=EPOCH + 1)) == [ErrorCode.NONE]
    assert await end_of_group(broker, group, epoch=EPOCH + 1) == ErrorCode.NONE
    assert await stable_offset(broker, group, topic) == 44


async def test_a_group_needs_a_name(broker: Connection, topic: str) -> None:
    """Apache: ``GroupCoordinatorService.commitTransactionalOffsets``."""
    assert await codes(broker, request("", topic)) == [ErrorCode.INVALID_GROUP_ID]


@pytest.mark.parametrize(
    ("version", "code"), [(1, ErrorCode.COORDINATOR_NOT_AVAILABLE), (2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)]
)
def test_old_producers_do_not_know_a_load(version: int, code: ErrorCode) -> None:
    """``KafkaApis.handleTxnOffsetCommitRequest``: they "could potentially crash"."""
    response = txn_offset_commit.error(request("g", "t"), version, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert response.topics[0].partitions[0].error_code == code
