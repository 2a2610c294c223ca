"""LeaderAndIsr (key 4): a ZooKeeper-era controller gives this broker's partitions their leaders and ISRs.

Versions 5 to 7. Version 5 names topics by id, 6 has the recovery state of a leader, 7 may come from a KRaft controller
(KIP-866). Earlier versions have no topic ids: controllers with ``inter.broker.protocol.version`` below 2.8 send them.

A stale epoch of the controller or of this broker refuses the whole request. Otherwise each partition has its own error:
STALE_CONTROLLER_EPOCH for a leader epoch that is not newer than the known one. An election always makes a new leader
epoch, so a repeated request changes nothing.
"""

from __future__ import annotations

from functools import partial

from kraft.api.context import ZkBrokerContext
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.leader_and_isr_response import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.LEADER_AND_ISR,
    versions={ListenerType.ZK_BROKER: (5, 7)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    quota=Quota.NONE,
)


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: LeaderAndIsrRequest) -> Reply:
    return Parked(partial(broker.commands.lead_and_follow, message))


def error(message: LeaderAndIsrRequest, version: int, code: ErrorCode, text: str | None = None) -> LeaderAndIsrResponse:
    """``LeaderAndIsrRequest.getErrorResponse`` names every partition, also of a stale request."""
    return LeaderAndIsrResponse(
        error_code=code,
        topics=[
            LeaderAndIsrTopicError(
                topic.topic_id,
                [
                    LeaderAndIsrPartitionError(partition_index=state.partition_index, error_code=code)
                    for state in topic.partition_states
                ],
            )
            for topic in message.topic_states
        ],
    )
