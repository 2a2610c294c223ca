"""ListTransactions (key 66): the transactional ids that this broker coordinates (KIP-664).

Versions 0 to 1: 1 filters by age (KIP-994).
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordinator.transactions.admin import listed, transaction_filter
from kraft.messages.list_transactions_request import ListTransactionsRequest
from kraft.messages.list_transactions_response import ListTransactionsResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.world.turns import Turns, in_slices

ROW = Api(
    ApiKey.LIST_TRANSACTIONS,
    versions={ListenerType.BROKER: (0, 1), ListenerType.ZK_BROKER: (0, 1)},
    permissions=((Operation.DESCRIBE, Resource.TRANSACTIONAL_ID),),
)

_SLICE_IDS = 1000


async def at_broker(broker: BrokerContext, request: Request, message: ListTransactionsRequest) -> Reply:
    turns = Turns(_SLICE_IDS)
    wanted = await in_slices(transaction_filter(message), turns)
    response = ListTransactionsResponse(unknown_state_filters=list(wanted.unknown_states))
    now_s = broker.clock.now_s()
    for shard in broker.transactions.shards():
        response.transaction_states += await in_slices(listed(shard.core.entries, wanted, now_s), turns)
    return response


at_zk_broker = at_broker


def error(
    message: ListTransactionsRequest, version: int, code: ErrorCode, text: str | None = None
) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=code)
