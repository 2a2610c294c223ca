"""How a request finds its handler at one kind of listener.

The file of an API is imported when a listener is first asked for it: importing all of them would import every message
class, which is most of what a node's start could take. :mod:`kraft.api.table` says what is offered until then.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import attrs

from kraft.api.row import ListenerType
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message

Context = TypeVar("Context")

Handler = Callable[[Context, Request, Any], Awaitable[Reply]]
"""``at_broker`` or ``at_controller`` of an API's file: given the context of its listener, the request and its message.

The message is None for ApiVersions in a version that is not offered."""

ErrorAnswer = Callable[[Any, int, ErrorCode, str | None], Message]
"""``error`` of an API's file: the response in this version which says that the whole message was refused."""


def load(listener: ListenerType, key: int) -> tuple[Handler[Any], ErrorAnswer]:
    """The handler and the error answer of an API that ``listener`` offers, from the file that its key names."""
    module = importlib.import_module(f"kraft.api.{ApiKey(key).name.lower()}")
    return getattr(module, listener.handler), module.error


def refusal(failure: Exception) -> KafkaError:
    """What a peer is told of a failure: the Kafka error that it is, or else UNKNOWN_SERVER_ERROR."""
    return failure if isinstance(failure, KafkaError) else KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


@attrs.frozen(eq=False)
class Dispatcher(Generic[Context]):
    """Takes requests off a plane's queue to their handlers, and turns a refusal into the API's own error answer."""

    listener: ListenerType
    context: Context
    _loaded: dict[int, tuple[Handler[Context], ErrorAnswer]] = attrs.Factory(dict)

    async def handle(self, request: Request) -> Reply:
        try:
            handler, error = self._loaded[request.api_key]
        except KeyError:
            handler, error = self._loaded[request.api_key] = load(self.listener, request.api_key)
        message = request.message() if request.supported else None
        try:
            reply = await handler(self.context, request, message)
        except KafkaError as refused:
            reply = error(message, request.response_version, refused.code, refused.message)
        return reply

    def error_response(self, request: Request, failure: Exception) -> Message:
        """The answer to a request that failed after :meth:`handle` had returned, or in it."""
        _, error = self._loaded[request.api_key]
        refused = refusal(failure)
        return error(request.message(), request.response_version, refused.code, refused.message)
