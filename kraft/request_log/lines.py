"""The lines of the request log, from the trace events to a bounded queue of encoded JSON objects.

Every line has ``ms`` (the time by this node's clock, in milliseconds since the epoch), ``node``, ``kind``, ``seq`` and
``start``. ``start`` is the time of the node's start, and ``seq`` counts its lines from 0, so (node, start, seq) names a
line. The kinds:

- ``request``: a completed request, with the times of Kafka's request log. It stands for 1/``sample`` requests;
- the kinds of the quorum's journal (``kraft.quorum.journal``), with the same fields;
- ``dropped``: ``count`` lines were lost, because the queue was full or no leader took them. Their numbers are missing
  from ``seq``.

A line is encoded at once, in the task that emits the event. That takes a few microseconds. A worker thread that encoded
many lines would hold the interpreter's lock, and the event loop would wait for it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable

import attrs

from kraft.messages.registry import request_class
from kraft.quorum.journal import Line
from kraft.rpc.trace import RequestSampled

MAX_QUEUED_BYTES = 4 * 2**20

_encode = json.JSONEncoder(separators=(",", ":")).encode


@attrs.frozen
class Taken:
    """Lines for a writer. The last one reports ``dropped`` lines, if there are any."""

    lines: list[bytes]
    dropped: int


class RequestLines:
    """The queue between the events and the writer. Lines beyond MAX_QUEUED_BYTES are dropped and counted."""

    def __init__(self, node_id: int, now_ms: Callable[[], int]) -> None:
        self._node_id = node_id
        self._now_ms = now_ms
        self.start_ms = now_ms()
        self._seq = 0
        self._queue: list[bytes] = []
        self._queued_bytes = 0
        self._dropped = 0

    def add_request(self, event: RequestSampled) -> None:
        """Queue the line of a request."""
        request, head = event.request, event.request.head
        self.add(
            {
                "ms": int(event.time_s * 1000),
                "node": self._node_id,
                "kind": "request",
                "plane": head.plane,
                "listener": head.listener,
                "peer": head.peer,
                "api": _api_name(head.api_key),
                "apiKey": head.api_key,
                "version": head.api_version,
                "client": head.client_id,
                "correlation": head.correlation_id,
                "sizeBytes": head.size_bytes,
                "queueMs": round(request.queue_s * 1000, 3),
                "localMs": round(request.local_s * 1000, 3),
                "responseQueueMs": round(request.response_queue_s * 1000, 3),
                "remoteMs": round(request.remote_s * 1000, 3),
                "sendMs": round(request.send_s * 1000, 3),
                "totalMs": round(request.total_s * 1000, 3),
                "sample": event.fraction,
            }
        )

    def add(self, line: Line) -> None:
        """Queue a line with its ``seq`` and ``start``."""
        if self._queued_bytes >= MAX_QUEUED_BYTES:
            self._seq += 1
            self._dropped += 1
            return
        encoded = self._encoded(line)
        self._queue.append(encoded)
        self._queued_bytes += len(encoded)

    def take(self) -> Taken:
        """Return all queued lines. The writer calls :meth:`written` when it knows what became of them."""
        taken, dropped = self._queue, self._dropped
        if dropped:
            line = {"ms": self._now_ms(), "node": self._node_id, "kind": "dropped", "count": dropped}
            taken.append(self._encoded(line))
        self._queue, self._queued_bytes, self._dropped = [], 0, 0
        return Taken(taken, dropped)

    def written(self, taken: Taken, count: int) -> None:
        """Note that the first ``count`` of the taken lines are written, and the others are lost."""
        lost = len(taken.lines) - count
        if lost:
            self._dropped += lost + taken.dropped

    def _encoded(self, line: Line) -> bytes:
        numbered = {**line, "seq": self._seq, "start": self.start_ms}
        self._seq += 1
        return _encode(numbered).encode()


@functools.cache
def _api_name(api_key: int) -> str:
    return request_class(api_key).__name__.removesuffix("Request")
