"""DescribeShareGroupOffsets (key 90): where share groups begin to read, and how many records are left (KIP-932).

Versions 0 and 1: 1 has the lag (KIP-1226). A partition without a state has the offset -1, which is no error.
"""

from __future__ import annotations

from uuid import UUID

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.config.features import SHARE_VERSION
from kraft.coordinator.partitions import HASHED_CHARACTERS
from kraft.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kraft.messages.describe_share_group_offsets_response import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    versions={ListenerType.BROKER: (0, 1)},
    permissions=((Operation.DESCRIBE, Resource.GROUP), (Operation.DESCRIBE, Resource.TOPIC)),
)

_NO_TOPIC = UUID(int=0)
_SLICE_PARTITIONS = 300


async def at_broker(broker: BrokerContext, request: Request, message: DescribeShareGroupOffsetsRequest) -> Reply:
    if not broker.image.features.get(SHARE_VERSION, 0):
        return error(message, request.api_version, ErrorCode.UNSUPPORTED_VERSION)

    async def all_described() -> DescribeShareGroupOffsetsResponse:
        slices = Slices(_SLICE_PARTITIONS)
        response = DescribeShareGroupOffsetsResponse()
        for wanted in message.groups:
            try:
                response.groups.append(await _described(broker, wanted, slices))
            except KafkaError as refused:
                response.groups.append(_failed(wanted.group_id, refused.code, refused.message))
            await slices.spend(1 + len(wanted.group_id) // HASHED_CHARACTERS)
        return response

    return Parked(all_described)


async def _described(
    broker: BrokerContext, wanted: DescribeShareGroupOffsetsRequestGroup, slices: Slices
) -> DescribeShareGroupOffsetsResponseGroup:
    """Raises KafkaError if this broker does not coordinate the group: only its coordinator knows all topics."""
    image = broker.image
    named: dict[str, dict[int, None]] = {}
    if wanted.topics is None:
        group = broker.coordinators.groups.shard_of(wanted.group_id).core.shares.committed.get(wanted.group_id)
        initialized = {} if group is None else group.states.initialized
        for topic_id, topic in initialized.items():
            if topic_id in image.topics:
                named[topic.name] = dict.fromkeys(sorted(topic.partitions))
    else:
        for asked in wanted.topics:
            named.setdefault(asked.topic_name, {}).update(dict.fromkeys(asked.partitions))
    ids = {name: image.topic_ids.get(name, _NO_TOPIC) for name in named}
    if not wanted.group_id and any(named[name] for name in named if ids[name] != _NO_TOPIC):
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    partitions = []
    for name, indexes in named.items():
        existing = image.topics[ids[name]].partitions if ids[name] in image.topics else {}
        for index in indexes:
            if index in existing:
                partitions.append((ids[name], index))
            await slices.spend()
    offsets = await broker.coordinators.share_offsets.of(wanted.group_id, partitions)
    described = DescribeShareGroupOffsetsResponseGroup(group_id=wanted.group_id)
    for name, indexes in named.items():
        topic_answer = DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=ids[name])
        for index in indexes:
            answer = DescribeShareGroupOffsetsResponsePartition(partition_index=index, start_offset=-1)
            found = offsets.get((ids[name], index))
            if found is not None:
                answer.start_offset, answer.leader_epoch = found.start_offset, found.leader_epoch
                answer.lag, answer.error_code = found.lag, found.code
            topic_answer.partitions.append(answer)
            await slices.spend()
        described.topics.append(topic_answer)
    return described


def _failed(group_id: str, code: ErrorCode, text: str | None) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(group_id=group_id, error_code=code, error_message=text)


def error(
    message: DescribeShareGroupOffsetsRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(
        groups=mapped(message.groups, lambda group: _failed(group.group_id, code, text))
    )
