"""The trace events of a plane (``kraft.world.trace``): requests, with the fields of a request log, and long steps.

Kafka's request log has the same times (``kafka.network.RequestChannel.Request``), which are also those of its request
metrics. The metrics here do not use the trace, because they are always on and the trace is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs

from kraft.messages.registry import request_class
from kraft.rpc.channel import SHOWN_CLIENT_ID, Request
from kraft.rpc.plane import Plane
from kraft.world.trace import Stream, Trace, TraceEvent


@attrs.frozen
class RequestHead:
    """The identity of a request. ``peer`` is ``host:port`` of the client, ``size_bytes`` includes the header."""

    plane: str
    listener: str
    peer: str
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    size_bytes: int


def head_of(plane: str, request: Request) -> RequestHead:
    return RequestHead(
        plane,
        request.connection.listener,
        request.connection.name,
        request.api_key,
        request.api_version,
        request.correlation_id,
        request.client_id,
        len(request.frame),
    )


@attrs.frozen
class RequestArrived(TraceEvent):
    """A connection has read a request and is about to queue it."""

    head: RequestHead


@attrs.frozen
class RequestCompleted(TraceEvent):
    """A request is completed: its response was sent, or it expects none.

    The phases in order: the request waited for a handler (``queue_s``), the handler ran (``local_s``), the reply waited
    for the connection's task (``response_queue_s``), a parked reply waited (``remote_s``), the response was sent
    (``send_s``).
    """

    head: RequestHead
    queue_s: float
    local_s: float
    response_queue_s: float
    remote_s: float
    send_s: float
    total_s: float


@attrs.frozen
class RequestSampled(TraceEvent):
    """The sampler of the plane chose a completed request. ``fraction`` of the requests of its kind are chosen."""

    request: RequestCompleted
    fraction: float


@attrs.frozen
class LoopHeld(TraceEvent):
    """A step of the task ``task`` took ``held_s`` seconds. Its thread had the CPU for ``cpu_s`` of them, and Python
    collected all garbage ``collections`` times meanwhile.

    ``head`` is the request that the task worked on, if any.
    """

    task: str
    head: RequestHead | None
    held_s: float
    cpu_s: float
    collections: int

    def __str__(self) -> str:
        parts = f"{self.cpu_s * 1000:.0f} ms of CPU, {self.collections} full garbage collections"
        text = f"{self.held_s * 1000:.0f} ms ({parts}) by {self.task}"
        if self.head is None:
            return text
        head = self.head
        api = request_class(head.api_key).__name__.removesuffix("Request")
        client = repr(head.client_id)[:SHOWN_CLIENT_ID]
        return f"{text}: {api} version {head.api_version}, {head.size_bytes} bytes, client {client} at {head.peer}"


@attrs.define(eq=False)
class Sampler:
    """Chooses requests of one plane before any event is made for them.

    The first request of each API is chosen, so that rare APIs are seen. It is a kind of its own, with the fraction 1.
    Of the other requests each is chosen with the probability ``fraction``. So the sum of 1/fraction over the chosen
    requests estimates the number of all requests without bias.

    ``random`` returns numbers in [0, 1). It is called for chosen requests only: the gap until the next one has a
    geometric distribution. No request of the client ``ignored_client`` is chosen.
    """

    fraction: float = 0.0
    random: Callable[[], float] = attrs.field(default=lambda: 0.0)
    ignored_client: str | None = None
    _to_skip: dict[int, int] = attrs.Factory(dict)

    def start_over(self) -> None:
        """Choose the next request of each API."""
        self._to_skip.clear()

    def choose(self, request: Request) -> float:
        """Return the fraction of the requests of this kind that are chosen; 0 if this one is not."""
        if not self.fraction or (request.client_id is not None and request.client_id == self.ignored_client):
            return 0.0
        to_skip = self._to_skip.get(request.api_key, -1)
        if to_skip > 0:
            self._to_skip[request.api_key] = to_skip - 1
            return 0.0
        self._to_skip[request.api_key] = self._gap()
        return self.fraction if to_skip == 0 else 1.0

    def _gap(self) -> int:
        """Return the number of requests to skip before the next one is chosen."""
        if self.fraction >= 1:
            return 0
        return int(math.log(1 - self.random()) / math.log1p(-self.fraction))


@attrs.frozen(eq=False)
class RequestTrace:
    """The streams to which the connections of a plane emit their requests."""

    plane: str
    sampler: Sampler
    received: Stream[RequestArrived]
    completed: Stream[RequestCompleted]
    sampled: Stream[RequestSampled]

    @classmethod
    def of(cls, trace: Trace, plane: Plane, sampler: Sampler) -> RequestTrace:
        return cls(plane.name, sampler, trace.of(RequestArrived), trace.of(RequestCompleted), trace.of(RequestSampled))

    def emit_received(self, request: Request) -> None:
        self.received.emit(RequestArrived(*self.received.now(), head_of(self.plane, request)))

    def emit_completed(self, request: Request, sent_at: float) -> None:
        """Emit the event of a completed request."""
        self.completed.emit(self._completed(request, sent_at))

    def emit_sampled(self, request: Request, sent_at: float) -> None:
        """Emit the event of a completed request if the sampler chooses it."""
        fraction = self.sampler.choose(request)
        if fraction:
            completed = self._completed(request, sent_at)
            self.sampled.emit(RequestSampled(completed.time_s, completed.node_id, completed, fraction))

    def _completed(self, request: Request, sent_at: float) -> RequestCompleted:
        return RequestCompleted(
            *self.completed.now(),
            head_of(self.plane, request),
            queue_s=request.dequeued_at - request.received_at,
            local_s=request.handled_at - request.dequeued_at,
            response_queue_s=request.resumed_at - request.handled_at,
            remote_s=request.ready_at - request.resumed_at,
            send_s=sent_at - request.ready_at,
            total_s=sent_at - request.received_at,
        )
