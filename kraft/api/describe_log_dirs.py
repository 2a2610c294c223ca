"""DescribeLogDirs (key 35): the logs in each log directory, and the free space of its disk.

A replica that moves to another directory is in both: the copy is a future replica, and its lag is that behind the log.

Versions 1 to 5: 2 is flexible, 3 has an error for the whole response, 4 the size of the volume (KIP-827), 5 whether
the directory is cordoned (KIP-1066), which none is here.
"""

from __future__ import annotations

import os

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.describe_log_dirs_request import DescribeLogDirsRequest
from kraft.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.storage.directory import LogDirectory
from kraft.wire.errors import ErrorCode
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.DESCRIBE_LOG_DIRS,
    versions={ListenerType.BROKER: (1, 5), ListenerType.ZK_BROKER: (1, 5)},
    permissions=((Operation.DESCRIBE, Resource.CLUSTER),),
)

_SLICE_PARTITIONS = 300
_SLICE_LOOKS = 3_000


async def at_broker(broker: BrokerContext, request: Request, message: DescribeLogDirsRequest) -> Reply:
    wanted: set[tuple[str, int]] | None = None
    if message.topics is not None:
        wanted, looks = set(), Slices(_SLICE_LOOKS)
        for topic in message.topics:
            hosted = broker.replicas.partitions.get(topic.topic, {})
            for index in topic.partitions:
                if index in hosted:
                    wanted.add((topic.topic, index))
                await looks.spend()
    slices = Slices(_SLICE_PARTITIONS)
    results = [await _one(broker, directory, wanted, slices) for directory in broker.replicas.directories]
    return DescribeLogDirsResponse(results=results)


at_zk_broker = at_broker


async def _one(
    broker: BrokerContext, directory: LogDirectory, wanted: set[tuple[str, int]] | None, slices: Slices
) -> DescribeLogDirsResult:
    topics: dict[str, DescribeLogDirsTopic] = {}
    for partition in list(broker.replicas.all()):
        await slices.spend()
        if not broker.replicas.holds(partition) or not directory.has(partition.log.directory):
            continue
        if wanted is None or partition.where in wanted:
            topic = topics.setdefault(partition.topic, DescribeLogDirsTopic(name=partition.topic))
            topic.partitions.append(
                DescribeLogDirsPartition(
                    partition_index=partition.index,
                    partition_size=partition.log.size,
                    offset_lag=max(partition.high_watermark - partition.log.log_end_offset, 0),
                )
            )
    for partition, move in list(broker.moves.copies.items()):
        if move.directory is directory and move.future and (wanted is None or partition.where in wanted):
            topic = topics.setdefault(partition.topic, DescribeLogDirsTopic(name=partition.topic))
            topic.partitions.append(DescribeLogDirsPartition(partition.index, move.future.size, move.lag, True))
    try:
        volume = os.statvfs(directory.path)
    except OSError:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory.path)
    return DescribeLogDirsResult(
        log_dir=directory.path,
        topics=list(topics.values()),
        total_bytes=volume.f_blocks * volume.f_frsize,
        usable_bytes=volume.f_bavail * volume.f_frsize,
    )


def error(
    message: DescribeLogDirsRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(error_code=code)
