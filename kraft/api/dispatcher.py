"""Finds the handler of a request at one kind of listener.

The file of an API is imported at the first request for it. To import all of them would import every message class,
which is most of a node's start-up time. Until then :mod:`kraft.api.table` has the offered APIs.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Generic, TypeVar

import attrs

from kraft.api.row import ListenerType
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import LARGE_FRAME_BYTES, Parked, Reply, Request, ResponseAction
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message

Context = TypeVar("Context")

Handler = Callable[[Context, Request, Any], Awaitable[Reply]]
"""``at_broker`` or ``at_controller`` of an API's file. Its arguments are the listener's context, the request, its
message.

The message is None for ApiVersions in a version that is not offered.
"""

ErrorAnswer = Callable[[Any, int, ErrorCode, str | None], Message]
"""``error`` of an API's file: returns a response in the given version that refuses the whole message."""


def load(listener: ListenerType, key: int) -> tuple[Handler[Any], ErrorAnswer]:
    """Import the file of an API that ``listener`` offers; return its handler and its ``error``."""
    module = importlib.import_module(f"kraft.api.{ApiKey(key).name.lower()}")
    return getattr(module, listener.handler), module.error


def refusal(failure: Exception) -> KafkaError:
    """Return the Kafka error that the response has for a failure: UNKNOWN_SERVER_ERROR for what is no KafkaError."""
    return failure if isinstance(failure, KafkaError) else KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


@attrs.frozen(eq=False)
class Dispatcher(Generic[Context]):
    """Calls the handler of each request, and makes the API's error response from a KafkaError."""

    listener: ListenerType
    context: Context
    _loaded: dict[int, tuple[Handler[Context], ErrorAnswer]] = attrs.Factory(dict)

    async def handle(self, request: Request) -> Reply:
        try:
            handler, error = self._loaded[request.api_key]
        except KeyError:
            handler, error = self._loaded[request.api_key] = load(self.listener, request.api_key)
        if len(request.frame) >= LARGE_FRAME_BYTES and request.supported:
            await request.decode()
            if not request.take_room():
                return Parked(partial(self._when_there_is_room, request))
        message = request.message() if request.supported else None
        try:
            reply = await handler(self.context, request, message)
        except KafkaError as refused:
            reply = error(message, request.response_version, refused.code, refused.message)
        return reply

    async def _when_there_is_room(self, request: Request) -> Message | ResponseAction:
        """Handle a large request in the task of its connection, once others like it have their responses."""
        await request.wait_for_room()
        reply = await self.handle(request)
        return await reply.wait() if isinstance(reply, Parked) else reply

    def error_response(self, request: Request, failure: Exception) -> Message:
        """Return the error response to a request whose handler or parked reply failed."""
        _, error = self._loaded[request.api_key]
        refused = refusal(failure)
        return error(request.message(), request.response_version, refused.code, refused.message)
