"""The trace events of a plane (``kraft.world.trace``): requests, with the fields of a request log.

Kafka's request log has the same times (``kafka.network.RequestChannel.Request``), which are also those of its request
metrics. The metrics here do not use the trace, because they are always on and the trace is not.
"""

from __future__ import annotations

import attrs

from kraft.rpc.channel import Request
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


@attrs.frozen(eq=False)
class RequestTrace:
    """The two streams to which the connections of a plane emit their requests."""

    plane: str
    received: Stream[RequestArrived]
    completed: Stream[RequestCompleted]

    @classmethod
    def of(cls, trace: Trace, plane: Plane) -> RequestTrace:
        return cls(plane.name, trace.of(RequestArrived), trace.of(RequestCompleted))

    def emit_received(self, request: Request) -> None:
        self.received.emit(RequestArrived(*self.received.now(), self._head(request)))

    def emit_completed(self, request: Request, resumed_at: float, ready_at: float, sent_at: float) -> None:
        """Emit the event of a completed request. ``PlaneMetrics.record`` explains the times."""
        self.completed.emit(
            RequestCompleted(
                *self.completed.now(),
                self._head(request),
                queue_s=request.dequeued_at - request.received_at,
                local_s=request.handled_at - request.dequeued_at,
                response_queue_s=resumed_at - request.handled_at,
                remote_s=ready_at - resumed_at,
                send_s=sent_at - ready_at,
                total_s=sent_at - request.received_at,
            )
        )

    def _head(self, request: Request) -> RequestHead:
        return RequestHead(
            self.plane,
            request.connection.listener,
            request.connection.name,
            request.api_key,
            request.api_version,
            request.correlation_id,
            request.client_id,
            len(request.frame),
        )
