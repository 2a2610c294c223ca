"""What the trace of a plane tells (``kraft.world.trace``): requests, as a request log wants them.

Kafka's request log has the same times (``kafka.network.RequestChannel.Request``); they are those of its request
metrics. The metrics are counted without the trace, for they are never switched off.
"""

from __future__ import annotations

import attrs

from kraft.rpc.channel import Request
from kraft.rpc.plane import Plane
from kraft.world.trace import Stream, Trace, TraceEvent


@attrs.frozen
class RequestHead:
    """Which request, and whose. ``peer`` is ``host:port`` of the client, ``size_bytes`` includes the header."""

    plane: str
    listener: str
    peer: str
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    size_bytes: int


@attrs.frozen
class RequestReceived(TraceEvent):
    """A request was read, and is about to be queued."""

    head: RequestHead


@attrs.frozen
class RequestAnswered(TraceEvent):
    """A request is done with: its response was sent, or it expects none.

    In order: it waited for a handler (``queue_s``), was handled (``local_s``), its reply waited for the connection's
    task (``response_queue_s``), then for others if it was parked (``remote_s``), and was sent (``send_s``).
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
    """Where the connections of a plane tell of their requests."""

    plane: str
    received: Stream[RequestReceived]
    answered: Stream[RequestAnswered]

    @classmethod
    def of(cls, trace: Trace, plane: Plane) -> RequestTrace:
        return cls(plane.name, trace.of(RequestReceived), trace.of(RequestAnswered))

    def tell_received(self, request: Request) -> None:
        self.received.emit(RequestReceived(*self.received.now(), self._head(request)))

    def tell_answered(self, request: Request, resumed_at: float, ready_at: float, sent_at: float) -> None:
        """The times are those of ``kraft.rpc.request_metrics.PlaneMetrics.record``."""
        self.answered.emit(
            RequestAnswered(
                *self.answered.now(),
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
