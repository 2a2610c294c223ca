"""What passes between a connection and a handler: a :class:`Request`, and what the handler answers.

A connection puts one request on its plane's queue and waits for its reply before it reads the next one, so responses
leave in the order of their requests, and a peer that sends more than is answered waits in its own socket.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from typing import Final, cast

import attrs
import trio

from kraft.messages.registry import request_class
from kraft.wire.codec import decode
from kraft.wire.decode_error import DecodeError, UnsupportedVersionError
from kraft.wire.schema import Message


class Silence(enum.Enum):
    """A reply without a response."""

    NO_RESPONSE = enum.auto()
    """Produce with acks=0: the peer expects nothing; read its next request."""
    CLOSE = enum.auto()
    """Close the connection."""


NO_RESPONSE: Final = Silence.NO_RESPONSE
CLOSE: Final = Silence.CLOSE


@attrs.frozen
class Parked:
    """A reply that comes later: a long poll, a join, acks=all.

    ``wait()`` runs in the connection's own task, so a request that waits holds no handler. It is cancelled when the
    connection ends or the drain time of a stopping plane is over.
    """

    wait: Callable[[], Awaitable[Message | Silence]]


Reply = Message | Parked | Silence

_PENDING: Final = object()


@attrs.define(eq=False)
class ConnectionInfo:
    """What handlers may know of a connection, and remember about its client."""

    listener: str
    security_protocol: str
    host: str
    port: int
    name: str
    """``host:port`` of the peer, as in logs and task names."""
    client_software_name: str = ""
    client_software_version: str = ""
    principal: str = "User:ANONYMOUS"


@attrs.define(eq=False)
class Request:
    """One request as it was read: the header decoded, the body not.

    ``response_version`` is the version in which the reply is encoded; the server sets it to 0 for an ApiVersions
    request in a version that is not offered (``supported`` is False then, and such a body must not be decoded). Times
    are seconds of the plane's clock.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    frame: bytes | bytearray
    body_position: int
    connection: ConnectionInfo
    supported: bool = True
    response_version: int = 0
    received_at: float = 0.0
    dequeued_at: float = 0.0
    handled_at: float = 0.0
    _reply: Reply | object = attrs.field(default=_PENDING, init=False)
    _waiter: trio.lowlevel.Task | None = attrs.field(default=None, init=False)

    def message(self) -> Message:
        """Decode the body; bytes behind the message are ignored, as in Kafka.

        DecodeError if it is malformed, or in a version that is offered and yet unknown to the codec.
        """
        try:
            return decode(request_class(self.api_key), self.api_version, self.frame, self.body_position)[0]
        except UnsupportedVersionError as error:
            raise DecodeError(str(error)) from error

    def complete(self, reply: Reply) -> None:
        """Give the reply to the connection, once. If the connection has ended meanwhile, the reply is dropped."""
        assert self._reply is _PENDING, "a request has exactly one reply"
        self._reply = reply
        if self._waiter is not None:
            trio.lowlevel.reschedule(self._waiter)
            self._waiter = None

    async def reply(self) -> Reply:
        """Wait for the reply: a slot for one value and one waiter, half the cost of an Event on the busiest path of
        the node.
        """
        if self._reply is _PENDING:
            self._waiter = trio.lowlevel.current_task()

            def abort(_: object) -> trio.lowlevel.Abort:
                self._waiter = None
                return trio.lowlevel.Abort.SUCCEEDED

            await trio.lowlevel.wait_task_rescheduled(abort)
        return cast(Reply, self._reply)
