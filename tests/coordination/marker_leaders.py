"""The leaders of partitions, which answer WriteTxnMarkers as a test says."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import attrs
import trio

from kraft.messages.write_txn_markers_request import WriteTxnMarkersRequest
from kraft.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from kraft.rpc.client import Connection, Disconnected
from kraft.wire.errors import ErrorCode

Partition = tuple[str, int]
OWN = 0
"""In place of a port: the markers went to no connection."""


@attrs.frozen
class SentMarkers:
    """One request: its receiver by port, when it arrived, and its partitions by producer id."""

    port: int
    at_s: float
    message: WriteTxnMarkersRequest

    @property
    def partitions(self) -> dict[int, list[Partition]]:
        return {
            marker.producer_id: [(topic.name, index) for topic in marker.topics for index in topic.partition_indexes]
            for marker in self.message.markers
        }


def _set() -> trio.Event:
    event = trio.Event()
    event.set()
    return event


@attrs.define
class MarkerLeaders:
    """All leaders of a cluster, reached by their ports.

    A partition answers with its ``codes`` in turn, then with NONE. The next ``breaks`` requests close their connection.
    Responses wait for ``answers``, which is set by default. An unreachable port is in ``down``.
    """

    codes: dict[Partition, deque[ErrorCode]] = attrs.Factory(dict)
    breaks: int = 0
    down: set[int] = attrs.Factory(set)
    answers: trio.Event = attrs.Factory(_set)
    sent: list[SentMarkers] = attrs.Factory(list)
    connections: int = 0

    @asynccontextmanager
    async def connect(self, host: str, port: int, client_id: str, timeout_s: float) -> AsyncIterator[Connection]:
        assert client_id == "broker-1-txn-marker-sender"
        if port in self.down:
            raise ConnectionRefusedError(port)
        self.connections += 1
        yield cast(Connection, _ToLeader(self, port))

    async def write_own(self, message: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        """Answer for the partitions that the sending broker leads."""
        return await _ToLeader(self, OWN).request(message)


@attrs.frozen
class _ToLeader:
    leaders: MarkerLeaders
    port: int

    async def request(self, message: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        self.leaders.sent.append(SentMarkers(self.port, trio.current_time(), message))
        await self.leaders.answers.wait()
        await trio.lowlevel.checkpoint()
        if self.leaders.breaks:
            self.leaders.breaks -= 1
            raise Disconnected("gone")
        return WriteTxnMarkersResponse([self._result(marker) for marker in message.markers])

    def _result(self, marker: Any) -> WritableTxnMarkerResult:
        return WritableTxnMarkerResult(
            marker.producer_id,
            [
                WritableTxnMarkerTopicResult(
                    topic.name,
                    [
                        WritableTxnMarkerPartitionResult(index, self._code((topic.name, index)))
                        for index in topic.partition_indexes
                    ],
                )
                for topic in marker.topics
            ],
        )

    def _code(self, partition: Partition) -> ErrorCode:
        codes = self.leaders.codes.get(partition)
        return codes.popleft() if codes else ErrorCode.NONE
