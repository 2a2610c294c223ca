"""What passes between a connection and a handler: a :class:`Request`, and what the handler answers.

A connection has one request handled and answered before it reads the next one, so responses leave in the order of their
requests, and a peer that sends more than is answered waits in its own socket.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from typing import Final

import attrs

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

    ``wait()`` runs when the handler is free again, so a request that waits holds none. It is cancelled when the
    connection ends or the drain time of a stopping plane is over.
    """

    wait: Callable[[], Awaitable[Message | Silence]]


Reply = Message | Parked | Silence


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
    are seconds of ``perf_counter``.
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

    def message(self) -> Message:
        """Decode the body; bytes behind the message are ignored, as in Kafka.

        DecodeError if it is malformed, or in a version that is offered and yet unknown to the codec.
        """
        try:
            return decode(request_class(self.api_key), self.api_version, self.frame, self.body_position)[0]
        except UnsupportedVersionError as error:
            raise DecodeError(str(error)) from error
