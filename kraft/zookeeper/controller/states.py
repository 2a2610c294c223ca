"""What the controller is doing: Kafka's ControllerState, of which operators have a gauge and timers."""

from __future__ import annotations

import enum

from kraft.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.controlled_shutdown_request import ControlledShutdownRequest
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.messages.leader_and_isr_response import LeaderAndIsrResponse
from kraft.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kraft.messages.stop_replica_response import StopReplicaResponse
from kraft.messages.update_metadata_response import UpdateMetadataResponse
from kraft.zookeeper.controller.effects import (
    ApiRequest,
    BrokerResponded,
    LegacyEvent,
    RebalanceDue,
    SessionExpired,
    SessionStarted,
    StandAgain,
)
from kraft.zookeeper.operations import ZnodeChanged
from kraft.zookeeper.znodes.admin import DELETE_TOPICS, PREFERRED_REPLICA_ELECTION, REASSIGN_PARTITIONS
from kraft.zookeeper.znodes.brokers import BROKER_IDS
from kraft.zookeeper.znodes.notifications import ISR_CHANGES, LOG_DIR_EVENTS
from kraft.zookeeper.znodes.topics import TOPICS


class ControllerState(enum.IntEnum):
    """The values of ``kafka.controller:type=KafkaController,name=ControllerState``.

    The state of a configuration, of a shutdown and of UpdateFeatures is never entered here, so it has no member.
    """

    IDLE = 0
    CONTROLLER_CHANGE = 1
    BROKER_CHANGE = 2
    TOPIC_CHANGE = 3
    TOPIC_DELETION = 4
    ALTER_PARTITION_REASSIGNMENT = 5
    AUTO_LEADER_BALANCE = 6
    MANUAL_LEADER_BALANCE = 7
    CONTROLLED_SHUTDOWN = 8
    ISR_CHANGE = 9
    LEADER_AND_ISR_RESPONSE_RECEIVED = 10
    LOG_DIR_CHANGE = 11
    LIST_PARTITION_REASSIGNMENT = 15
    UPDATE_METADATA_RESPONSE_RECEIVED = 16


def state_of(event: LegacyEvent) -> ControllerState:
    """The state during the decision on an event."""
    match event:
        case SessionStarted() | StandAgain() | SessionExpired() | ZnodeChanged(path="/controller"):
            return ControllerState.CONTROLLER_CHANGE
        case ZnodeChanged(path):
            named = next((each for each in _WATCHED if path == each or path.startswith(f"{each}/")), None)
            return ControllerState.IDLE if named is None else _WATCHED[named]
        case BrokerResponded(response=response):
            return _RESPONSES.get(type(response), ControllerState.IDLE)
        case ApiRequest(message=message):
            return _REQUESTS.get(type(message), ControllerState.IDLE)
        case RebalanceDue():
            return ControllerState.AUTO_LEADER_BALANCE
        case _:
            return ControllerState.IDLE


_WATCHED = {
    BROKER_IDS: ControllerState.BROKER_CHANGE,
    TOPICS: ControllerState.TOPIC_CHANGE,
    DELETE_TOPICS: ControllerState.TOPIC_DELETION,
    REASSIGN_PARTITIONS: ControllerState.ALTER_PARTITION_REASSIGNMENT,
    PREFERRED_REPLICA_ELECTION: ControllerState.MANUAL_LEADER_BALANCE,
    ISR_CHANGES: ControllerState.ISR_CHANGE,
    LOG_DIR_EVENTS: ControllerState.LOG_DIR_CHANGE,
}
_RESPONSES = {
    LeaderAndIsrResponse: ControllerState.LEADER_AND_ISR_RESPONSE_RECEIVED,
    UpdateMetadataResponse: ControllerState.UPDATE_METADATA_RESPONSE_RECEIVED,
    StopReplicaResponse: ControllerState.TOPIC_DELETION,
}
_REQUESTS = {
    AlterPartitionReassignmentsRequest: ControllerState.ALTER_PARTITION_REASSIGNMENT,
    ListPartitionReassignmentsRequest: ControllerState.LIST_PARTITION_REASSIGNMENT,
    AlterPartitionRequest: ControllerState.ISR_CHANGE,
    ControlledShutdownRequest: ControllerState.CONTROLLED_SHUTDOWN,
    ElectLeadersRequest: ControllerState.MANUAL_LEADER_BALANCE,
}
