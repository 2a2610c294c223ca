"""The metrics of a plane, under Kafka's names.

The hot path is :meth:`PlaneMetrics.record`. It runs once for each request, and only keeps the times of that request.
The histograms get those of many requests together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import sub
from typing import Final

from kraft.messages.registry import request_class
from kraft.metrics import Counter, Histogram, IdleMeter, Meter, Registry
from kraft.rpc.channel import Request
from kraft.rpc.memory_pool import MemoryPool
from kraft.rpc.plane import Plane

_MILLISECONDS_PER_MICROSECOND = 0.001
_NETWORK = "kafka.network"
_TOGETHER: Final = 64
"""Not a Kafka setting. The requests of an API that are recorded together, which takes a tenth of a millisecond."""
_Times = tuple[float, float, float, float, float, float, int]
"""The times at which a request was received, dequeued, handled, resumed, ready and sent, in seconds of the plane's
clock, and its size in bytes.
"""


class ProcessorMetrics:
    """``kafka.server:type=socket-server-metrics`` and ``kafka.network:type=Processor`` of one processor."""

    def __init__(self, registry: Registry, plane: Plane, listener: str, number: int) -> None:
        tags = {"listener": listener, "networkProcessor": str(number)}
        sockets = ("kafka.server", "socket-server-metrics")
        self.connections = registry.counter(*sockets, "connection-count", **tags)
        self.created = registry.meter(*sockets, "connection-creation", **tags)
        self.closed = registry.meter(*sockets, "connection-close", **tags)
        self.bytes_in = registry.meter(*sockets, "incoming-byte", **tags)
        self.bytes_out = registry.meter(*sockets, "outgoing-byte", **tags)
        name = f"{plane.metric_prefix}IdlePercent"
        self.idle = registry.idle_meter(_NETWORK, "Processor", name, networkProcessor=str(number))
        name = f"{plane.metric_prefix}ResponseQueueSize"
        self.responses = registry.counter(_NETWORK, "RequestChannel", name, processor=str(number))


class _ApiMetrics:
    """``kafka.network:type=RequestMetrics`` of one API. The histograms lack the requests in ``recent``."""

    def __init__(self, registry: Registry, name: str) -> None:
        def times(metric: str) -> Histogram:
            kind = "RequestMetrics"
            return registry.histogram(_NETWORK, kind, metric, scale=_MILLISECONDS_PER_MICROSECOND, request=name)

        self.queue = times("RequestQueueTimeMs")
        self.local = times("LocalTimeMs")
        self.remote = times("RemoteTimeMs")
        self.response_queue = times("ResponseQueueTimeMs")
        self.send = times("ResponseSendTimeMs")
        self.total = times("TotalTimeMs")
        self.request_bytes = registry.histogram(_NETWORK, "RequestMetrics", "RequestBytes", request=name)
        self.recent: list[_Times] = []

    def record_recent(self) -> None:
        """Record the requests in ``recent``."""
        if not self.recent:
            return
        received_at, dequeued_at, handled_at, resumed_at, ready_at, sent_at, sizes = zip(*self.recent, strict=True)
        self.recent.clear()
        self.queue.record_all(_microseconds(received_at, dequeued_at))
        self.local.record_all(_microseconds(dequeued_at, handled_at))
        self.remote.record_all(_microseconds(resumed_at, ready_at))
        self.response_queue.record_all(_microseconds(handled_at, resumed_at))
        self.send.record_all(_microseconds(ready_at, sent_at))
        self.total.record_all(_microseconds(received_at, sent_at))
        self.request_bytes.record_all(sizes)


def _microseconds(began_at: Iterable[float], ended_at: Iterable[float]) -> list[int]:
    return [int(elapsed_s * 1e6) for elapsed_s in map(sub, ended_at, began_at)]


class PlaneMetrics:
    """All metrics of one plane."""

    def __init__(self, registry: Registry, plane: Plane) -> None:
        self._registry = registry
        self.clock = registry.clock
        """The clock for the times of a request."""
        self._apis: dict[int, _ApiMetrics] = {}
        self._known: dict[tuple[int, int], tuple[_ApiMetrics, Meter]] = {}
        prefix = plane.metric_prefix
        sockets = (_NETWORK, "SocketServer")
        self.expired: Counter = registry.counter(*sockets, f"{prefix}ExpiredConnectionsKilledCount")
        self.refused: Meter = registry.meter("kraft.server", "SocketServer", f"{prefix}ConnectionsRefusedPerSec")
        name = f"{prefix}RequestHandlerAvgIdlePercent"
        self.handlers: IdleMeter = registry.idle_meter(
            "kafka.server", "KafkaRequestHandlerPool", name, workers=plane.handlers
        )
        self._processors: list[ProcessorMetrics] = []
        registry.gauge(*sockets, f"{prefix}NetworkProcessorAvgIdlePercent", self._processor_idle)
        registry.gauge(_NETWORK, "RequestChannel", f"{prefix}ResponseQueueSize", self._responses)
        registry.before_reading(self._record_recent)
        self.plane = plane
        self.in_flight = 0
        """The requests that are queued or handled, or whose responses are not encoded yet."""

    def watch_queue(self, size: Callable[[], int]) -> None:
        """Declare the gauge of the queue; ``size`` returns the number of requests that wait for a handler."""
        self._registry.gauge(_NETWORK, "RequestChannel", f"{self.plane.metric_prefix}RequestQueueSize", size)

    def watch_memory(self, memory: MemoryPool) -> None:
        """Declare the gauges of the memory for large requests."""
        prefix = self.plane.metric_prefix
        self._registry.gauge(_NETWORK, "SocketServer", f"{prefix}MemoryPoolAvailable", lambda: memory.available)
        self._registry.gauge(_NETWORK, "SocketServer", f"{prefix}MemoryPoolUsed", lambda: memory.used)

    def processor(self, listener: str, number: int) -> ProcessorMetrics:
        processor = ProcessorMetrics(self._registry, self.plane, listener, number)
        self._processors.append(processor)
        return processor

    def record(self, request: Request, sent_at: float) -> None:
        """Record a finished request. Its connection had sent the response at ``sent_at``.

        The version is that of the response: a client may send ApiVersions in any version.
        """
        try:
            api, rate = self._known[request.api_key, request.response_version]
        except KeyError:
            api, rate = self._declare(request.api_key, request.response_version)
        rate.count += 1
        recent = api.recent
        recent.append(
            (
                request.received_at,
                request.dequeued_at,
                request.handled_at,
                request.resumed_at,
                request.ready_at,
                sent_at,
                len(request.frame),
            )
        )
        if len(recent) >= _TOGETHER:
            api.record_recent()

    def _record_recent(self) -> None:
        for api in self._apis.values():
            api.record_recent()

    def _declare(self, api_key: int, api_version: int) -> tuple[_ApiMetrics, Meter]:
        """Declare the metrics of an API in a version, at its first request. The offered APIs and versions bound their
        number.
        """
        name = request_class(api_key).__name__.removesuffix("Request")
        api = self._apis.setdefault(api_key, _ApiMetrics(self._registry, name))
        rate = self._registry.meter(
            _NETWORK, "RequestMetrics", "RequestsPerSec", request=name, version=str(api_version)
        )
        known = self._known[api_key, api_version] = api, rate
        return known

    def _processor_idle(self) -> float:
        idle = [processor.idle.value for processor in self._processors]
        return sum(idle) / len(idle) if idle else 1.0

    def _responses(self) -> int:
        return sum(processor.responses.count for processor in self._processors)
