"""AlterPartitionReassignments (key 45): move replicas to other brokers, or cancel such a move (KIP-455).

Versions 0 and 1: 1 may forbid a change of the replication factor (KIP-860), and a broker with ZooKeeper does not
offer it.
"""

from __future__ import annotations

from kraft.api.context import ZkBrokerContext
from kraft.api.controller_requests import ask_controller, decide
from kraft.api.forwarding import forward
from kraft.api.propagation import check_size
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from kraft.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    versions={ListenerType.BROKER: (0, 1), ListenerType.ZK_BROKER: (0, 0), ListenerType.CONTROLLER: (0, 1)},
    permissions=((Operation.ALTER, Resource.CLUSTER),),
    forwardable=True,
)

at_broker = forward
at_controller = decide


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: AlterPartitionReassignmentsRequest) -> Reply:
    check_size(sum(len(topic.partitions) for topic in message.topics))
    return await ask_controller(broker, request, message)


def error(
    message: AlterPartitionReassignmentsRequest, version: int, code: ErrorCode, text: str | None = None
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        error_code=code,
        error_message=text,
        responses=mapped(
            message.topics,
            lambda topic: ReassignableTopicResponse(
                topic.name,
                mapped(
                    topic.partitions, lambda asked: ReassignablePartitionResponse(asked.partition_index, code, text)
                ),
            ),
        ),
    )
