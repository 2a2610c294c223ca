"""AddPartitionsToTxn (key 24): the partitions that a transaction writes to, before it does (KIP-98).

Versions 0 to 5.

| version | change |
|---|---|
| 2 | PRODUCER_FENCED (KIP-588) |
| 3 | flexible |
| 4 | sent by brokers: several transactions, and checks that change nothing (KIP-890) |
| 5 | TRANSACTION_ABORTABLE |

A client may not add partitions of internal topics. If the cluster lacks one of the partitions, or a client may not add
it, none is added: the others get OPERATION_NOT_ATTEMPTED.
"""

from __future__ import annotations

from functools import partial

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kraft.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request, response_of
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import is_internal
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.ADD_PARTITIONS_TO_TXN,
    versions={ListenerType.BROKER: (0, 5), ListenerType.ZK_BROKER: (0, 5)},
    permissions=(
        (Operation.WRITE, Resource.TRANSACTIONAL_ID),
        (Operation.WRITE, Resource.TOPIC),
        (Operation.CLUSTER_ACTION, Resource.CLUSTER),
    ),
)

BROKER_VERSION = 4
_SLICE_PARTITIONS = 500
_TRANSACTION = 20
"""The cost of a transaction beside that of its partitions."""


async def at_broker(broker: BrokerContext, request: Request, message: AddPartitionsToTxnRequest) -> Reply:
    if request.api_version >= BROKER_VERSION:
        return Parked(partial(_add_all, broker, request, message))
    transaction = _of_client(message)
    refused = await _unaddable(broker, transaction, Slices(_SLICE_PARTITIONS), of_client=True)
    if refused is not None:
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=refused.topic_results)
    return Parked(partial(_add, broker, request, transaction))


at_zk_broker = at_broker


async def _add(
    broker: BrokerContext, request: Request, transaction: AddPartitionsToTxnTransaction
) -> AddPartitionsToTxnResponse:
    result = await _result(transaction, _begun(broker, request, transaction))
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=result.topic_results)


async def _add_all(
    broker: BrokerContext, request: Request, message: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    """Begin all before waiting for any: each waits for the records of its own to be committed."""
    slices = Slices(_SLICE_PARTITIONS)
    begun: list[tuple[AddPartitionsToTxnTransaction, Reply]] = []
    for transaction in message.transactions:
        refused = await _unaddable(broker, transaction, slices, of_client=False)
        begun.append((transaction, refused or _begun(broker, request, transaction)))
        await slices.spend(_TRANSACTION)
    return AddPartitionsToTxnResponse(results_by_transaction=[await _result(*each) for each in begun])


def _begun(broker: BrokerContext, request: Request, transaction: AddPartitionsToTxnTransaction) -> Reply:
    """Begin to add the partitions. The reply is an AddPartitionsToTxnResult."""
    try:
        if not transaction.transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        shard = broker.coordinators.transactions.shard_of(transaction.transactional_id)
        return shard.submit(request, transaction)
    except KafkaError as refused:
        return _refused(transaction, refused.code)


async def _result(transaction: AddPartitionsToTxnTransaction, begun: Reply) -> AddPartitionsToTxnResult:
    try:
        result: AddPartitionsToTxnResult = await response_of(begun)
    except KafkaError as refused:
        return _refused(transaction, refused.code)
    return result


async def _unaddable(
    broker: BrokerContext, transaction: AddPartitionsToTxnTransaction, slices: Slices, *, of_client: bool
) -> AddPartitionsToTxnResult | None:
    """Return the response if a partition cannot be added, else None (``KafkaApis.handleAddPartitionsToTxnRequest``)."""
    is_refused = False
    result = AddPartitionsToTxnResult(transactional_id=transaction.transactional_id)
    for topic in transaction.topics:
        is_forbidden = of_client and is_internal(topic.name)
        count = broker.replicas.partition_count(topic.name)
        partitions = []
        for index in topic.partitions:
            if is_forbidden:
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif 0 <= index < count:
                code = ErrorCode.OPERATION_NOT_ATTEMPTED
            else:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            is_refused = is_refused or code is not ErrorCode.OPERATION_NOT_ATTEMPTED
            partitions.append(AddPartitionsToTxnPartitionResult(index, code))
            await slices.spend()
        result.topic_results.append(AddPartitionsToTxnTopicResult(topic.name, partitions))
        await slices.spend()
    return result if is_refused else None


def _of_client(message: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        message.v3_and_below_transactional_id,
        message.v3_and_below_producer_id,
        message.v3_and_below_producer_epoch,
        topics=message.v3_and_below_topics,
    )


def _refused(transaction: AddPartitionsToTxnTransaction, code: ErrorCode) -> AddPartitionsToTxnResult:
    def of_topic(topic: AddPartitionsToTxnTopic) -> AddPartitionsToTxnTopicResult:
        partitions = mapped(topic.partitions, lambda index: AddPartitionsToTxnPartitionResult(index, code))
        return AddPartitionsToTxnTopicResult(topic.name, partitions)

    return AddPartitionsToTxnResult(transaction.transactional_id, mapped(transaction.topics, of_topic))


def error(
    message: AddPartitionsToTxnRequest, version: int, code: ErrorCode, text: str | None = None
) -> AddPartitionsToTxnResponse:
    if version >= BROKER_VERSION:
        return AddPartitionsToTxnResponse(error_code=code)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_refused(_of_client(message), code).topic_results)
