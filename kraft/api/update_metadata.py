"""UpdateMetadata (key 6): a ZooKeeper-era controller informs this broker of live brokers, topics and their leaders.

Versions 7 and 8. Version 7 has topic ids, 8 may come from a KRaft controller (KIP-866). Earlier versions have no topic
ids: controllers with ``inter.broker.protocol.version`` below 2.8 send them.

The response to a client's Metadata follows from this request alone. The roles of partitions follow from LeaderAndIsr. A
stale epoch of the controller or of this broker refuses the request.
"""

from __future__ import annotations

from functools import partial

from kraft.api.context import ZkBrokerContext
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.registry import ApiKey
from kraft.messages.update_metadata_request import UpdateMetadataRequest
from kraft.messages.update_metadata_response import UpdateMetadataResponse
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.UPDATE_METADATA,
    versions={ListenerType.ZK_BROKER: (7, 8)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    quota=Quota.NONE,
)


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: UpdateMetadataRequest) -> Reply:
    return Parked(partial(broker.commands.update_metadata, message))


def error(
    message: UpdateMetadataRequest, version: int, code: ErrorCode, text: str | None = None
) -> UpdateMetadataResponse:
    return UpdateMetadataResponse(error_code=code)
