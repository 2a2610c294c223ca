"""The five APIs of the share coordinator on a running node."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraft.messages.delete_share_group_state_request import (
    DeleteShareGroupStateRequest,
    DeleteStateData,
)
from kraft.messages.delete_share_group_state_request import (
    PartitionData as DeletedPartition,
)
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.initialize_share_group_state_request import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
)
from kraft.messages.initialize_share_group_state_request import (
    PartitionData as InitializedPartition,
)
from kraft.messages.read_share_group_state_request import (
    PartitionData as ReadPartition,
)
from kraft.messages.read_share_group_state_request import (
    ReadShareGroupStateRequest,
    ReadStateData,
)
from kraft.messages.read_share_group_state_summary_request import (
    PartitionData as SummarizedPartition,
)
from kraft.messages.read_share_group_state_summary_request import (
    ReadShareGroupStateSummaryRequest,
    ReadStateSummaryData,
)
from kraft.messages.write_share_group_state_request import (
    PartitionData as WrittenPartition,
)
from kraft.messages.write_share_group_state_request import (
    StateBatch,
    WriteShareGroupStateRequest,
    WriteStateData,
)
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.support.eventually import eventually
from tests.support.talk import topic_id_of

BATCH = StateBatch(0, 4, 2, 1)
INITIALIZE = (InitializeShareGroupStateRequest, InitializeStateData)
READ = (ReadShareGroupStateRequest, ReadStateData)
WRITE = (WriteShareGroupStateRequest, WriteStateData)
DELETE = (DeleteShareGroupStateRequest, DeleteStateData)
SUMMARY = (ReadShareGroupStateSummaryRequest, ReadStateSummaryData)


@pytest.fixture
async def topic_id(broker: Connection, topic: str) -> UUID:
    """The id of a topic of one partition, once the coordinator of its share partitions is there."""

    async def found() -> bool:
        request = FindCoordinatorRequest(key_type=2, coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAQ:0"])
        response: Any = await broker.request(request, 6)
        return bool(response.coordinators[0].error_code == ErrorCode.NONE)

    await eventually(found)
    return await topic_id_of(broker, topic)


async def send(broker: Connection, api: tuple[Any, Any], topic_id: UUID, *partitions: Any, group: str = "g") -> Any:
    """Send a request for partitions of one topic, and return their results."""
    request, topic = api
    response: Any = await broker.request(request(group, [topic(topic_id, list(partitions))]))
    return response.results[0].partitions if response.results else None


async def test_a_state_is_written_and_read(broker: Connection, topic_id: UUID) -> None:
    [initialized] = await send(broker, INITIALIZE, topic_id, InitializedPartition(0, 1, 3))
    assert initialized.error_code == ErrorCode.NONE
    [read] = await send(broker, READ, topic_id, ReadPartition(0, 2))
    assert (read.error_code, read.state_epoch, read.start_offset, read.state_batches) == (0, 1, 3, [])
    [written] = await send(broker, WRITE, topic_id, WrittenPartition(0, 1, 2, 3, 2, [BATCH]))
    assert written.error_code == ErrorCode.NONE
    [read] = await send(broker, READ, topic_id, ReadPartition(0, 2))
    assert [(each.first_offset, each.last_offset, each.delivery_state) for each in read.state_batches] == [(3, 4, 2)]
    [summary] = await send(broker, SUMMARY, topic_id, SummarizedPartition(0, -1))
    assert (summary.leader_epoch, summary.start_offset, summary.delivery_complete_count) == (2, 3, 2)
    [deleted] = await send(broker, DELETE, topic_id, DeletedPartition(0))
    assert deleted.error_code == ErrorCode.NONE
    [read] = await send(broker, READ, topic_id, ReadPartition(0, 2))
    assert read.error_code == ErrorCode.INVALID_REQUEST


async def test_each_partition_has_its_own_result(broker: Connection, topic_id: UUID) -> None:
    one, far, negative = await send(
        broker, INITIALIZE, topic_id, *(InitializedPartition(index, 1, -1) for index in (0, 9, -1))
    )
    assert (one.partition, one.error_code) == (0, ErrorCode.NONE)
    assert (far.partition, far.error_code) == (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert (negative.partition, negative.error_code) == (-1, ErrorCode.INVALID_REQUEST)


async def test_a_request_without_group_or_partitions_gets_an_empty_response(broker: Connection, topic_id: UUID) -> None:
    """``ShareCoordinatorService`` returns empty data for them."""
    assert await send(broker, READ, topic_id, ReadPartition(0, -1), group="") is None
    assert await send(broker, READ, topic_id) is None
