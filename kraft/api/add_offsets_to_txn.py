"""AddOffsetsToTxn (key 25): a transaction will commit offsets of a group (KIP-98).

Versions 0 to 4: 2 has PRODUCER_FENCED (KIP-588), 3 is flexible, 4 has TRANSACTION_ABORTABLE.

It adds the group's partition of ``__consumer_offsets``, as an AddPartitionsToTxn.
"""

from __future__ import annotations

from functools import partial

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordinator.partitions import coordinator_partition
from kraft.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from kraft.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from kraft.messages.add_partitions_to_txn_request import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction
from kraft.messages.add_partitions_to_txn_response import AddPartitionsToTxnResult
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request, response_of
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC

ROW = Api(
    ApiKey.ADD_OFFSETS_TO_TXN,
    versions={ListenerType.BROKER: (0, 4), ListenerType.ZK_BROKER: (0, 4)},
    permissions=((Operation.WRITE, Resource.TRANSACTIONAL_ID), (Operation.READ, Resource.GROUP)),
)

_NEWEST_OF_CLIENTS = 3
"""The newest version of AddPartitionsToTxn that clients send."""


async def at_broker(broker: BrokerContext, request: Request, message: AddOffsetsToTxnRequest) -> Reply:
    return Parked(partial(_add, broker, request, message))


at_zk_broker = at_broker


async def _add(broker: BrokerContext, request: Request, message: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    if not message.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    # A producer looks for the group's coordinator afterwards, and only then the topic is created.
    count = broker.replicas.partition_count(OFFSETS_TOPIC) or broker.config.groups.offsets_topic_num_partitions
    topic = AddPartitionsToTxnTopic(OFFSETS_TOPIC, [coordinator_partition(message.group_id, count)])
    transaction = AddPartitionsToTxnTransaction(
        message.transactional_id, message.producer_id, message.producer_epoch, topics=[topic]
    )
    shard = broker.coordinators.transactions.shard_of(message.transactional_id)
    version = min(request.api_version, _NEWEST_OF_CLIENTS)
    result: AddPartitionsToTxnResult = await response_of(shard.submit(request, transaction, version))
    return AddOffsetsToTxnResponse(error_code=result.topic_results[0].results_by_partition[0].partition_error_code)


def error(
    message: AddOffsetsToTxnRequest, version: int, code: ErrorCode, text: str | None = None
) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=code)
