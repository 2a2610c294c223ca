"""How a plane runs: acceptors, processors, connections and handlers, each a named task.

::

    serve
    ├── acceptor PLAINTEXT           hands each socket to a processor that has room (20 pending)
    ├── processor 0 PLAINTEXT        owns the nursery of its connections
    │   ├── expiry 0 PLAINTEXT       closes idle ones, and parked ones without a peer
    │   └── connection 10.0.0.7:5123
    └── handler 0                    takes requests from the plane's one bounded queue

A stop is an Event: the acceptors close their sockets and the connections without a request in flight close. The others
send their responses first, and are cancelled after ``drain_ms``. Cancelling :func:`serve` ends everything at once.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, closing, suppress
from functools import partial

import attrs
import trio

from kraft.config.listeners import Endpoint
from kraft.metrics import Registry
from kraft.rpc.channel import ConnectionInfo, CurrentRequest, Reply, Request, current_request
from kraft.rpc.connection import ErrorResponse, ProcessorContext, failed_reply, serve_connection
from kraft.rpc.connections import ConnectionTable, LiveConnection
from kraft.rpc.frames import SCRATCH_BYTES
from kraft.rpc.header import Apis
from kraft.rpc.memory_pool import MemoryPool
from kraft.rpc.plane import PENDING_CONNECTIONS_PER_PROCESSOR, Plane
from kraft.rpc.quotas import ConnectionQuotas
from kraft.rpc.rejections import RejectionLog
from kraft.rpc.request_metrics import PlaneMetrics
from kraft.rpc.trace import RequestTrace, Sampler
from kraft.rpc.unsent import UnsentResponses
from kraft.world.listen import Accepted, Listen, Listener, SocketSettings, listen_by_tcp
from kraft.world.slices import before_long_work, pause_long_work
from kraft.world.trace import Trace

logger = logging.getLogger("kraft.rpc")

Handler = Callable[[Request], Awaitable[Reply]]

HANDLER_SLICE_S = 0.001
"""Not a Kafka setting. A handler lets other tasks run after this time, also if more requests are queued."""


@attrs.frozen(eq=False)
class Service:
    """The service of a plane.

    ``handle`` is awaited for each request; :mod:`kraft.rpc.channel` has its possible results. ``apis`` are the offered
    APIs; a request for any other closes its connection. ``error_response`` makes the response when ``handle`` raised.
    ``listen`` opens the listeners. ``trace`` gets an event for each request, and those for the request log that
    ``sampler`` chooses; the default chooses none.
    """

    handle: Handler
    apis: Apis
    error_response: ErrorResponse
    quotas: ConnectionQuotas
    registry: Registry
    settings: SocketSettings = attrs.field(factory=SocketSettings)
    listen: Listen = listen_by_tcp
    rejections: RejectionLog = attrs.Factory(lambda self: RejectionLog(self.registry.clock), takes_self=True)
    trace: Trace = attrs.field(factory=Trace)
    sampler: Sampler = attrs.field(factory=Sampler)


async def serve(
    plane: Plane,
    service: Service,
    stopping: trio.Event,
    *,
    task_status: trio.TaskStatus[dict[str, Endpoint]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run ``plane`` until ``stopping`` is set and the requests in flight have their responses.

    Resource handling: all sockets are closed when this returns or raises. ``task_status.started`` gives the bound
    endpoint of each listener by name, with the chosen port where the endpoint asked for port 0.

    Error handling: raises OSError if a listener cannot be bound, or if a host of the quotas is unknown. After that, no
    peer and no handler makes it raise.
    """
    metrics = PlaneMetrics(service.registry, plane)
    await service.quotas.look_up_hosts()
    with ExitStack() as sockets:
        listening: list[tuple[Endpoint, Listener]] = []
        for endpoint in plane.listeners:
            listener = sockets.enter_context(closing(await service.listen(endpoint, service.settings)))
            listening.append((attrs.evolve(endpoint, port=listener.port), listener))
        async with trio.open_nursery() as nursery:
            send, receive = trio.open_memory_channel[Request](plane.queue_capacity)
            metrics.watch_queue(lambda: receive.statistics().current_buffer_used)
            memory = MemoryPool(plane.request_bytes)
            room = MemoryPool(plane.request_elements)
            unsent = UnsentResponses(plane.unsent_bytes, service.rejections)
            metrics.watch_memory(memory)
            with send, receive:
                crew = _Crew(nursery, service, metrics)
                for number in range(plane.handlers):
                    crew.start(number, receive)
                owners = (each for each, _ in listening for _ in range(plane.processors_of(each.listener)))
                processors = [
                    _Processor.create(number, endpoint, send.clone(), service, metrics, memory, room, unsent)
                    for number, endpoint in enumerate(owners)
                ]
            for processor in processors:
                nursery.start_soon(processor.run, name=f"processor {processor.name}")
            async with trio.open_nursery() as acceptors:
                for endpoint, listener in listening:
                    own = [processor for processor in processors if processor.endpoint is endpoint]
                    name = endpoint.listener
                    accept = partial(_accept, listener, endpoint, own, service, metrics)
                    acceptors.start_soon(accept, name=f"acceptor {name}")
                task_status.started({endpoint.listener: endpoint for endpoint, _ in listening})
                await stopping.wait()
                acceptors.cancel_scope.cancel(reason="plane is stopping")
            sockets.close()
            nursery.cancel_scope.deadline = trio.current_time() + service.settings.drain_ms / 1000
            for processor in processors:
                processor.context.table.drain()


@attrs.frozen(eq=False)
class _Processor:
    """A listener's connections, or a share of them. The acceptor owns ``arriving``, and :meth:`run` the rest."""

    number: int
    endpoint: Endpoint
    arriving: trio.MemorySendChannel[Accepted]
    pending: trio.MemoryReceiveChannel[Accepted]
    context: ProcessorContext
    quotas: ConnectionQuotas

    @classmethod
    def create(
        cls,
        number: int,
        endpoint: Endpoint,
        requests: trio.MemorySendChannel[Request],
        service: Service,
        metrics: PlaneMetrics,
        memory: MemoryPool,
        room: MemoryPool,
        unsent: UnsentResponses,
    ) -> _Processor:
        arriving, pending = trio.open_memory_channel[Accepted](PENDING_CONNECTIONS_PER_PROCESSOR)
        context = ProcessorContext(
            requests=requests,
            apis=service.apis,
            error_response=service.error_response,
            settings=service.settings,
            rejections=service.rejections,
            table=ConnectionTable(),
            scratch=memoryview(bytearray(SCRATCH_BYTES)),
            memory=memory,
            room=room,
            unsent=unsent,
            plane_metrics=metrics,
            trace=RequestTrace.of(service.trace, metrics.plane, service.sampler),
            metrics=metrics.processor(endpoint.listener, number),
        )
        return cls(number, endpoint, arriving, pending, context, service.quotas)

    @property
    def name(self) -> str:
        return f"{self.number} {self.endpoint.listener}"

    async def run(self) -> None:
        """Run until the acceptor and all connections have ended."""
        table, listener = self.context.table, self.endpoint.listener
        self.quotas.watch(listener, table)
        try:
            async with self.context.requests, self.pending, trio.open_nursery() as nursery:
                if self.context.settings.max_idle_ms >= 0:
                    max_idle_s = self.context.settings.max_idle_ms / 1000
                    killed, clock = self.context.plane_metrics.expired, self.context.plane_metrics.clock
                    nursery.start_soon(table.expire, max_idle_s, killed, clock, name=f"expiry {self.name}")
                async with trio.open_nursery() as connections:
                    with ExitStack() as cleanup:
                        cleanup.callback(self._discard_pending)
                        async for accepted in self.pending:
                            name = f"connection {accepted.name}"
                            connections.start_soon(self._run_connection, accepted, name=name)
                nursery.cancel_scope.cancel(reason="the last connection has ended")
        finally:
            self.quotas.unwatch(listener, table)

    def _discard_pending(self) -> None:
        """Close the connections that the acceptor sent and this cancelled processor did not take."""
        with suppress(trio.WouldBlock, trio.EndOfChannel):
            while True:
                accepted = self.pending.receive_nowait()
                accepted.transport.close()
                self.quotas.release(self.endpoint.listener, accepted.host)

    async def _run_connection(self, accepted: Accepted) -> None:
        metrics, table, endpoint = self.context.metrics, self.context.table, self.endpoint
        metrics.created.count += 1
        metrics.connections.count += 1
        try:
            info = _info(endpoint, accepted)
            with trio.CancelScope() as scope:
                current = CurrentRequest(self.context.plane_metrics.plane.name)
                current_request.set(current)
                live = LiveConnection(info, accepted.transport, scope, self.context.plane_metrics.clock(), current)
                table.add(live)
                try:
                    await serve_connection(live, accepted.transport, self.context)
                finally:
                    table.remove(live)
                    if info.on_end is not None:
                        info.on_end()
        except OSError as error:
            logger.debug("%s %s: connection lost: %s", endpoint.listener, accepted.name, error)
        finally:
            accepted.transport.close()
            self.quotas.release(endpoint.listener, accepted.host)
            metrics.connections.count -= 1
            metrics.closed.count += 1


async def _accept(
    listener: Listener, endpoint: Endpoint, processors: list[_Processor], service: Service, metrics: PlaneMetrics
) -> None:
    """Accept connections, ask the quotas, and give each connection to the next processor that has room, until
    cancelled.
    """
    name, quotas = endpoint.listener, service.quotas
    with ExitStack() as ends:
        for processor in processors:
            ends.enter_context(processor.arriving)
        for turn in itertools.cycle(range(len(processors))):
            accepted = await listener.accept()
            with ExitStack() as undo:
                undo.callback(accepted.transport.close)
                refusal = await quotas.admit(name, accepted.host)
                if refusal is not None:
                    metrics.refused.count += 1
                    service.rejections.closed(_info(endpoint, accepted), refusal)
                    await trio.lowlevel.checkpoint()  # more may arrive than other tasks could wait for
                    continue
                undo.callback(quotas.release, name, accepted.host)
                await _hand_over(accepted, processors[turn:] + processors[:turn])
                undo.pop_all()


def _info(endpoint: Endpoint, accepted: Accepted) -> ConnectionInfo:
    return ConnectionInfo(endpoint.listener, endpoint.security_protocol, accepted.host, accepted.port, accepted.name)


async def _hand_over(accepted: Accepted, processors: list[_Processor]) -> None:
    for processor in processors:
        try:
            processor.arriving.send_nowait(accepted)
        except trio.WouldBlock:
            continue
        return
    await processors[0].arriving.send(accepted)


@attrs.frozen(eq=False)
class _Crew:
    """The handlers of a plane, and those that left their place to another one because their request is long work."""

    nursery: trio.Nursery
    service: Service
    metrics: PlaneMetrics
    line: trio.Lock = attrs.Factory(trio.Lock)
    """Of the handlers whose slice is over, one continues in each round of the scheduler."""
    long: trio.Semaphore = attrs.field(
        default=attrs.Factory(lambda self: trio.Semaphore(self.metrics.plane.handlers), takes_self=True)
    )
    """Bounds the long requests under work: each has a part of its response in memory."""

    def start(self, number: int, requests: trio.MemoryReceiveChannel[Request]) -> None:
        handler = _Handler(self, number, requests.clone())
        self.nursery.start_soon(handler.run, name=f"handler {number}")


@attrs.define(eq=False)
class _Handler:
    """Handles requests, one at a time, until all processors have ended.

    After the first slice of a request, another handler takes this one's place, and this one ends with its
    request. So short requests wait for the first slice of long ones only. A plane with one handler is an exception: it
    has one request at a time, as KIP-291 wants it.
    """

    crew: _Crew
    number: int
    requests: trio.MemoryReceiveChannel[Request]
    has_left: bool = False
    is_long: bool = False

    async def run(self) -> None:
        metrics = self.crew.metrics
        current = CurrentRequest(metrics.plane.name)
        current_request.set(current)
        if metrics.plane.handlers > 1:
            before_long_work.set(self._leave)
        try:
            with self.requests, suppress(trio.EndOfChannel):
                await self._handle_requests(current)
        finally:
            self.has_left = True  # a task that a request started may outlive this handler
            if self.is_long:
                self.crew.long.release()

    async def _leave(self) -> None:
        """Leave the place of this handler to another one, and wait until few others do long work."""
        if not self.has_left:
            self.has_left = True
            self.crew.start(self.number, self.requests)
            await self.crew.long.acquire()
            self.is_long = True

    async def _handle_requests(self, current: CurrentRequest) -> None:
        """Handle requests until this handler has left its place.

        A handler takes what is queued without a checkpoint between requests, until its slice is over. Of the handlers
        whose slice is over, one continues in each round of the scheduler. So other tasks wait for one slice, and not
        for one of each handler: a follower's large Fetch response takes many rounds on both sides.
        """
        requests, service, metrics = self.requests, self.crew.service, self.crew.metrics
        handle, clock, pauses_long_work = service.handle, metrics.clock, metrics.plane.pauses_long_work
        request: Request | None = None
        worked_s = 0.0
        while not self.has_left:
            if request is None:
                request, worked_s = await requests.receive(), 0.0
            current.request = request
            request.dequeued_at = began_at = clock()
            try:
                reply = await handle(request)
            except Exception as error:
                reply = failed_reply(request, error, service.error_response, service.rejections)
            request.handled_at = ended_at = clock()
            metrics.handlers.busy_s += ended_at - began_at
            worked_s += ended_at - began_at
            current.request = None
            if pauses_long_work:
                pause_long_work()
            request.complete(reply)
            del reply  # an idle handler keeps no request in memory
            request = None
            if worked_s >= HANDLER_SLICE_S:
                await _next_round(self.crew.line)
                # ``receive`` would wait for another round.
                request = None if self.has_left else _queued(requests)
                worked_s = 0.0
            elif metrics.in_flight > 1 and not self.has_left:
                # To find the queue empty costs an exception. The request just handled counts as in flight, too.
                request = _queued(requests)


async def _next_round(line: trio.Lock) -> None:
    """Continue in a later round, before those that call this afterwards (as ``next_slice``)."""
    async with line:
        pass


def _queued(requests: trio.MemoryReceiveChannel[Request]) -> Request | None:
    """Return a request that waits for a handler, or None."""
    try:
        return requests.receive_nowait()
    except trio.WouldBlock:
        return None
