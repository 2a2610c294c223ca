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
_TIMES_MS = (
    "RequestQueueTimeMs",
    "LocalTimeMs",
    "RemoteTimeMs",
    "ResponseQueueTimeMs",
    "ResponseSendTimeMs",
    "TotalTimeMs",
)
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


class _Finished:
    """Finished requests whose metrics (``kafka.network:type=RequestMetrics``) are the same: those of one API in one
    version, and of one kind of fetcher. The metrics lack the requests in ``recent``.
    """

    def __init__(self, registry: Registry, api_version: int, names: Iterable[str]) -> None:
        self.recent: list[_Times] = []
        self._rates: list[Meter] = []
        self._histograms: list[list[Histogram]] = []
        kind = "RequestMetrics"
        for name in names:
            self._rates.append(registry.meter(_NETWORK, kind, "RequestsPerSec", request=name, version=str(api_version)))
            times = [
                registry.histogram(_NETWORK, kind, metric, scale=_MILLISECONDS_PER_MICROSECOND, request=name)
                for metric in _TIMES_MS
            ]
            self._histograms.append([*times, registry.histogram(_NETWORK, kind, "RequestBytes", request=name)])

    def record_recent(self) -> None:
        """Record the requests in ``recent``."""
        count = len(self.recent)
        if not count:
            return
        received_at, dequeued_at, handled_at, resumed_at, ready_at, sent_at, sizes = zip(*self.recent, strict=True)
        self.recent.clear()
        values = (
            _microseconds(received_at, dequeued_at),
            _microseconds(dequeued_at, handled_at),
            _microseconds(resumed_at, ready_at),
            _microseconds(handled_at, resumed_at),
            _microseconds(ready_at, sent_at),
            _microseconds(received_at, sent_at),
            sizes,
        )
        for rate, histograms in zip(self._rates, self._histograms, strict=True):
            rate.count += count
            for histogram, recorded in zip(histograms, values, strict=True):
                histogram.record_all(recorded)


def _microseconds(began_at: Iterable[float], ended_at: Iterable[float]) -> list[int]:
    return [int(elapsed_s * 1e6) for elapsed_s in map(sub, ended_at, began_at)]


class PlaneMetrics:
    """All metrics of one plane."""

    def __init__(self, registry: Registry, plane: Plane) -> None:
        self._registry = registry
        self.clock = registry.clock
        """The clock for the times of a request."""
        self._finished: dict[tuple[int, int, str], _Finished] = {}
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
            finished = self._finished[request.api_key, request.response_version, request.metrics_name]
        except KeyError:
            finished = self._declare(request)
        recent = finished.recent
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
            finished.record_recent()

    def _record_recent(self) -> None:
        for finished in self._finished.values():
            finished.record_recent()

    def _declare(self, request: Request) -> _Finished:
        """Declare the metrics of an API in a version, at its first request. The offered APIs and versions bound their
        number.
        """
        names = [request_class(request.api_key).__name__.removesuffix("Request")]
        if request.metrics_name:
            names.append(request.metrics_name)
        finished = _Finished(self._registry, request.response_version, names)
        self._finished[request.api_key, request.response_version, request.metrics_name] = finished
        return finished

    def _processor_idle(self) -> float:
        idle = [processor.idle.value for processor in self._processors]
        return sum(idle) / len(idle) if idle else 1.0

    def _responses(self) -> int:
        return sum(processor.responses.count for processor in self._processors)
