"""WriteTxnMarkers (key 27): append the ends of transactions to partitions that this broker leads (KIP-98).

Versions 0 to 2.

| version | change |
|---|---|
| 1 | flexible |
| 2 | the `transaction.version` of the producer, for the check of the epoch (KIP-1228) |

A transaction coordinator sends it. The response waits until the markers are committed, as that of a Produce with
``acks=all``, for ``request.timeout.ms`` at most. The coordinator retries a marker that failed or came too late, so a
transaction may end twice in a partition, and the second end changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial

import attrs
import trio

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordinator.groups.transactions import EndTransaction
from kraft.messages.registry import ApiKey
from kraft.messages.write_txn_markers_request import WritableTxnMarker, WriteTxnMarkersRequest
from kraft.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from kraft.records.control import EndTransactionMarker
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC
from kraft.wire.mapped import mapped
from kraft.world.turns import Turns

ROW = Api(
    ApiKey.WRITE_TXN_MARKERS,
    versions={ListenerType.BROKER: (0, 2), ListenerType.ZK_BROKER: (0, 2)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
)

logger = logging.getLogger("kraft.transactions")

_OF_COORDINATORS = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
_SLICE_MARKERS = 20
"""The markers of a request that are appended before other tasks run."""


async def at_broker(broker: BrokerContext, request: Request, message: WriteTxnMarkersRequest) -> Reply:
    return Parked(partial(_write, broker, message))


at_zk_broker = at_broker


@attrs.frozen
class _Uncommitted:
    """The result of a marker, which holds once ``committed`` returns. It raises KafkaError if the commit fails."""

    result: WritableTxnMarkerPartitionResult
    committed: Callable[[], Awaitable[object]]


async def _write(broker: BrokerContext, message: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    deadline = trio.current_time() + broker.config.network.request_timeout_ms / 1000
    response = WriteTxnMarkersResponse()
    uncommitted: list[_Uncommitted] = []
    turns = Turns(_SLICE_MARKERS)
    for marker in message.markers:
        outcome = WritableTxnMarkerResult(marker.producer_id)
        response.markers.append(outcome)
        for topic in marker.topics:
            results = WritableTxnMarkerTopicResult(topic.name)
            outcome.topics.append(results)
            for index in topic.partition_indexes:
                results.partitions.append(await _append(broker, marker, topic.name, index, uncommitted))
                await turns.spend()
    for each in uncommitted:
        each.result.error_code = ErrorCode.REQUEST_TIMED_OUT
        with trio.move_on_at(deadline):
            try:
                await each.committed()
            except KafkaError as refused:
                each.result.error_code = _code(refused)
            else:
                each.result.error_code = ErrorCode.NONE
    return response


async def _append(
    broker: BrokerContext, marker: WritableTxnMarker, topic: str, index: int, uncommitted: list[_Uncommitted]
) -> WritableTxnMarkerPartitionResult:
    result = WritableTxnMarkerPartitionResult(index)
    end = EndTransactionMarker(marker.transaction_result, marker.coordinator_epoch, marker.transaction_version)
    try:
        partition = broker.replicas.leader_of(topic, index)
        if topic == OFFSETS_TOPIC:
            # The group coordinator writes the marker, behind the commits that it decides on, and applies it.
            ending = EndTransaction(marker.producer_id, marker.producer_epoch, end)
            uncommitted.append(_Uncommitted(result, broker.groups.end_transaction(index, ending).wait))
            return result
        await broker.replicas.make_ids_durable([partition])
        appended = await partition.append_marker(marker.producer_id, marker.producer_epoch, end, broker.clock)
    except KafkaError as refused:
        result.error_code = _code(refused)
    except OSError as failure:
        logger.error("cannot append the end of a transaction to %s-%d: %s", topic, index, failure)
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    else:
        uncommitted.append(_Uncommitted(result, partial(partition.committed, appended.last_offset + 1)))
    return result


def _code(refused: KafkaError) -> ErrorCode:
    """Return NOT_LEADER_OR_FOLLOWER for an error of the group coordinator. The transaction coordinator retries that
    one, and does not expect the others, as in Apache's ``KafkaApis.handleWriteTxnMarkersRequest``.
    """
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if refused.code in _OF_COORDINATORS else refused.code


def error(
    message: WriteTxnMarkersRequest, version: int, code: ErrorCode, text: str | None = None
) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        mapped(
            message.markers,
            lambda marker: WritableTxnMarkerResult(
                marker.producer_id,
                mapped(
                    marker.topics,
                    lambda topic: WritableTxnMarkerTopicResult(
                        topic.name,
                        mapped(topic.partition_indexes, lambda index: WritableTxnMarkerPartitionResult(index, code)),
                    ),
                ),
            ),
        )
    )
