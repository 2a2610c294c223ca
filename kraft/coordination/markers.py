"""Sends the ends of transactions to the leaders of their partitions, until each partition has its marker (KIP-98).

::

    transaction markers
    ├── markers to 1
    └── markers to 2

A task for each leader sends one WriteTxnMarkers at a time, with all that waited meanwhile. If this broker is the
leader, the task calls the writer, which spares the round trip. The marker of a partition whose leader is unknown,
unreachable or refuses waits a moment, and goes to the leader that the metadata names then. It delays no other marker.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from itertools import groupby
from typing import Any, NoReturn

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.coordinator.transactions.effects import TransactionMarkers
from kraft.coordinator.transactions.transaction import TransactionPartition
from kraft.messages.write_txn_markers_request import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from kraft.messages.write_txn_markers_response import WriteTxnMarkersResponse
from kraft.metadata.image import BrokerEndpoint
from kraft.metadata.partitions import NO_LEADER
from kraft.replication.replicas import Replicas
from kraft.rpc.client import Connect
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices

logger = logging.getLogger("kraft.transactions")

_RETRY_S = 0.1
"""Not a Kafka setting. The pause before markers that failed are sent again."""
_REQUEST_PARTITIONS = 1_000
"""Not a Kafka setting. The most markers of one request; the others follow in the next one."""
_SLICE_PARTITIONS = 200
_SMALL = 20
"""Not a Kafka setting. The most partitions of a transaction whose markers go to the tasks of their leaders at once. The
producer's next request gets CONCURRENT_TRANSACTIONS until they are written, and then waits for a pause of the client.
"""

_OVER = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
"""The partition knows a newer epoch of the producer or of the coordinator: this coordinator does not end the
transaction.
"""

WriteMarkers = Callable[[WriteTxnMarkersRequest], Awaitable[Any]]
"""Returns the WriteTxnMarkersResponse."""
Report = Callable[[TransactionMarkers, list[TransactionPartition]], None]


@attrs.frozen(eq=False)
class _Marker:
    """The marker of one partition. The coordinator gets ``report`` once it is written."""

    markers: TransactionMarkers
    partition: TransactionPartition
    report: Report
    is_wanted: Callable[[], bool]


@attrs.define(eq=False)
class MarkerSender:
    """The markers of all transactions that this broker coordinates."""

    config: NodeConfig
    replicas: Replicas
    connect: Connect
    write_own: WriteMarkers
    _unsent: list[_Marker] = attrs.Factory(list)
    """Markers for the next leader. Bounded, as ``_failed``, by the partitions of the prepared transactions."""
    _failed: list[_Marker] = attrs.Factory(list)
    """Markers that have no leader or that it refused, until the next attempt."""
    _stirred: trio.Event = attrs.Factory(trio.Event)
    _has_failed: trio.Event = attrs.Factory(trio.Event)
    _tasks: dict[int, _MarkersToLeader] = attrs.Factory(dict)

    def send(self, markers: TransactionMarkers, report: Report, is_wanted: Callable[[], bool]) -> None:
        """Send the markers of a transaction. ``report`` gets them as partitions have them, while ``is_wanted``."""
        sent = (_Marker(markers, partition, report, is_wanted) for partition in markers.partitions)
        if len(markers.partitions) > _SMALL:
            self.queue(sent)
            return
        for leader, group in groupby(sent, self._leader):
            task = None if leader is None else self._tasks.get(leader)
            if task is None:
                self.queue(group)
            else:
                task.take(group)

    def queue(self, markers: Iterable[_Marker]) -> None:
        """Pass markers to the tasks of their present leaders."""
        self._unsent.extend(markers)
        self._stirred.set()

    def retry(self, markers: Iterable[_Marker]) -> None:
        """Queue markers again after a pause."""
        self._failed.extend(markers)
        if self._failed:
            self._has_failed.set()

    async def _retry(self) -> None:
        while True:
            await self._has_failed.wait()
            await trio.sleep(_RETRY_S)
            failed, self._failed = self._failed, []
            self._has_failed = trio.Event()
            self.queue(failed)

    async def run(self) -> None:
        """Pass markers to the tasks of their leaders, forever."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._retry, name="markers that failed")
            while True:
                self._stirred = trio.Event()
                unsent, self._unsent = self._unsent, []
                slices = Slices(_SLICE_PARTITIONS)
                for leader, markers in groupby(unsent, self._leader):
                    if leader is None:
                        _report(markers)
                    elif leader == NO_LEADER:
                        self.retry(markers)
                    else:
                        if leader not in self._tasks:
                            self._tasks[leader] = _MarkersToLeader(self, leader)
                            nursery.start_soon(self._tasks[leader].run, name=f"markers to {leader}")
                        self._tasks[leader].take(markers)
                    await slices.spend()
                await self._stirred.wait()

    def _leader(self, marker: _Marker) -> int | None:
        """Return the leader of the partition, NO_LEADER while it has none, and None for a deleted partition."""
        topic, index = marker.partition
        leader, epoch = self.replicas.known_leader(topic, index)
        # Before its first UpdateMetadata, a broker with ZooKeeper does not know the topics, nor itself.
        is_gone = epoch < 0 and self.replicas.node_id in self.replicas.image.brokers
        return None if is_gone or not marker.is_wanted() else leader

    def endpoint(self, leader: int) -> BrokerEndpoint | None:
        return self.replicas.image.endpoint(leader, self.config.listeners.inter_broker or "")


@attrs.define(eq=False)
class _MarkersToLeader:
    """The markers for one leader, and its connection while there are some."""

    sender: MarkerSender
    leader: int
    _waiting: list[_Marker] = attrs.Factory(list)
    _arrived: trio.Event = attrs.Factory(trio.Event)

    def take(self, markers: Iterable[_Marker]) -> None:
        self._waiting.extend(markers)
        self._arrived.set()

    async def run(self) -> None:
        """Send what waits, forever. After a failure the markers go to the leader of that time."""
        while True:
            await self._arrived.wait()
            try:
                await self._send_all()
            except (OSError, trio.TooSlowError, KafkaError) as failure:
                logger.info("cannot send transaction markers to broker %d, trying again: %s", self.leader, failure)
            await trio.sleep(_RETRY_S)
            waiting, self._waiting = self._waiting, []
            self._arrived = trio.Event()
            self.sender.queue(waiting)

    async def _send_all(self) -> None:
        """Send what waits. Return only if another leader has no endpoint.

        Raises:
            OSError, trio.TooSlowError, KafkaError: ``_waiting`` has the markers without a response.
        """
        if self.leader == self.sender.config.node_id:
            await self._keep_sending(self.sender.write_own)
        endpoint = self.sender.endpoint(self.leader)
        if endpoint is None:
            return
        config = self.sender.config
        timeout_s = config.network.request_timeout_ms / 1000
        client_id = f"broker-{config.node_id}-txn-marker-sender"
        async with self.sender.connect(endpoint.host, endpoint.port, client_id, timeout_s) as connection:
            await self._keep_sending(connection.request)

    async def _keep_sending(self, write: WriteMarkers) -> NoReturn:
        while True:
            await self._arrived.wait()
            await self._send_some(write)

    async def _send_some(self, write: WriteMarkers) -> None:
        """Send one request. Refused markers are sent again later."""
        sent = self._waiting[:_REQUEST_PARTITIONS]
        response = await write(await _request(sent))
        assert isinstance(response, WriteTxnMarkersResponse)
        del self._waiting[: len(sent)]
        if not self._waiting:
            self._arrived = trio.Event()
        self.sender.retry(await _take(sent, response))


async def _request(sent: list[_Marker]) -> WriteTxnMarkersRequest:
    request, slices = WriteTxnMarkersRequest(), Slices(_SLICE_PARTITIONS)
    for markers, group in groupby(sent, lambda marker: marker.markers):
        topics: dict[str, WritableTxnMarkerTopic] = {}
        for marker in group:
            topic, index = marker.partition
            topics.setdefault(topic, WritableTxnMarkerTopic(topic)).partition_indexes.append(index)
            await slices.spend()
        request.markers.append(
            WritableTxnMarker(
                markers.producer_id,
                markers.epoch,
                markers.committed,
                list(topics.values()),
                markers.coordinator_epoch,
                markers.version,
            )
        )
    return request


async def _take(sent: list[_Marker], response: WriteTxnMarkersResponse) -> list[_Marker]:
    """Report the markers that are written, and return those to send again."""
    again, slices = [], Slices(_SLICE_PARTITIONS)
    codes = {
        (outcome.producer_id, topic.name, partition.partition_index): partition.error_code
        for outcome in response.markers
        for topic in outcome.topics
        for partition in topic.partitions
    }
    for markers, group in groupby(sent, lambda marker: marker.markers):
        written = []
        for marker in group:
            code = codes.get((markers.producer_id, *marker.partition), ErrorCode.UNKNOWN_SERVER_ERROR)
            if code == ErrorCode.NONE:
                written.append(marker)
            elif code not in _OVER:
                again.append(marker)
            await slices.spend()
        _report(written)
    return again


def _report(markers: Iterable[_Marker]) -> None:
    for _, group in groupby(markers, lambda marker: marker.markers):
        written = list(group)
        if written[0].is_wanted():
            written[0].report(written[0].markers, [marker.partition for marker in written])
