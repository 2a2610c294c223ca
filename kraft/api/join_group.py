"""JoinGroup (key 11): become a member of a classic group, or take part in its next rebalance.

Versions 0 to 9.

| version | change |
|---|---|
| 1 | a separate rebalance timeout (KIP-62) |
| 4 | a new member first gets its id, and joins with it (KIP-394) |
| 5 | static members (KIP-345) |
| 6 | flexible |
| 7 | protocol type in the response (KIP-559) |
| 8 | the reason, for the log (KIP-800) |
| 9 | a returning static leader skips the assignment |

Parked until all members have joined or the rebalance timeout is over. A client with more than ``MAX_PROTOCOLS`` gets
INCONSISTENT_GROUP_PROTOCOL.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordinator.groups.rebalance import join_error
from kraft.messages.join_group_request import JoinGroupRequest
from kraft.messages.join_group_response import JoinGroupResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError

ROW = Api(
    ApiKey.JOIN_GROUP,
    versions={ListenerType.BROKER: (0, 9), ListenerType.ZK_BROKER: (0, 9)},
    permissions=((Operation.READ, Resource.GROUP),),
)


MAX_PROTOCOLS = 100
"""Not a Kafka setting. The protocols of a client, each with metadata of its own: the assignors of a consumer."""


async def at_broker(broker: BrokerContext, request: Request, message: JoinGroupRequest) -> Reply:
    if len(message.protocols) > MAX_PROTOCOLS:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return broker.coordinators.groups.shard_of_member(message.group_id).submit(request, message)


at_zk_broker = at_broker


def error(message: JoinGroupRequest, version: int, code: ErrorCode, text: str | None = None) -> JoinGroupResponse:
    return join_error(version, code, message.member_id if code == ErrorCode.INVALID_GROUP_ID else "")
