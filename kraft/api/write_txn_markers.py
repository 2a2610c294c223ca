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

from functools import partial

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.registry import ApiKey
from kraft.messages.write_txn_markers_request import WriteTxnMarkersRequest
from kraft.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.WRITE_TXN_MARKERS,
    versions={ListenerType.BROKER: (0, 2), ListenerType.ZK_BROKER: (0, 2)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
)


async def at_broker(broker: BrokerContext, request: Request, message: WriteTxnMarkersRequest) -> Reply:
    return Parked(partial(broker.coordinators.marker_writer.write, message))


at_zk_broker = at_broker


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
