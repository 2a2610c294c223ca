"""Requests of peers that wait for the reply of the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
import trio

from kraft.quorum.log import MetadataLog
from kraft.raft.events import Reply
from kraft.raft.messages import FetchResponse, Response

MAX_SENT_BYTES: Final = 2**20
"""Not a Kafka setting. The most bytes of records for one Fetch, whatever it allows: many replicas may be far behind."""


@attrs.define(eq=False)
class PendingRequest:
    """One pending request. The response to a Fetch has at most ``max_bytes`` of records."""

    request_id: int
    max_bytes: int
    _completed: trio.Event = attrs.Factory(trio.Event)
    _response: tuple[Response, bytes] | None = None

    async def response(self) -> tuple[Response, bytes]:
        """Wait for the response of the core. Return it with the bytes of its records."""
        await self._completed.wait()
        assert self._response is not None
        return self._response

    def complete(self, response: Response, data: bytes) -> None:
        """Wake the task that waits for the response."""
        self._response = response, data
        self._completed.set()


class PendingRequests:
    """All requests without a reply. The core replies to each one, to a Fetch within its ``max_wait_s``."""

    def __init__(self, log: MetadataLog) -> None:
        self._log = log
        self._ids = 0
        self._pending: dict[int, PendingRequest] = {}

    def add(self, max_bytes: int) -> PendingRequest:
        """Register a request that is about to be reported to the core."""
        self._ids += 1
        request = self._pending[self._ids] = PendingRequest(self._ids, min(max_bytes, MAX_SENT_BYTES))
        return request

    def discard(self, request: PendingRequest) -> None:
        """Remove a request that was not reported to the core."""
        del self._pending[request.request_id]

    def complete(self, replies: Sequence[Reply]) -> None:
        """Complete the requests with the replies of the core, and with the records that the log has now.

        Raises StorageError if the log is damaged there.
        """
        for reply in replies:
            request, response, data = self._pending.pop(reply.request_id), reply.response, b""
            if isinstance(response, FetchResponse) and response.records is not None:
                data, records = self._log.read(response.records.base_offset, request.max_bytes)
                response = response.with_records(records)
            request.complete(response, data)
