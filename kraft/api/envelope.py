"""A client's request in a broker's hands (KIP-590): with who sent it, it goes to the controller in an Envelope.

The bytes inside are the request as it came and the response as it is to go out, both with their headers.
"""

from __future__ import annotations

import ipaddress
import struct
from typing import Final

from kraft.control.controller_channel import is_from_former_controller
from kraft.messages.default_principal_data import DefaultPrincipalData
from kraft.messages.envelope_request import EnvelopeRequest
from kraft.messages.envelope_response import EnvelopeResponse
from kraft.messages.registry import ApiKey, response_class, response_header_version
from kraft.rpc.channel import ConnectionInfo, Request
from kraft.rpc.header import Apis, encode_response, parse_request
from kraft.wire.codec import decode, encode
from kraft.wire.decode_error import DecodeError, UnsupportedVersionError
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message

#: What a broker may pass on for its clients.
FORWARDABLE: Final = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    }
)

_KNOWN = frozenset(ApiKey)
_PRINCIPAL_VERSION = 0
_VERSION = struct.Struct(">h")
_API_KEY = struct.Struct(">h")
_FRAME_LENGTH_BYTES = 4
_CORRELATION_ID = struct.Struct(">i")


def seal(request: Request) -> EnvelopeRequest:
    """An Envelope with a client's request."""
    kind, _, name = request.connection.principal.partition(":")
    principal = _VERSION.pack(_PRINCIPAL_VERSION) + encode(DefaultPrincipalData(kind, name), _PRINCIPAL_VERSION)
    address = ipaddress.ip_address(request.connection.host.partition("%")[0]).packed
    return EnvelopeRequest(bytes(request.frame), principal, address)


def unseal(envelope: EnvelopeRequest, connection: ConnectionInfo, apis: Apis) -> Request:
    """The request in an Envelope that came over ``connection``.

    Raises KafkaError: PRINCIPAL_DESERIALIZATION_FAILURE if it does not say who sent it, INVALID_REQUEST if the sender's
    address is none or the request is not one to be passed on, UNSUPPORTED_VERSION if ``apis`` do not have it.
    """
    principal = _principal(envelope.request_principal)
    try:
        host = str(ipaddress.ip_address(envelope.client_host_address))
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The client's address has not 4 or 16 bytes.") from None
    data = envelope.request_data
    key = _API_KEY.unpack_from(data)[0] if len(data) >= _API_KEY.size else None
    if key in _KNOWN and key not in FORWARDABLE:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{ApiKey(key).name} is not to be passed on.")
    client = ConnectionInfo(
        listener=connection.listener,
        security_protocol=connection.security_protocol,
        host=host,
        port=0,
        name=f"{host} by {connection.name}",
        principal=principal,
    )
    try:
        return parse_request(data, client, apis)
    except DecodeError as error:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, str(error)) from error


def _principal(data: bytes | None) -> str:
    try:
        (version,) = _VERSION.unpack_from(data or b"")
        principal, _ = decode(DefaultPrincipalData, version, data or b"", _VERSION.size)
    except (struct.error, DecodeError, UnsupportedVersionError) as error:
        raise KafkaError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE) from error
    return f"{principal.type}:{principal.name}"


def enclose(request: Request, response: Message) -> EnvelopeResponse:
    """An Envelope with the answer; or, if that is NOT_CONTROLLER, with that alone, so that another is asked."""
    if is_from_former_controller(response):
        return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
    data, pieces = encode_response(request, response)
    assert not pieces, "no answer that is passed on has records"
    return EnvelopeResponse(bytes(data[_FRAME_LENGTH_BYTES:]))


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
