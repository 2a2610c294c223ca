"""Requests that change metadata are the controller's: any broker takes them and passes them on (KIP-590).

To the controller of another node they go as they came, in an Envelope that says who sent them.
:mod:`kraft.api.envelope` is the controller's side.
"""

from __future__ import annotations

import ipaddress
import logging
import struct
from typing import Any

from kraft.api.context import BrokerContext
from kraft.messages.default_principal_data import DefaultPrincipalData
from kraft.messages.envelope_request import EnvelopeRequest
from kraft.messages.envelope_response import EnvelopeResponse
from kraft.messages.registry import ApiKey, response_class, response_header_version
from kraft.rpc.channel import CLOSE, Parked, Reply, Request
from kraft.wire.codec import decode, encode
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message

logger = logging.getLogger("kraft.node")

_PRINCIPAL_VERSION = 0
_VERSION = struct.Struct(">h")
_CORRELATION_ID = struct.Struct(">i")


async def forward(broker: BrokerContext, request: Request, message: Any) -> Reply:
    """The controller's answer, once it is committed: the handler that forwarded APIs share at a broker's listener."""

    async def answer() -> Any:
        response = await broker.change(message, request.api_version, envelope=seal(request))
        if not isinstance(response, EnvelopeResponse):
            return response
        try:
            return disclose(request, response)
        except KafkaError as refused:
            if refused.code is ErrorCode.UNSUPPORTED_VERSION:
                # What was offered to this client holds no more: let it connect and ask anew.
                return CLOSE
            logger.error("an Envelope with %s was refused: %s", ApiKey(request.api_key).name, refused)
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from refused

    return Parked(answer)


def seal(request: Request) -> EnvelopeRequest:
    """An Envelope with a client's request."""
    kind, _, name = request.connection.principal.partition(":")
    principal = _VERSION.pack(_PRINCIPAL_VERSION) + encode(DefaultPrincipalData(kind, name), _PRINCIPAL_VERSION)
    address = ipaddress.ip_address(request.connection.host.partition("%")[0]).packed
    return EnvelopeRequest(bytes(request.frame), principal, address)


def disclose(request: Request, envelope: EnvelopeResponse) -> Message:
    """The answer in an Envelope, for the client that sent ``request``.

    Raises KafkaError: why the Envelope was refused, or UNKNOWN_SERVER_ERROR if it does not have the answer.
    """
    if envelope.error_code:
        raise KafkaError(ErrorCode(envelope.error_code))
    data = envelope.response_data or b""
    position = _CORRELATION_ID.size + response_header_version(request.api_key, request.api_version)
    try:
        if _CORRELATION_ID.unpack_from(data)[0] != request.correlation_id or any(data[_CORRELATION_ID.size : position]):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The Envelope has the answer to another request.")
        return decode(response_class(request.api_key), request.api_version, data, position)[0]
    except (struct.error, DecodeError) as error:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"The Envelope has no answer: {error}") from error
