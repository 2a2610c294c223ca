"""Envelope (key 58): a request that a broker passes on for its client (KIP-590).

Version 0.

What is inside goes the way that it would have gone on a connection of its own. If its answer is NOT_CONTROLLER, the
Envelope says that itself, so that the broker asks another controller and its client hears nothing of it.
"""

from __future__ import annotations

from kraft.api.apis import CONTROLLER_APIS, CONTROLLER_HANDLERS, Dispatcher, versions
from kraft.api.context import ControllerContext
from kraft.api.envelope import enclose, unseal
from kraft.messages.envelope_request import EnvelopeRequest
from kraft.messages.envelope_response import EnvelopeResponse
from kraft.rpc.channel import Parked, Reply, Request, Silence
from kraft.rpc.connection import failed_reply
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError


async def handle(plane: ControllerContext, request: Request, message: EnvelopeRequest) -> Reply:
    inner = unseal(message, request.connection, versions(CONTROLLER_APIS))
    dispatcher = Dispatcher(plane, CONTROLLER_APIS, CONTROLLER_HANDLERS)

    async def answer() -> EnvelopeResponse | Silence:
        try:
            reply = await dispatcher.handle(inner)
            if isinstance(reply, Parked):
                reply = await reply.wait()
        except DecodeError as malformed:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, str(malformed)) from malformed
        except Exception as failure:
            reply = failed_reply(inner, failure, dispatcher.error_response)
        return reply if isinstance(reply, Silence) else enclose(inner, reply)

    return Parked(answer)


def error(message: EnvelopeRequest, version: int, code: ErrorCode, text: str | None = None) -> EnvelopeResponse:
    return EnvelopeResponse(error_code=code)
