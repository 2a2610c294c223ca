"""A broker and a controller with scripted responses to a few requests, to show rare states to tools.

It is node 1, and listens on two ports: one has the broker's APIs, the other the controller's.
"""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import attrs

from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from kraft.messages.metadata_request import MetadataRequest
from kraft.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from kraft.messages.registry import ApiKey, request_class, request_header_version, response_header_version
from kraft.wire.codec import decode, encode
from tests.support.cluster_id import CLUSTER_ID

NODE_ID = 1

_HEADER = struct.Struct(">hhi")

#: By API: the newest version that is offered, and the answer to a request.
Answers = Mapping[ApiKey, tuple[int, Callable[[Any], Any]]]


@attrs.frozen
class StubCluster:
    bootstrap_servers: str
    bootstrap_controllers: str


@contextmanager
def stub_cluster(answers: Answers, offers: ApiVersionsResponse | None = None) -> Iterator[StubCluster]:
    """Serve in threads of their own until the block ends. ``offers``: the features in the ApiVersions responses."""
    with ExitStack() as stack:
        addresses = []
        for _ in range(2):
            server = stack.enter_context(_Server(("127.0.0.1", 0), _Connection))
            server.offers = offers or ApiVersionsResponse()
            server.answers = {**_own_answers(server.server_address[1]), **answers}
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            stack.callback(server.shutdown)
            addresses.append(f"127.0.0.1:{server.server_address[1]}")
        yield StubCluster(*addresses)


def _own_answers(port: int) -> Answers:
    def metadata(request: MetadataRequest) -> MetadataResponse:
        return MetadataResponse(
            brokers=[MetadataResponseBroker(NODE_ID, "127.0.0.1", port)], cluster_id=CLUSTER_ID, controller_id=NODE_ID
        )

    def cluster(request: DescribeClusterRequest) -> DescribeClusterResponse:
        return DescribeClusterResponse(
            endpoint_type=request.endpoint_type,
            cluster_id=CLUSTER_ID,
            controller_id=NODE_ID,
            brokers=[DescribeClusterBroker(NODE_ID, "127.0.0.1", port)],
        )

    return {ApiKey.METADATA: (12, metadata), ApiKey.DESCRIBE_CLUSTER: (1, cluster)}


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    answers: Answers
    offers: ApiVersionsResponse


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while length := self.rfile.read(4):
            frame = self.rfile.read(int.from_bytes(length, "big"))
            api_key, version, correlation_id = _HEADER.unpack_from(frame)
            body = encode(self._answer(api_key, version, frame), version)
            header = struct.pack(">i", correlation_id) + b"\0" * response_header_version(api_key, version)
            self.wfile.write(struct.pack(">i", len(header) + len(body)) + header + body)

    def _answer(self, api_key: int, version: int, frame: bytes) -> Any:
        answers = self.server.answers  # type: ignore[attr-defined]
        position = _HEADER.size + 2 + max(0, int.from_bytes(frame[8:10], "big", signed=True))
        position += request_header_version(api_key, version) - 1
        request, _ = decode(request_class(api_key), version, frame, position)
        if isinstance(request, ApiVersionsRequest):
            offered = {ApiKey.API_VERSIONS: ApiVersionsRequest.VALID_VERSIONS[1]}
            offered |= {key: newest for key, (newest, _) in answers.items()}
            keys = [ApiVersion(int(key), request_class(key).VALID_VERSIONS[0], v) for key, v in offered.items()]
            return self.server.offers.evolve(api_keys=keys)  # type: ignore[attr-defined]
        return answers[api_key][1](request)
