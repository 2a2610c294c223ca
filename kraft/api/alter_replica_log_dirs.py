"""AlterReplicaLogDirs (key 34): move replicas to other log directories of this broker (KIP-113).

Versions 1 to 2: 2 is flexible.

The response comes before the moves, which DescribeLogDirs shows. A replica that is not here yet gets
REPLICA_NOT_AVAILABLE, and will be created in the directory. So is one of a topic that the broker does not know yet. Of
a partition that is named again, only the last directory counts.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from kraft.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    versions={ListenerType.BROKER: (1, 2), ListenerType.ZK_BROKER: (1, 2)},
    permissions=((Operation.ALTER, Resource.CLUSTER),),
)

_SLICE_PARTITIONS = 500


async def at_broker(broker: BrokerContext, request: Request, message: AlterReplicaLogDirsRequest) -> Reply:
    slices = Slices(_SLICE_PARTITIONS)
    wanted: dict[str, dict[int, str]] = {}
    for directory in message.dirs:
        for topic in directory.topics:
            for index in topic.partitions:
                wanted.setdefault(topic.name, {})[index] = directory.path
                await slices.spend()
            await slices.spend()
    results = []
    for name, paths in wanted.items():
        result = AlterReplicaLogDirTopicResult(name)
        results.append(result)
        for index, path in paths.items():
            code = ErrorCode.NONE
            try:
                broker.moves.request(name, index, path)
            except KafkaError as refused:
                code = refused.code
            result.partitions.append(AlterReplicaLogDirPartitionResult(index, code))
            await slices.spend()
    return AlterReplicaLogDirsResponse(results=results)


at_zk_broker = at_broker


def error(
    message: AlterReplicaLogDirsRequest, version: int, code: ErrorCode, text: str | None = None
) -> AlterReplicaLogDirsResponse:
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in message.dirs:
        for topic in directory.topics:
            result = results.setdefault(topic.name, AlterReplicaLogDirTopicResult(topic.name))
            result.partitions += [AlterReplicaLogDirPartitionResult(index, code) for index in topic.partitions]
    return AlterReplicaLogDirsResponse(results=list(results.values()))
