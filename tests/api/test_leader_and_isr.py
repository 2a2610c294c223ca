"""LeaderAndIsr: the response that says that the whole request failed."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraft.api.leader_and_isr import error
from kraft.messages.leader_and_isr_request import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kraft.messages.leader_and_isr_response import LeaderAndIsrPartitionError, LeaderAndIsrTopicError
from kraft.wire.errors import ErrorCode

A, B = UUID(int=1), UUID(int=2)
REQUEST = LeaderAndIsrRequest(
    topic_states=[
        LeaderAndIsrTopicState("a", A, [LeaderAndIsrPartitionState(partition_index=index) for index in (0, 3)]),
        LeaderAndIsrTopicState("b", B, [LeaderAndIsrPartitionState(partition_index=1)]),
    ]
)


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.STALE_CONTROLLER_EPOCH])
def test_a_failed_request_names_every_partition(code: ErrorCode) -> None:
    """``LeaderAndIsrRequest.getErrorResponse``, which ``KafkaApis.handleLeaderAndIsrRequest`` and
    ``ReplicaManager.becomeLeaderOrFollower`` send for stale requests, too.
    """
    response = error(REQUEST, 7, code)
    assert response.error_code == code
    assert response.topics == [
        LeaderAndIsrTopicError(topic_id, [LeaderAndIsrPartitionError("", index, code) for index in indexes])
        for topic_id, indexes in ((A, (0, 3)), (B, (1,)))
    ]
