"""StopReplica: the response that says that the whole request failed."""

from __future__ import annotations

import pytest

from kraft.api.stop_replica import error
from kraft.messages.stop_replica_request import StopReplicaPartitionState, StopReplicaRequest, StopReplicaTopicState
from kraft.messages.stop_replica_response import StopReplicaPartitionError
from kraft.wire.errors import ErrorCode

REQUEST = StopReplicaRequest(
    topic_states=[
        StopReplicaTopicState("a", [StopReplicaPartitionState(index, -2, True) for index in (0, 3)]),
        StopReplicaTopicState("b", [StopReplicaPartitionState(1, -2, True)]),
    ]
)


def test_a_failed_request_names_every_partition() -> None:
    """``StopReplicaRequest.getErrorResponse``. Apache Kafka's controller takes note of the partitions in the response
    alone (``sendStopReplicaRequests``): with none it would wait for the deletion for ever.
    """
    response = error(REQUEST, 4, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert response.partition_errors == [
        StopReplicaPartitionError(topic, index, ErrorCode.UNKNOWN_SERVER_ERROR)
        for topic, index in (("a", 0), ("a", 3), ("b", 1))
    ]


@pytest.mark.parametrize("code", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.STALE_CONTROLLER_EPOCH])
def test_a_stale_request_has_no_error_of_a_partition(code: ErrorCode) -> None:
    """``KafkaApis.handleStopReplicaRequest`` and ``ReplicaManager.stopReplicas``: only the whole response has it."""
    response = error(REQUEST, 4, code)
    assert (response.error_code, response.partition_errors) == (code, [])
