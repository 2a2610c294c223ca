"""One Kafka request, by hand: the bytes between a client and a broker.

A frame is a length, a header and a body. The header has the API and the version of the body; the response has the
same correlation id. `kraft.rpc.client` does all of this for you.
"""

from __future__ import annotations

import socket
import struct

from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.api_versions_response import ApiVersionsResponse
from kraft.messages.registry import ApiKey, request_header_version
from kraft.messages.request_header import RequestHeader
from kraft.testing import EmbeddedCluster
from kraft.wire.codec import decode, encode

VERSION = 3

with EmbeddedCluster() as cluster:
    header = RequestHeader(
        request_api_key=ApiKey.API_VERSIONS, request_api_version=VERSION, correlation_id=7, client_id="by-hand"
    )
    body = ApiVersionsRequest(client_software_name="example", client_software_version="1.0")
    payload = encode(header, request_header_version(ApiKey.API_VERSIONS, VERSION)) + encode(body, VERSION)
    print(f"-> {len(payload)} bytes: ApiVersions version {VERSION}, correlation id 7")

    host, port = cluster.bootstrap_servers.split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(struct.pack(">i", len(payload)) + payload)
        stream = connection.makefile("rb")
        (size,) = struct.unpack(">i", stream.read(4))
        frame = stream.read(size)

    (correlation_id,) = struct.unpack_from(">i", frame)
    response, _ = decode(ApiVersionsResponse, VERSION, frame, 4)
    print(f"<- correlation id {correlation_id}, error {response.error_code}")
    for api in response.api_keys[:4]:
        print(f"   {ApiKey(api.api_key).name.lower():13} versions {api.min_version} to {api.max_version}")
    print("   ...")
