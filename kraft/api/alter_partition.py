"""AlterPartition (key 56): the leader of partitions proposes their next ISR (KIP-497).

Versions 0 to 3: 1 has the recovery state of a leader (KIP-704), 2 names topics by id, 3 has the epochs of the members
(KIP-903). Only a broker with ZooKeeper offers 0 and 1, which name topics by name.
"""

from __future__ import annotations

from kraft.api.controller_requests import ask_controller, decide
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.alter_partition_response import AlterPartitionResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.ALTER_PARTITION,
    versions={ListenerType.CONTROLLER: (2, 3), ListenerType.ZK_BROKER: (0, 3)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    quota=Quota.NONE,
)

at_controller = decide
at_zk_broker = ask_controller


def error(
    message: AlterPartitionRequest, version: int, code: ErrorCode, text: str | None = None
) -> AlterPartitionResponse:
    return AlterPartitionResponse(error_code=code)
