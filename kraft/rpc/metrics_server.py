"""The node's metrics over HTTP for Prometheus, at ``GET /metrics`` only.

The server limits the number of connections, the bytes of a header and the time of a request, and takes one request per
connection.
"""

from __future__ import annotations

import logging
from functools import partial

import h11
import trio

from kraft.config.listeners import PLAINTEXT, Endpoint, address
from kraft.metrics import Registry
from kraft.metrics.prometheus import CONTENT_TYPE, render
from kraft.world.listen import SocketSettings, open_listener
from kraft.world.slices import in_slices

logger = logging.getLogger("kraft.rpc")

MAX_CONNECTIONS = 16
MAX_HEADER_BYTES = 8_192
TIMEOUT_S = 10.0
_RECEIVE_BYTES = 4_096
_SLICE_METRICS = 40
"""The metrics that are read or encoded before other tasks run: a few milliseconds of work."""


async def serve_metrics(
    registry: Registry,
    host: str,
    port: int,
    *,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled, on the interfaces of a Kafka listener with this host.

    ``task_status.started`` gives the port.

    Raises OSError if the port cannot be bound; its ``filename`` is the setting.
    """
    try:
        sock = await open_listener(Endpoint("metrics", PLAINTEXT, host, port), SocketSettings())
    except OSError as error:
        where = f"kraft.metrics.listener={address(host, port)}"
        raise OSError(error.errno, error.strerror or str(error), where) from error
    task_status.started(sock.getsockname()[1])
    limiter = trio.CapacityLimiter(MAX_CONNECTIONS)
    listener = trio.SocketListener(trio.socket.from_stdlib_socket(sock))
    await trio.serve_listeners(partial(_serve_connection, registry, limiter), [listener])


async def _serve_connection(registry: Registry, limiter: trio.CapacityLimiter, stream: trio.SocketStream) -> None:
    async with stream:
        try:
            limiter.acquire_nowait()
        except trio.WouldBlock:
            return
        try:
            with trio.move_on_after(TIMEOUT_S):
                await _answer(registry, stream)
        except (trio.BrokenResourceError, h11.LocalProtocolError):
            pass  # the client closed the connection
        except Exception:
            logger.exception("metrics request failed")
        finally:
            limiter.release()


async def _answer(registry: Registry, stream: trio.SocketStream) -> None:
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEADER_BYTES)
    try:
        request = await _read_request(connection, stream)
    except h11.RemoteProtocolError as error:
        await _respond(connection, stream, error.error_status_hint, "text/plain", b"bad request\n")
        return
    if request is None:
        return
    if request.target.partition(b"?")[0] != b"/metrics":
        await _respond(connection, stream, 404, "text/plain", b"only /metrics is here\n")
    elif request.method != b"GET":
        await _respond(connection, stream, 405, "text/plain", b"only GET is allowed\n")
    else:
        await _respond(connection, stream, 200, CONTENT_TYPE, await in_slices(render(registry), _SLICE_METRICS))


async def _read_request(connection: h11.Connection, stream: trio.SocketStream) -> h11.Request | None:
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            return event
        if event is not h11.NEED_DATA:
            return None
        connection.receive_data(await stream.receive_some(_RECEIVE_BYTES))


async def _respond(
    connection: h11.Connection, stream: trio.SocketStream, status: int, content_type: str, body: bytes
) -> None:
    headers = [("content-type", content_type), ("content-length", str(len(body))), ("connection", "close")]
    data = connection.send(h11.Response(status_code=status, headers=headers)) or b""
    data += connection.send(h11.Data(data=body)) or b""
    data += connection.send(h11.EndOfMessage()) or b""
    await stream.send_all(data)
