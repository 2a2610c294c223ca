"""DescribeTransactions (key 65): state, producer and partitions of transactional ids (KIP-664).

Version 0.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordinator.partitions import HASHED_CHARACTERS
from kraft.coordinator.transactions.admin import described
from kraft.messages.describe_transactions_request import DescribeTransactionsRequest
from kraft.messages.describe_transactions_response import DescribeTransactionsResponse, TransactionState
from kraft.messages.registry import ApiKey
from kraft.metadata.steps import distinct
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices, in_slices

ROW = Api(
    ApiKey.DESCRIBE_TRANSACTIONS,
    versions={ListenerType.BROKER: (0, 0), ListenerType.ZK_BROKER: (0, 0)},
    permissions=((Operation.DESCRIBE, Resource.TRANSACTIONAL_ID), (Operation.DESCRIBE, Resource.TOPIC)),
)

_SLICE_PARTITIONS = 500


async def at_broker(broker: BrokerContext, request: Request, message: DescribeTransactionsRequest) -> Reply:
    response = DescribeTransactionsResponse()
    slices = Slices(_SLICE_PARTITIONS)
    for transactional_id in await in_slices(distinct(message.transactional_ids, str), slices):
        await slices.spend(1 + len(transactional_id) // HASHED_CHARACTERS)
        try:
            entries = broker.coordinators.transactions.shard_of(transactional_id).core.entries
        except KafkaError as refused:
            response.transaction_states.append(_refused(transactional_id, refused.code))
            continue
        response.transaction_states.append(await in_slices(described(entries, transactional_id), slices))
    return response


at_zk_broker = at_broker


def _refused(transactional_id: str, code: ErrorCode) -> TransactionState:
    return TransactionState(error_code=code, transactional_id=transactional_id)


def error(
    message: DescribeTransactionsRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=mapped(message.transactional_ids, lambda each: _refused(each, code))
    )
