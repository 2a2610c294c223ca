"""Forwarding: a broker sends requests that change metadata to the active controller (KIP-590).

The controller of another node gets the client's bytes in an Envelope, with the client's principal and address.
:mod:`kraft.api.envelope` is the controller's side.
"""

from __future__ import annotations

import ipaddress
import logging
import struct
from typing import Any, cast

from kraft.api.context import BrokerContext
from kraft.messages.default_principal_data import DefaultPrincipalData
from kraft.messages.envelope_request import EnvelopeRequest
from kraft.messages.envelope_response import EnvelopeResponse
from kraft.messages.registry import ApiKey, response_class, response_header_version
from kraft.rpc.channel import CLOSE, Parked, Reply, Request, decode_response
from kraft.wire.codec import encode
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message

logger = logging.getLogger("kraft.node")

_PRINCIPAL_VERSION = 0
_VERSION = struct.Struct(">h")
_CORRELATION_ID = struct.Struct(">i")


async def forward(broker: BrokerContext, request: Request, message: Any) -> Reply:
    """Return the controller's response once it is committed: the handler of forwarded APIs at a broker."""

    async def answer() -> Any:
        response = await broker.change(message, request.api_version, envelope=wrap_request(request))
        if not isinstance(response, EnvelopeResponse):
            return response
        try:
            return await unwrap_response(request, response)
        except KafkaError as refused:
            if refused.code is ErrorCode.UNSUPPORTED_VERSION:
                # The controller no longer offers this version: close, so that the client requests ApiVersions again.
                return CLOSE
            logger.error("the controller refused an Envelope with %s: %s", ApiKey(request.api_key).name, refused)
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from refused

    return Parked(answer)


def wrap_request(request: Request) -> EnvelopeRequest:
    """Return an Envelope with a client's request."""
    kind, _, name = request.connection.principal.partition(":")
    principal = _VERSION.pack(_PRINCIPAL_VERSION) + encode(DefaultPrincipalData(kind, name), _PRINCIPAL_VERSION)
    address = ipaddress.ip_address(request.connection.host.partition("%")[0]).packed
    return EnvelopeRequest(cast(bytes, request.frame), principal, address)  # no copy: it may have 100 MB


async def unwrap_response(request: Request, envelope: EnvelopeResponse) -> Message:
    """Return the response in an Envelope to the client that sent ``request``. A large one is decoded in slices.

    Raises KafkaError with the error of the Envelope, or UNKNOWN_SERVER_ERROR if it has no response to ``request``.
    """
    if envelope.error_code:
        raise KafkaError(ErrorCode(envelope.error_code))
    data = envelope.response_data or b""
    position = _CORRELATION_ID.size + response_header_version(request.api_key, request.api_version)
    try:
        if _CORRELATION_ID.unpack_from(data)[0] != request.correlation_id or any(data[_CORRELATION_ID.size : position]):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The Envelope has the response to another request.")
        return await decode_response(response_class(request.api_key), request.api_version, data, position)
    except (struct.error, DecodeError) as error:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"The Envelope has no response: {error}") from error
