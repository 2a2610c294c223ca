"""ListTransactions (key 66): the transactional ids that this broker coordinates (KIP-664).

Versions 0 to 2: 1 filters by age (KIP-994), 2 by a regular expression (KIP-1152).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordination.regexes import check, matching
from kraft.coordinator.transactions.admin import TransactionFilter, listed, transaction_filter
from kraft.coordinator.transactions.core import TransactionCoordinator
from kraft.messages.list_transactions_request import ListTransactionsRequest
from kraft.messages.list_transactions_response import ListTransactionsResponse, TransactionState
from kraft.messages.registry import ApiKey
from kraft.metadata.steps import Steps
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.freeing import free_in_steps
from kraft.world.slices import Slices, in_slices

ROW = Api(
    ApiKey.LIST_TRANSACTIONS,
    versions={ListenerType.BROKER: (0, 2), ListenerType.ZK_BROKER: (0, 2)},
    permissions=((Operation.DESCRIBE, Resource.TRANSACTIONAL_ID),),
)

_SLICE_IDS = 1000


async def at_broker(broker: BrokerContext, request: Request, message: ListTransactionsRequest) -> Reply:
    return Parked(partial(_list, broker, message))


at_zk_broker = at_broker


async def _list(broker: BrokerContext, message: ListTransactionsRequest) -> ListTransactionsResponse:
    slices = Slices(_SLICE_IDS)
    wanted = await in_slices(transaction_filter(message), slices)
    response = ListTransactionsResponse(unknown_state_filters=list(wanted.unknown_states))
    listing = partial(_listed_of, wanted, broker.clock.system_s())
    found = await broker.coordinators.transactions.read_all(listing, slices)
    pattern = message.transactional_id_pattern
    if pattern:
        await check(broker.replicas.world, pattern, "Transaction ID pattern")
        ids = await matching(broker.replicas.world, pattern, [each.transactional_id for each in found])
        found = [each for each in found if each.transactional_id in ids]
    response.transaction_states = found
    filters: list[Any] = [wanted.producer_ids]
    del wanted
    await in_slices(free_in_steps(filters), slices)
    return response


def _listed_of(wanted: TransactionFilter, now_s: float, core: TransactionCoordinator) -> Steps[list[TransactionState]]:
    return listed(core.entries, wanted, now_s)


def error(
    message: ListTransactionsRequest, version: int, code: ErrorCode, text: str | None = None
) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=code)
