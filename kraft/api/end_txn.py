"""EndTxn (key 26): commit or abort a transaction (KIP-98).

Versions 0 to 5.

| version | change |
|---|---|
| 2 | PRODUCER_FENCED (KIP-588) |
| 3 | flexible |
| 4 | TRANSACTION_ABORTABLE |
| 5 | each end bumps the epoch, and the response has the next one (KIP-890) |

The response says that the outcome is decided and committed. The markers of the partitions follow.
"""

from __future__ import annotations

from functools import partial

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.end_txn_request import EndTxnRequest
from kraft.messages.end_txn_response import EndTxnResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request, response_of
from kraft.wire.errors import ErrorCode, KafkaError

ROW = Api(
    ApiKey.END_TXN,
    versions={ListenerType.BROKER: (0, 5), ListenerType.ZK_BROKER: (0, 5)},
    permissions=((Operation.WRITE, Resource.TRANSACTIONAL_ID),),
)


async def at_broker(broker: BrokerContext, request: Request, message: EndTxnRequest) -> Reply:
    return Parked(partial(_end, broker, request, message))


at_zk_broker = at_broker


async def _end(broker: BrokerContext, request: Request, message: EndTxnRequest) -> EndTxnResponse:
    if not message.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    shard = broker.coordinators.transactions.shard_of(message.transactional_id)
    response: EndTxnResponse = await response_of(shard.submit(request, message))
    return response


def error(message: EndTxnRequest, version: int, code: ErrorCode, text: str | None = None) -> EndTxnResponse:
    return EndTxnResponse(error_code=code)
