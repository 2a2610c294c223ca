"""The requests that the legacy controller answers, with the response of each if this broker is not the controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from kraft.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from kraft.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.alter_partition_response import AlterPartitionResponse
from kraft.messages.controlled_shutdown_request import ControlledShutdownRequest
from kraft.messages.controlled_shutdown_response import ControlledShutdownResponse
from kraft.messages.create_partitions_request import CreatePartitionsRequest
from kraft.messages.create_topics_request import CreateTopicsRequest
from kraft.messages.delete_topics_request import DeleteTopicsRequest
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kraft.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from kraft.messages.update_features_request import UpdateFeaturesRequest
from kraft.messages.update_features_response import UpdateFeaturesResponse
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller.active import ActiveController
from kraft.zookeeper.controller.alter_partition import alter_partition
from kraft.zookeeper.controller.change_topics import (
    create_partitions,
    delete_topics,
    deletion_error,
    growth_error,
)
from kraft.zookeeper.controller.controlled_shutdown import controlled_shutdown
from kraft.zookeeper.controller.create_topics import create_topics, creation_error
from kraft.zookeeper.controller.effects import Steps
from kraft.zookeeper.controller.features import update_features
from kraft.zookeeper.controller.preferred import elect_leaders, election_error
from kraft.zookeeper.controller.producer_ids import allocate_producer_ids
from kraft.zookeeper.controller.reassignment import alter_reassignments, list_reassignments


@attrs.frozen
class LegacyHandler:
    decide: Callable[[ActiveController, Any, int], Steps[Any]]
    error: Callable[[Any, int, ErrorCode], Any]
    """The response to all of a request without a decision, or after one that failed."""


def _with_code(response: type) -> Callable[[Any, int, ErrorCode], Any]:
    return lambda message, version, code: response(error_code=code)


LEGACY_HANDLERS: dict[type, LegacyHandler] = {
    AllocateProducerIdsRequest: LegacyHandler(allocate_producer_ids, _with_code(AllocateProducerIdsResponse)),
    AlterPartitionReassignmentsRequest: LegacyHandler(
        alter_reassignments, _with_code(AlterPartitionReassignmentsResponse)
    ),
    AlterPartitionRequest: LegacyHandler(alter_partition, _with_code(AlterPartitionResponse)),
    ControlledShutdownRequest: LegacyHandler(controlled_shutdown, _with_code(ControlledShutdownResponse)),
    CreatePartitionsRequest: LegacyHandler(create_partitions, growth_error),
    CreateTopicsRequest: LegacyHandler(create_topics, creation_error),
    DeleteTopicsRequest: LegacyHandler(delete_topics, deletion_error),
    ElectLeadersRequest: LegacyHandler(elect_leaders, election_error),
    ListPartitionReassignmentsRequest: LegacyHandler(
        list_reassignments, _with_code(ListPartitionReassignmentsResponse)
    ),
    UpdateFeaturesRequest: LegacyHandler(update_features, _with_code(UpdateFeaturesResponse)),
}
