"""The exchange between a connection and a handler: a :class:`Request`, and its reply.

A connection puts one request on its plane's queue and waits for the reply before it reads the next one. So responses
leave in the order of their requests. A peer that sends faster than the handlers reply is held back by its own socket.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final, TypeVar, cast

import attrs
import trio

from kraft.messages.registry import ApiKey, request_class
from kraft.rpc.memory_pool import MemoryPool
from kraft.wire.codec import decode, decode_in_steps
from kraft.wire.decode_error import DecodeError, UnsupportedVersionError
from kraft.wire.schema import Message
from kraft.wire.varint import Buffer
from kraft.world.slices import in_slices

M = TypeVar("M", bound=Message)


class ResponseAction(enum.Enum):
    """A reply without a response: what the connection does instead (Kafka's ``RequestChannel.ResponseAction``)."""

    NO_RESPONSE = enum.auto()
    """Produce with acks=0: the peer expects nothing; read its next request."""
    CLOSE = enum.auto()
    """Close the connection."""


NO_RESPONSE: Final = ResponseAction.NO_RESPONSE
CLOSE: Final = ResponseAction.CLOSE


@attrs.frozen
class Parked:
    """A reply that comes later: a long poll, a join, acks=all.

    ``wait()`` runs in the connection's own task, so a waiting request occupies no handler. It is cancelled when the
    connection ends, or when a stopping plane has waited for its drain time.
    """

    wait: Callable[[], Awaitable[Message | ResponseAction]]
    is_awaited: bool = True
    """Whether the peer waits for the response. With ``acks=0`` it does not, and may have closed its end meanwhile."""


Reply = Message | Parked | ResponseAction


async def response_of(reply: Reply) -> Any:
    """Return the response, at once or when it comes."""
    return await reply.wait() if isinstance(reply, Parked) else reply


_PENDING: Final = object()

SHOWN_CLIENT_ID = 60
"""Characters of a client id in a log line. A client id has up to 32,767 bytes."""


@attrs.define(eq=False)
class ConnectionInfo:
    """A connection as handlers see it, with the client software that ApiVersions named."""

    listener: str
    security_protocol: str
    host: str
    port: int
    name: str
    """``host:port`` of the peer, as in logs and task names."""
    client_software_name: str = ""
    client_software_version: str = ""
    principal: str = "User:ANONYMOUS"
    on_end: Callable[[], None] | None = None
    """Called when the connection ends, for an API that keeps state for it. It neither raises nor waits."""
    known_client_id: tuple[bytes, str | None] = b"", None
    """The client id of the last request, as in the frame and decoded."""


LARGE_FRAME_BYTES: Final = 16 * 1024
"""A frame of this size may have so many elements that it is decoded in slices."""
MAX_ELEMENTS: Final = 100_000
"""Not a Kafka setting. The elements of all arrays of one request, and its unknown tagged fields. The largest honest
requests name some 10,000 topics or partitions, and a controller creates 10,000 partitions at most.
"""
MAX_CONTROLLER_ELEMENTS: Final = 2_000_000
"""Not a Kafka setting. The same for requests of a ZooKeeper-era controller, one of which has all partitions of a broker
or of the cluster. A partition of three replicas has seven elements.
"""
_OF_CONTROLLER = frozenset({ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA, ApiKey.STOP_REPLICA})
_SLICE_ELEMENTS = 500
UNCOUNTED_ELEMENTS: Final = 1_000
"""Not a Kafka setting. A request with at most so many elements never waits for the memory of others."""


async def decode_response(cls: type[M], version: int, data: Buffer, position: int) -> M:
    """Decode a response that this process asked for, a large one in slices. Its own length is bound enough.

    Raises DecodeError.
    """
    if len(data) < LARGE_FRAME_BYTES:
        return decode(cls, version, data, position)[0]
    steps = decode_in_steps(cls, version, data, position, max_elements=len(data))
    return (await in_slices(steps, _SLICE_ELEMENTS))[0]


@attrs.define(eq=False)
class Request:
    """One request as it was read: the header decoded, the body not.

    The reply is encoded in ``response_version``. For an ApiVersions request in a version that is not offered, the
    server sets it to 0 and ``supported`` to False; the body of such a request must not be decoded. Times are seconds of
    the plane's clock.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    frame: Buffer
    body_position: int
    connection: ConnectionInfo
    supported: bool = True
    response_version: int = 0
    received_at: float = 0.0
    room: MemoryPool | None = None
    """Where the elements of a large request are counted, until :meth:`release`."""
    dequeued_at: float = 0.0
    handled_at: float = 0.0
    resumed_at: float = 0.0
    """When its connection took the reply."""
    ready_at: float = 0.0
    """When its connection had the response; later than ``resumed_at`` only for a parked reply."""
    metrics_name: str = attrs.field(default="", init=False)
    """Kafka's second name for the metrics of the request, which its handler sets: FetchConsumer or FetchFollower."""
    inner: Request | None = attrs.field(default=None, init=False, repr=False)
    """The client's request, if this one is an Envelope. It is released with the Envelope."""
    _message: Message | None = attrs.field(default=None, init=False, repr=False)
    _elements: int = attrs.field(default=0, init=False)
    _taken: int = attrs.field(default=0, init=False)
    _reply: Reply | object = attrs.field(default=_PENDING, init=False)
    _waiter: trio.lowlevel.Task | None = attrs.field(default=None, init=False)

    def message(self) -> Message:
        """Return the body; decode it unless :meth:`decode` has. Bytes after the message are ignored, as in Kafka.

        Raises DecodeError if the body is malformed, or if the codec does not know a version that the listener offers.
        """
        if self._message is not None:
            return self._message
        try:
            return decode(request_class(self.api_key), self.api_version, self.frame, self.body_position)[0]
        except UnsupportedVersionError as error:
            raise DecodeError(str(error)) from error

    async def decode(self) -> None:
        """Decode the body of a large frame and keep it for :meth:`message`, in slices.

        Raises DecodeError as :meth:`message` does, and for more than ``MAX_ELEMENTS``.
        """
        cls = request_class(self.api_key)
        most = MAX_CONTROLLER_ELEMENTS if self.api_key in _OF_CONTROLLER else MAX_ELEMENTS
        try:
            steps = decode_in_steps(cls, self.api_version, self.frame, self.body_position, max_elements=most)
            self._message, _, self._elements = await in_slices(steps, _SLICE_ELEMENTS)
        except UnsupportedVersionError as error:
            raise DecodeError(str(error)) from error

    def take_room(self) -> bool:
        """Count the elements of the decoded body; return False, and forget the body, if the plane has no room for it.

        A body with few elements is not counted.
        """
        if self.room is None or self._taken or self._elements <= UNCOUNTED_ELEMENTS:
            return True
        if not self.room.has_room:
            self._message = None
            return False
        self._take(self.room, self._elements)
        return True

    async def wait_for_room(self, elements: int | None = None) -> None:
        """Count ``elements`` as soon as the plane has room for them; those of the body by default.

        Only the task of the connection may wait: a handler would keep all other requests waiting. A request that was
        counted before does not wait, because all others might wait for it.
        """
        if self.room is not None:
            if not self._taken:
                await self.room.room()
            self._take(self.room, self._elements if elements is None else elements)

    def _take(self, room: MemoryPool, elements: int) -> None:
        room.take(elements)
        self._taken += elements

    @property
    def is_large(self) -> bool:
        """Whether the body was decoded in steps, into many elements."""
        return self._elements > UNCOUNTED_ELEMENTS or (self.inner is not None and self.inner.is_large)

    def forget(self) -> list[Message]:
        """Forget the body and the reply. Return the body, if it was decoded, for its last owner."""
        message, self._message, self._reply = self._message, None, _PENDING
        messages = [] if message is None else [message]
        return messages if self.inner is None else [*messages, *self.inner.forget()]

    def release(self) -> None:
        """Forget the body and the reply, because the response is encoded or the connection has ended.

        A handler that still works on the request counts nothing from here on.
        """
        self._message, self._reply = None, _PENDING
        if self.room is not None and self._taken:
            self.room.give_back(self._taken)
        self.room = None
        if self.inner is not None:
            self.inner.release()

    def complete(self, reply: Reply) -> None:
        """Give the reply to the connection, once. A connection that has ended drops it."""
        assert self._reply is _PENDING, "a request has exactly one reply"
        self._reply = reply
        if self._waiter is not None:
            trio.lowlevel.reschedule(self._waiter)
            self._waiter = None

    async def reply(self) -> Reply:
        """Wait for the reply.

        This is a slot for one value and one waiter. It costs half as much as a Trio Event, on the busiest path of the
        node.
        """
        if self._reply is _PENDING:
            self._waiter = trio.lowlevel.current_task()

            def abort(_: object) -> trio.lowlevel.Abort:
                self._waiter = None
                return trio.lowlevel.Abort.SUCCEEDED

            await trio.lowlevel.wait_task_rescheduled(abort)
        return cast(Reply, self._reply)


@attrs.define(eq=False)
class CurrentRequest:
    """The request that a task of a plane works on: a handler, or a connection with a request in flight."""

    plane: str
    request: Request | None = None


current_request: ContextVar[CurrentRequest | None] = ContextVar("current request", default=None)
"""That of the running task. A task that it starts for the request has the same."""
