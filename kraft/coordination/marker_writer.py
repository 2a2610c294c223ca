"""Appends the ends of transactions to the partitions that this broker leads (KIP-98).

They come in a WriteTxnMarkers of another broker, or from a transaction coordinator of this one.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.coordination.groups import Groups
from kraft.coordinator.groups.transactions import EndTransaction
from kraft.messages.write_txn_markers_request import WritableTxnMarker, WriteTxnMarkersRequest
from kraft.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from kraft.records.control import EndTransactionMarker
from kraft.replication.replicas import Replicas
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC
from kraft.world.slices import Slices

logger = logging.getLogger("kraft.transactions")

_OF_COORDINATORS = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
_SLICE_MARKERS = 20
"""The markers of a request that are appended before other tasks run."""


@attrs.frozen
class _UncommittedMarker:
    """The result of a marker, which holds once ``committed`` returns. It raises KafkaError if the commit fails."""

    result: WritableTxnMarkerPartitionResult
    committed: Callable[[], Awaitable[object]]


@attrs.frozen(eq=False)
class MarkerWriter:
    """Writes the markers of one request."""

    config: NodeConfig
    replicas: Replicas
    groups: Groups

    async def write(self, message: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        """Append the markers, and return once they are committed, or ``request.timeout.ms`` is over."""
        deadline = trio.current_time() + self.config.network.request_timeout_ms / 1000
        response = WriteTxnMarkersResponse()
        uncommitted: list[_UncommittedMarker] = []
        slices = Slices(_SLICE_MARKERS)
        for marker in message.markers:
            outcome = WritableTxnMarkerResult(marker.producer_id)
            response.markers.append(outcome)
            for topic in marker.topics:
                results = WritableTxnMarkerTopicResult(topic.name)
                outcome.topics.append(results)
                for index in topic.partition_indexes:
                    results.partitions.append(await self._append(marker, topic.name, index, uncommitted))
                    await slices.spend()
                await slices.spend()
            await slices.spend()
        for each in uncommitted:
            each.result.error_code = ErrorCode.REQUEST_TIMED_OUT
            with trio.move_on_at(deadline):
                try:
                    await each.committed()
                except KafkaError as refused:
                    each.result.error_code = _code(refused)
                else:
                    each.result.error_code = ErrorCode.NONE
            await slices.spend()
        return response

    async def _append(
        self, marker: WritableTxnMarker, topic: str, index: int, uncommitted: list[_UncommittedMarker]
    ) -> WritableTxnMarkerPartitionResult:
        result = WritableTxnMarkerPartitionResult(index)
        end = EndTransactionMarker(marker.transaction_result, marker.coordinator_epoch, marker.transaction_version)
        try:
            if marker.producer_id < 0 or marker.transaction_version < 0:
                raise KafkaError(ErrorCode.INVALID_REQUEST)
            partition = self.replicas.leader_of(topic, index)
            if topic == OFFSETS_TOPIC:
                # The group coordinator writes the marker, behind the commits that it decides on, and applies it.
                ending = EndTransaction(marker.producer_id, marker.producer_epoch, end)
                uncommitted.append(_UncommittedMarker(result, self.groups.end_transaction(index, ending).wait))
                return result
            await self.replicas.make_ids_durable([partition])
            appended = await partition.append_marker(marker.producer_id, marker.producer_epoch, end)
            leadership = partition.leadership  # which may end during the flush
            await self.replicas.flush_due([partition])
        except KafkaError as refused:
            result.error_code = _code(refused)
        except OSError as failure:
            logger.error("cannot append the end of a transaction to %s-%d: %s", topic, index, failure)
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        else:
            committed = partial(partition.committed, appended.last_offset + 1, leadership)
            uncommitted.append(_UncommittedMarker(result, committed))
        return result


def _code(refused: KafkaError) -> ErrorCode:
    """Return NOT_LEADER_OR_FOLLOWER for an error of the group coordinator. The transaction coordinator retries that
    one, and does not expect the others, as in Apache's ``KafkaApis.handleWriteTxnMarkersRequest``.
    """
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if refused.code in _OF_COORDINATORS else refused.code
