"""InitProducerId (key 22): an id and an epoch for an idempotent or a transactional producer.

Versions 0 to 5: 2 is flexible, in 3 a producer may send its present id (KIP-360), 4 and 5 add error codes.

Without a transactional id the timeout has no effect and every request gets a new id. With one, the coordinator fences
the producers before and aborts their open transaction.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import trio

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.init_producer_id_request import InitProducerIdRequest
from kraft.messages.init_producer_id_response import InitProducerIdResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request, response_of
from kraft.wire.errors import ErrorCode, KafkaError

ROW = Api(
    ApiKey.INIT_PRODUCER_ID,
    versions={ListenerType.BROKER: (0, 5), ListenerType.ZK_BROKER: (0, 5)},
    permissions=((Operation.WRITE, Resource.TRANSACTIONAL_ID), (Operation.IDEMPOTENT_WRITE, Resource.CLUSTER)),
)

_ID_WAIT_S = 1.0
"""Not a Kafka setting. How long a transactional id without a producer id waits for one, before its client retries."""


async def at_broker(broker: BrokerContext, request: Request, message: InitProducerIdRequest) -> Reply:
    if message.transactional_id:
        return Parked(partial(_transactional, broker, request, message))
    if message.transactional_id is not None:
        return error(message, request.api_version, ErrorCode.INVALID_REQUEST)

    if (message.producer_id < 0) is not (message.producer_epoch < 0):
        return error(message, request.api_version, ErrorCode.INVALID_REQUEST)

    async def answer() -> InitProducerIdResponse:
        return InitProducerIdResponse(producer_id=await broker.producer_ids.next(), producer_epoch=0)

    return Parked(answer)


at_zk_broker = at_broker


async def _transactional(
    broker: BrokerContext, request: Request, message: InitProducerIdRequest
) -> InitProducerIdResponse:
    with trio.move_on_after(_ID_WAIT_S), suppress(KafkaError):  # a known transactional id needs no other producer id
        await broker.producer_ids.fill()
    shard = broker.coordinators.transactions.shard_of(message.transactional_id or "")
    response: InitProducerIdResponse = await response_of(shard.submit(request, message))
    return response


def error(
    message: InitProducerIdRequest, version: int, code: ErrorCode, text: str | None = None
) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_epoch=-1)
