"""One connection: it reads a request, queues it, waits for the reply, sends it, and begins again.

Every input of a peer ends in a response, or in a closed connection with one log line. Only a cancellation leaves
:func:`serve_connection`: any other exception would end all connections of the processor.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import attrs
import trio

from kraft.rpc.channel import CLOSE, NO_RESPONSE, SHOWN_CLIENT_ID, Parked, Request, ResponseAction
from kraft.rpc.connections import ConnectionTable, LiveConnection
from kraft.rpc.frames import ConnectionEnded, FrameReader, InvalidFrame
from kraft.rpc.header import Apis, encode_response, parse_request
from kraft.rpc.memory_pool import MemoryPool
from kraft.rpc.rejections import RejectionLog
from kraft.rpc.request_metrics import PlaneMetrics, ProcessorMetrics
from kraft.rpc.trace import RequestTrace
from kraft.rpc.unsent import SMALL_BYTES, UnsentResponses
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import KafkaError
from kraft.wire.freeing import free_in_steps
from kraft.wire.schema import Message
from kraft.wire.splice import FileSlice
from kraft.world.listen import SocketSettings
from kraft.world.slices import in_slices, pause_long_work
from kraft.world.transport import Transport

logger = logging.getLogger("kraft.rpc")

ErrorResponse = Callable[[Request, Exception], Message | ResponseAction]
"""Makes the error response for a failed request (UNKNOWN_SERVER_ERROR); CLOSE if the client expects none."""

MAX_TOGETHER: Final = 4
"""Not a Kafka setting. How many responses to pipelined requests leave together. With many, the client and the node
would wait for each other in turns, instead of working at the same time.
"""
_LARGE_BYTES: Final = 64 * 1024
_SLICE_ELEMENTS: Final = 1_500
"""A large response, or a large request, is freed in slices of some milliseconds."""
_LARGE_BUFFERS_BYTES: Final = 4 << 20
"""From this size on, their bytes are, too."""
MAX_TOGETHER_BYTES: Final = 16 * 1024
"""Not a Kafka setting. How many bytes such responses have together. A longer response leaves alone."""


@attrs.frozen(eq=False)
class ProcessorContext:
    """The state that the connections of one processor share."""

    requests: trio.MemorySendChannel[Request]
    apis: Apis
    error_response: ErrorResponse
    settings: SocketSettings
    rejections: RejectionLog
    table: ConnectionTable
    scratch: memoryview
    memory: MemoryPool
    room: MemoryPool
    unsent: UnsentResponses
    plane_metrics: PlaneMetrics
    trace: RequestTrace
    metrics: ProcessorMetrics


async def serve_connection(live: LiveConnection, transport: Transport, context: ProcessorContext) -> None:
    """Serve until the peer closes, the peer breaks the protocol, or the connection is cancelled (idle, quota, stop)."""
    peer = live.info
    frames = FrameReader(transport, context.scratch, context.settings.request_max_bytes, context.memory)
    try:
        await _serve(live, frames, transport, context)
    except (InvalidFrame, DecodeError) as error:
        context.rejections.closed(peer, error)
    except (ConnectionEnded, OSError) as error:
        logger.debug("%s %s: connection lost: %s", peer.listener, peer.name, error)
    except trio.BrokenResourceError:  # the handlers of a cancelled plane may end before its connections
        logger.debug("%s %s: closed: no handler is left", peer.listener, peer.name)
    except Exception:
        logger.exception("%s %s: closed: internal error", peer.listener, peer.name)
    finally:
        frames.release()


async def _serve(live: LiveConnection, frames: FrameReader, transport: Transport, context: ProcessorContext) -> None:
    responses = _Responses(live, transport, context)
    failure = None
    try:
        await _serve_requests(live, frames, responses, context)
    except Exception as error:  # a malformed frame behind good ones, whose responses go out
        failure = error
    await responses.flush()
    try:
        if failure is not None:
            raise failure
    finally:
        del failure  # it has this frame, which would have it: a cycle


async def _serve_requests(
    live: LiveConnection, frames: FrameReader, responses: _Responses, context: ProcessorContext
) -> None:
    table, metrics, requests, current = context.table, context.metrics, context.requests, live.current
    clock, pauses_long_work = context.plane_metrics.clock, context.plane_metrics.plane.pauses_long_work
    while not live.draining:
        frame = await frames.read()
        if frame is None:
            return
        now = clock()
        table.touch(live, now)
        metrics.bytes_in.count += len(frame) + 4
        request = parse_request(frame, live.info, context.apis, now, context.room)
        current.request = request
        if context.trace.received.listeners:
            context.trace.emit_received(request)
        del frame  # the request owns the frame from here on, and frees it before the next one is read
        metrics.idle.busy_s += clock() - now
        if pauses_long_work:
            pause_long_work()
        try:
            requests.send_nowait(request)
        except trio.WouldBlock:
            await responses.flush()
            await requests.send(request)
        if not await _answer(request, live, frames, responses, context):
            return
        current.request = None
        del request  # so that an idle connection keeps no frame in memory, and no file of a response open


async def _answer(
    request: Request, live: LiveConnection, frames: FrameReader, responses: _Responses, context: ProcessorContext
) -> bool:
    """Wait for the reply and send it; return False if the connection is to be closed."""
    clock = context.plane_metrics.clock
    context.plane_metrics.in_flight += 1
    try:
        reply = await request.reply()
        request.resumed_at = request.ready_at = started_at = clock()
        if isinstance(reply, Parked):
            await responses.flush()
            live.is_awaited = reply.is_awaited
            reply = await _parked(reply, request, context)
            live.is_awaited = False
            request.ready_at = started_at = clock()
        if reply is CLOSE:
            return False
        if reply is NO_RESPONSE:
            _finish(request, started_at, context)
            if not frames.has_frame:
                await responses.flush()
            return True
        data, pieces = await encode_response(request, reply)
        if request.is_large or len(data) > _LARGE_BYTES:
            messages = [reply, *request.forget()]
            del reply
            await in_slices(free_in_steps(messages), _SLICE_ELEMENTS)
            del messages
        else:
            del reply
    finally:
        # A slow peer keeps only the encoded response in memory. The objects of a large one need ten times as much.
        request.release()
        context.plane_metrics.in_flight -= 1
    if responses.waiting and (pieces or len(data) > MAX_TOGETHER_BYTES):
        await responses.flush()
        started_at = clock()
    responses.add(data, request)
    del data
    if not pieces and frames.has_frame and not responses.is_full:
        context.metrics.idle.busy_s += clock() - started_at
    else:
        await responses.send(pieces, started_at)
    return True


class _Responses:
    """The responses of a connection until they are sent. Those of pipelined requests leave together.

    A response waits only while the next request has arrived as a whole, a handler works on it, and its response is
    encoded. It does not wait for a parked request, or for room in the queue.
    """

    __slots__ = ("_context", "_data", "_live", "_transport", "waiting")

    def __init__(self, live: LiveConnection, transport: Transport, context: ProcessorContext) -> None:
        self._live, self._transport, self._context = live, transport, context
        self._data: bytes | bytearray = b""
        self.waiting: list[Request] = []

    @property
    def is_full(self) -> bool:
        return len(self.waiting) >= MAX_TOGETHER or len(self._data) >= MAX_TOGETHER_BYTES

    def add(self, data: bytearray, request: Request) -> None:
        if self.waiting:
            self._data += data
        else:
            self._data = data
        self.waiting.append(request)
        self._context.metrics.responses.count += 1

    async def flush(self) -> None:
        """Send the responses that wait, if any."""
        if self.waiting:
            await self.send([], self._context.plane_metrics.clock())

    async def send(self, pieces: list[tuple[int, FileSlice]], started_at: float) -> None:
        """Send the responses, with slices of files in the last one. The work for it began at ``started_at``."""
        data, waiting, transport, context = self._data, self.waiting, self._transport, self._context
        self._data, self.waiting = b"", []
        metrics, size, waited_s = context.metrics, len(data), transport.waited_s
        is_large = size > SMALL_BYTES
        if is_large:
            context.unsent.add(self._live, size)
        try:
            if pieces:
                metrics.bytes_out.count += sum(piece.length for _, piece in pieces)
                await _send_spliced(transport, data, pieces)
            else:
                await transport.send(data)
        finally:
            metrics.responses.count -= len(waiting)
            if is_large:
                context.unsent.remove(self._live)
        metrics.bytes_out.count += size
        sent_at = context.plane_metrics.clock()
        metrics.idle.busy_s += sent_at - started_at - (transport.waited_s - waited_s)
        context.table.touch(self._live, sent_at)
        for request in waiting:
            _finish(request, sent_at, context)
        last = waiting[-1]  # the only one that may have a large frame: behind such a frame none has arrived
        if size + len(last.frame) > _LARGE_BUFFERS_BYTES:
            buffers = [data, last.frame]
            last.frame = b""
            del data
            await in_slices(free_in_steps(buffers), _SLICE_ELEMENTS)


def _finish(request: Request, sent_at: float, context: ProcessorContext) -> None:
    """Record the request in the metrics and in the trace."""
    context.plane_metrics.record(request, sent_at)
    if context.trace.completed.listeners:
        context.trace.emit_completed(request, sent_at)
    if context.trace.sampled.listeners:
        context.trace.emit_sampled(request, sent_at)


async def _parked(parked: Parked, request: Request, context: ProcessorContext) -> Message | ResponseAction:
    try:
        return await parked.wait()
    except Exception as error:
        return failed_reply(request, error, context.error_response, context.rejections)


async def _send_spliced(transport: Transport, data: bytes | bytearray, pieces: list[tuple[int, FileSlice]]) -> None:
    """Send ``data``, with each file slice inserted at its offset."""
    view = memoryview(data)
    start = 0
    for offset, piece in pieces:
        if offset > start:
            await transport.send(view[start:offset], more=True)
        await transport.send_file(piece)
        start = offset
    if start < len(data):
        await transport.send(view[start:])


def failed_reply(
    request: Request, error: Exception, error_response: ErrorResponse, rejections: RejectionLog
) -> Message | ResponseAction:
    """Return the reply to a request whose handler raised ``error``.

    Malformed input closes the connection, and so does the failure of a request that expects no response. The log says
    why.
    """
    reply = CLOSE if isinstance(error, DecodeError) else error_reply(request, error, error_response)
    if reply is CLOSE and isinstance(error, DecodeError | KafkaError):
        client_id = repr(request.client_id)[:SHOWN_CLIENT_ID]
        rejections.closed(request.connection, f"{_api(request)} from {client_id}: {error}")
    return reply


def error_reply(request: Request, error: Exception, error_response: ErrorResponse) -> Message | ResponseAction:
    """Return the error response to a request that failed with ``error``.

    An error that is no KafkaError is a defect of this node, and is logged with its traceback.
    """
    peer, api = request.connection, _api(request)
    if not isinstance(error, KafkaError):
        logger.error("%s %s: %s failed", peer.listener, peer.name, api, exc_info=error)
    try:
        return error_response(request, error)
    except Exception:
        logger.exception("%s %s: %s has no error response", peer.listener, peer.name, api)
        return CLOSE


def _api(request: Request) -> str:
    return f"API {request.api_key} version {request.api_version}"
