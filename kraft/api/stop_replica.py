"""StopReplica (key 5): a ZooKeeper-era controller ends the role of replicas here, and may delete them.

Versions 3 and 4. Version 3 decides for each partition, and names its leader epoch; 4 may come from a KRaft controller
(KIP-866). Controllers with ``inter.broker.protocol.version`` below 2.6 send earlier versions.

A stale epoch of the controller or of this broker refuses the whole request. A partition with a newer leader epoch than
the request has gets FENCED_LEADER_EPOCH. A deletion of the topic has no leader epoch (-2), and is never fenced.
"""

from __future__ import annotations

from functools import partial

from kraft.api.context import ZkBrokerContext
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.registry import ApiKey
from kraft.messages.stop_replica_request import StopReplicaRequest
from kraft.messages.stop_replica_response import StopReplicaPartitionError, StopReplicaResponse
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.STOP_REPLICA,
    versions={ListenerType.ZK_BROKER: (3, 4)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    quota=Quota.NONE,
)

_STALE = {ErrorCode.STALE_BROKER_EPOCH, ErrorCode.STALE_CONTROLLER_EPOCH}


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: StopReplicaRequest) -> Reply:
    return Parked(partial(broker.commands.stop_replicas, message))


def error(message: StopReplicaRequest, version: int, code: ErrorCode, text: str | None = None) -> StopReplicaResponse:
    """``StopReplicaRequest.getErrorResponse`` names every partition. ``KafkaApis`` names none of a stale request."""
    named = [] if code in _STALE else message.topic_states
    return StopReplicaResponse(
        error_code=code,
        partition_errors=[
            StopReplicaPartitionError(topic.topic_name, state.partition_index, code)
            for topic in named
            for state in topic.partition_states
        ],
    )
