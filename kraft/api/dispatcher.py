"""Passes each request of one kind of listener to its handler."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Generic

import attrs

from kraft.api.handlers import Context, Handlers
from kraft.rpc.channel import CLOSE, LARGE_FRAME_BYTES, Parked, Reply, Request, ResponseAction
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message


def refusal(failure: Exception) -> KafkaError:
    """Return the Kafka error that the response has for a failure: UNKNOWN_SERVER_ERROR for what is no KafkaError."""
    return failure if isinstance(failure, KafkaError) else KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


@attrs.frozen(eq=False)
class Dispatcher(Generic[Context]):
    """Calls the handler of each request, and makes the API's error response from a KafkaError.

    ``handle`` raises the errors in ``raised`` instead.
    """

    handlers: Handlers[Context]
    context: Context
    raised: Collection[ErrorCode] = ()

    async def handle(self, request: Request) -> Reply:
        is_large = len(request.frame) >= LARGE_FRAME_BYTES
        api = self.handlers.ready.get((request.api_key, request.response_version, is_large))
        if api is None:
            api = await self.handlers.of(request)
        if is_large and request.supported:
            await request.decode()
            is_awaited = getattr(request.message(), "acks", None) != 0  # only a Produce has this field
            if not request.take_room():
                return Parked(partial(self._when_there_is_room, request), is_awaited=is_awaited)
        message = request.message() if request.supported else None
        try:
            reply = await api.handle(self.context, request, message)
        except KafkaError as refused:
            if refused.code in self.raised:
                raise
            reply = api.error(message, request.response_version, refused.code, refused.message)
            if reply is CLOSE:
                raise  # the log of the connection says why it closes
        return reply

    async def _when_there_is_room(self, request: Request) -> Message | ResponseAction:
        """Handle a large request in the task of its connection, once others like it have their responses."""
        await request.wait_for_room()
        reply = await self.handle(request)
        return await reply.wait() if isinstance(reply, Parked) else reply

    def error_response(self, request: Request, failure: Exception) -> Message | ResponseAction:
        """Return the error response to a request whose handler or parked reply failed."""
        api, refused = self.handlers.load(request.api_key), refusal(failure)
        return api.error(request.message(), request.response_version, refused.code, refused.message)
