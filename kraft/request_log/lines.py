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

CLIENT_ID = "kraft-request-log"
"""The client id of a node that writes its log to a topic. No node logs the requests of this client."""
MAX_QUEUED_BYTES = 4 * 2**20

_encode = json.JSONEncoder(separators=(",", ":")).encode
_REQUEST = (
    '{"ms":%d,"node":%d,"kind":"request",%s,"correlation":%d,"sizeBytes":%d,"queueMs":%.3f,"localMs":%.3f,'
    '"responseQueueMs":%.3f,"remoteMs":%.3f,"sendMs":%.3f,"totalMs":%.3f,"sample":%r'
)
"""The line of a request, without its end. One format costs a third of the JSON encoder."""


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
        client = (head.plane, head.listener, head.peer, head.api_key, head.api_version, head.client_id)
        self._add(
            _REQUEST
            % (
                self._now_ms(),
                self._node_id,
                _encoded_client(*client),
                head.correlation_id,
                head.size_bytes,
                request.queue_s * 1000,
                request.local_s * 1000,
                request.response_queue_s * 1000,
                request.remote_s * 1000,
                request.send_s * 1000,
                request.total_s * 1000,
                event.fraction,
            )
        )

    def add(self, line: Line) -> None:
        """Queue any other line."""
        self._add(_encode(line)[:-1])

    def _add(self, beginning: str) -> None:
        """Queue a line, of which the end is missing."""
        if self._queued_bytes >= MAX_QUEUED_BYTES:
            self._seq += 1
            self._dropped += 1
            return
        line = self._numbered(beginning)
        self._queue.append(line)
        self._queued_bytes += len(line)

    def take(self) -> Taken:
        """Return all queued lines. The writer calls :meth:`written` when it knows what became of them."""
        taken, dropped = self._queue, self._dropped
        if dropped:
            line = {"ms": self._now_ms(), "node": self._node_id, "kind": "dropped", "count": dropped}
            taken.append(self._numbered(_encode(line)[:-1]))
        self._queue, self._queued_bytes, self._dropped = [], 0, 0
        return Taken(taken, dropped)

    def written(self, taken: Taken, count: int) -> None:
        """Note that the first ``count`` of the taken lines are written, and the others are lost."""
        lost = len(taken.lines) - count
        if lost:
            self._dropped += lost + taken.dropped

    def _numbered(self, beginning: str) -> bytes:
        """Return a whole line, with ``seq`` and ``start``."""
        line = f'{beginning},"seq":{self._seq},"start":{self.start_ms}}}'
        self._seq += 1
        return line.encode()


@functools.lru_cache(maxsize=512)
def _encoded_client(plane: str, listener: str, peer: str, api_key: int, version: int, client_id: str | None) -> str:
    """Return the fields that a client repeats in each request of an API. The JSON encoder costs more than the rest."""
    fields = {
        "plane": plane,
        "listener": listener,
        "peer": peer,
        "api": request_class(api_key).__name__.removesuffix("Request"),
        "apiKey": api_key,
        "version": version,
        "client": client_id,
    }
    return _encode(fields)[1:-1]
