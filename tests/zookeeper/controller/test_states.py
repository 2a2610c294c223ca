"""kraft.zookeeper.controller.states."""

from __future__ import annotations

import pytest

from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.controlled_shutdown_request import ControlledShutdownRequest
from kraft.messages.leader_and_isr_response import LeaderAndIsrResponse
from kraft.zookeeper.controller.effects import (
    ApiRequest,
    BrokerResponded,
    LegacyEvent,
    RebalanceDue,
    SessionExpired,
    SessionStarted,
)
from kraft.zookeeper.controller.states import ControllerState, state_of
from kraft.zookeeper.operations import ZnodeChanged
from kraft.zookeeper.znodes.topics import topic_path


@pytest.mark.parametrize(
    ("event", "state"),
    [
        (SessionStarted(), ControllerState.CONTROLLER_CHANGE),
        (SessionExpired(), ControllerState.CONTROLLER_CHANGE),
        (ZnodeChanged("/controller"), ControllerState.CONTROLLER_CHANGE),
        (ZnodeChanged("/brokers/ids"), ControllerState.BROKER_CHANGE),
        (ZnodeChanged("/brokers/ids/7"), ControllerState.BROKER_CHANGE),
        (ZnodeChanged(topic_path("t")), ControllerState.TOPIC_CHANGE),
        (ZnodeChanged("/admin/delete_topics"), ControllerState.TOPIC_DELETION),
        (ZnodeChanged("/unknown"), ControllerState.IDLE),
        (BrokerResponded(1, 1, LeaderAndIsrResponse()), ControllerState.LEADER_AND_ISR_RESPONSE_RECEIVED),
        (ApiRequest("token", AlterPartitionRequest(), 3), ControllerState.ISR_CHANGE),
        (ApiRequest("token", ControlledShutdownRequest(), 3), ControllerState.CONTROLLED_SHUTDOWN),
        (RebalanceDue(), ControllerState.AUTO_LEADER_BALANCE),
    ],
)
def test_each_event_has_kafkas_state(event: LegacyEvent, state: ControllerState) -> None:
    """ControllerEvent.state in KafkaController."""
    assert state_of(event) is state
