"""Envelope (key 58): a request that a broker forwards for its client (KIP-590).

Version 0.

The Envelope has the bytes of the client's request and of its response, both with their headers. The request gets the
handler that it would get on a connection of its own. If that raises NOT_CONTROLLER, the error is in the
EnvelopeResponse: the broker then sends the Envelope to another controller, and its client does not see the error.
:mod:`kraft.api.forwarding` is the broker's side.
"""

from __future__ import annotations

import ipaddress
import struct
from functools import partial
from typing import cast

from kraft.api.context import ControllerContext
from kraft.api.dispatcher import Dispatcher, refusal
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.api.table import FORWARDABLE, OFFERED
from kraft.messages.default_principal_data import DefaultPrincipalData
from kraft.messages.envelope_request import EnvelopeRequest
from kraft.messages.envelope_response import EnvelopeResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import ConnectionInfo, Parked, Reply, Request, ResponseAction, response_of
from kraft.rpc.connection import error_reply
from kraft.rpc.header import encode_response, parse_request
from kraft.wire.codec import decode
from kraft.wire.decode_error import DecodeError, UnsupportedVersionError
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message

ROW = Api(
    ApiKey.ENVELOPE,
    versions={ListenerType.CONTROLLER: (0, 0)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    quota=Quota.NONE,
)

_REFUSED = frozenset(ApiKey) - FORWARDABLE
_VERSION = struct.Struct(">h")
_API_KEY = struct.Struct(">h")
_FRAME_LENGTH_BYTES = 4


async def at_controller(controller: ControllerContext, request: Request, message: EnvelopeRequest) -> Reply:
    inner = request.inner = unwrap_request(message, request.connection)
    inner.room = request.room
    dispatcher = Dispatcher(controller.handlers, controller, raised=(ErrorCode.NOT_CONTROLLER,))
    try:
        reply = await dispatcher.handle(inner)
    except DecodeError as malformed:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, str(malformed)) from malformed
    return Parked(partial(_wrapped, inner, reply, dispatcher))


async def _wrapped(
    inner: Request, reply: Reply, dispatcher: Dispatcher[ControllerContext]
) -> EnvelopeResponse | ResponseAction:
    """Return the response of the controller in an Envelope. Raises KafkaError NOT_CONTROLLER."""
    try:
        response = await response_of(reply)
    except Exception as failure:
        if refusal(failure).code in dispatcher.raised:
            raise
        response = error_reply(inner, failure, dispatcher.error_response)
    return response if isinstance(response, ResponseAction) else await wrap_response(inner, response)


def unwrap_request(envelope: EnvelopeRequest, connection: ConnectionInfo) -> Request:
    """Return the request in an Envelope that came over ``connection``.

    Raises KafkaError PRINCIPAL_DESERIALIZATION_FAILURE if the principal is missing or malformed, INVALID_REQUEST if the
    client's address is malformed or the API is not forwardable, UNSUPPORTED_VERSION if no controller here offers it.
    """
    principal = _principal(envelope.request_principal)
    try:
        host = str(ipaddress.ip_address(envelope.client_host_address))
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The client's address has not 4 or 16 bytes.") from None
    data = envelope.request_data
    key = _API_KEY.unpack_from(data)[0] if len(data) >= _API_KEY.size else None
    if key in _REFUSED:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{ApiKey(key).name} may not be forwarded.")
    client = ConnectionInfo(
        listener=connection.listener,
        security_protocol=connection.security_protocol,
        host=host,
        port=0,
        name=f"{host} by {connection.name}",
        principal=principal,
    )
    try:
        return parse_request(data, client, OFFERED[ListenerType.CONTROLLER])
    except DecodeError as error:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, str(error)) from error


def _principal(data: bytes | None) -> str:
    try:
        (version,) = _VERSION.unpack_from(data or b"")
        principal, _ = decode(DefaultPrincipalData, version, data or b"", _VERSION.size)
    except (struct.error, DecodeError, UnsupportedVersionError) as error:
        raise KafkaError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE) from error
    return f"{principal.type}:{principal.name}"


async def wrap_response(request: Request, response: Message) -> EnvelopeResponse:
    """Return an EnvelopeResponse with the bytes of the client's response."""
    data, pieces = await encode_response(request, response)
    assert not pieces, "no forwarded response has records"
    return EnvelopeResponse(cast(bytes, memoryview(data)[_FRAME_LENGTH_BYTES:]))  # no copy, as in forwarding


def error(message: EnvelopeRequest, version: int, code: ErrorCode, text: str | None = None) -> EnvelopeResponse:
    return EnvelopeResponse(error_code=code)
