"""AllocateProducerIds: blocks of producer ids, from /latest_producer_id_block (KIP-730)."""

from __future__ import annotations

from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller.active import MAX_ATTEMPTS, ActiveController
from kraft.zookeeper.controller.effects import Steps
from kraft.zookeeper.operations import Set
from kraft.zookeeper.znodes.cluster import (
    PRODUCER_ID_BLOCK,
    PRODUCER_ID_BLOCK_SIZE,
    ZkProducerIdBlock,
    decode_producer_id_block,
    encode_producer_id_block,
)
from kraft.zookeeper.znodes.fields import MalformedZnode

_MAX_PRODUCER_ID = 2**63 - 1


def allocate_producer_ids(
    active: ActiveController, request: AllocateProducerIdsRequest, version: int
) -> Steps[AllocateProducerIdsResponse]:
    """Write the next block, on the condition that no other process wrote one since the last was read."""
    broker = active.cluster.brokers.get(request.broker_id)
    if broker is None:
        return AllocateProducerIdsResponse(error_code=ErrorCode.BROKER_ID_NOT_REGISTERED)
    if broker.epoch != request.broker_epoch:
        return AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    for _ in range(MAX_ATTEMPTS):
        (node,) = yield from active.read((PRODUCER_ID_BLOCK,))
        try:
            first = 0 if node is None or not node.data else decode_producer_id_block(node.data).last + 1
        except MalformedZnode as error:
            active.note(f"{error}; no producer ids are allocated, because ids might repeat")
            break
        if node is None or first > _MAX_PRODUCER_ID - PRODUCER_ID_BLOCK_SIZE:
            active.note("there are no producer ids left" if node else f"{PRODUCER_ID_BLOCK} does not exist")
            break
        block = ZkProducerIdBlock(request.broker_id, first, first + PRODUCER_ID_BLOCK_SIZE - 1)
        (result,) = yield from active.write([Set(PRODUCER_ID_BLOCK, encode_producer_id_block(block), node.version)])
        if isinstance(result, int):
            return AllocateProducerIdsResponse(
                error_code=ErrorCode.NONE, producer_id_start=first, producer_id_len=PRODUCER_ID_BLOCK_SIZE
            )
    return AllocateProducerIdsResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
