"""``python -m tests.abuse.client HOST PORT KIND PAUSE_S``: a client whose waits for a node are measured.

In the attacker's interpreter it would wait for that interpreter's lock, so it has a process of its own. It pauses
between its requests, so that it takes no core from the node, and it collects no garbage.

Each byte on its standard input lets it begin or cease to ask. When it ceases, it writes one line of JSON: the fields of
``Asked``. It ends with its standard input.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs

from kraft.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from kraft.messages.describe_quorum_response import DescribeQuorumResponse
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.produce_response import ProduceResponse
from kraft.records.record import Record, encode_batch
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC
from kraft.wire.schema import Message
from tests.fuzz.strike import NEIGHBOUR_TOPIC, Address, Neighbour
from tests.support.node_process import ROOT, environment

PAUSE_S = 0.001
"""Between two requests of a campaign. An idle node answers within 1 ms."""
PATIENCE_S = 120.0
"""The time for an answer. After it the client gives up."""


def neighbour_requests() -> Sequence[tuple[Message, int]]:
    """Produce one record of 100 bytes, then ask for the metadata of its topic."""
    records = encode_batch([Record(0, -1, None, bytes(100))])
    data = TopicProduceData(NEIGHBOUR_TOPIC, partition_data=[PartitionProduceData(0, records)])
    topics = [MetadataRequestTopic(name=NEIGHBOUR_TOPIC)]
    return (ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[data]), 9), (MetadataRequest(topics=topics), 9)


def quorum_request() -> Sequence[tuple[Message, int]]:
    topic = TopicData(CLUSTER_METADATA_TOPIC, [PartitionData(0)])
    return ((DescribeQuorumRequest(topics=[topic]), 0),)


REQUESTS: Mapping[str, Callable[[], Sequence[tuple[Message, int]]]] = {
    "neighbour": neighbour_requests,
    "controller": quorum_request,
}


@attrs.define
class Asked:
    """The requests of a client: their waits in seconds, and the epochs of the quorum in the responses.

    ``is_lost`` means that the node closed the connection, did not respond for ``PATIENCE_S``, or refused a write.
    """

    waits: list[float] = attrs.Factory(list)
    epochs: list[int] = attrs.Factory(list)
    is_lost: bool = False

    def worst_ms(self) -> float:
        return max(self.waits, default=0.0) * 1000

    def p99_ms(self) -> float:
        return sorted(self.waits)[len(self.waits) * 99 // 100] * 1000 if self.waits else 0.0

    def add(self, later: Asked) -> None:
        self.waits += later.waits
        self.epochs += [epoch for epoch in later.epochs if epoch not in self.epochs]
        self.is_lost |= later.is_lost


@attrs.define
class Client:
    """The process of a client, from the side of the campaign."""

    process: subprocess.Popen[bytes]

    def begin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"b")
        self.process.stdin.flush()

    def cease(self) -> Asked:
        """Return what the client has seen since ``begin``. Raises AssertionError if its process does not respond."""
        self.begin()
        assert self.process.stdout is not None
        line = bytearray()
        while not line.endswith(b"\n"):
            assert select.select([self.process.stdout], [], [], 2 * PATIENCE_S)[0], "the client does not respond"
            chunk = os.read(self.process.stdout.fileno(), 1 << 20)
            assert chunk, "the client ended"
            line += chunk
        return Asked(**json.loads(line))


@contextlib.contextmanager
def running_client(address: Address, kind: str, pause_s: float = PAUSE_S) -> Iterator[Client]:
    """Start a client of ``REQUESTS``, which does not ask yet. The end of the block ends it."""
    command = [sys.executable, "-m", "tests.abuse.client", address[0], str(address[1]), kind, str(pause_s)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, env=environment(), bufsize=0, **pipes) as process:
        try:
            yield Client(process)
        finally:
            process.kill()


# Within the process of the client.


def main(host: str, port: str, kind: str, pause_s: str) -> int:
    gc.disable()
    connection: socket.socket | None = None
    while os.read(0, 1):
        asked = Asked()
        try:
            connection = connection or _connected((host, int(port)))
            _ask_until_told(connection, kind, float(pause_s), asked)
        except (OSError, AssertionError):
            asked.is_lost, connection = True, None
        if not os.read(0, 1):
            break
        print(json.dumps(attrs.asdict(asked)), flush=True)
    return 0


def _connected(address: Address) -> socket.socket:
    connection = socket.create_connection(address, timeout=PATIENCE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _ask_until_told(connection: socket.socket, kind: str, pause_s: float, asked: Asked) -> None:
    requests = REQUESTS[kind]()
    client = Neighbour(connection)
    told = False
    while not told:
        for request, version in requests:
            began = time.perf_counter()
            try:
                response = client.ask(request, version)
            finally:
                asked.waits.append(time.perf_counter() - began)
            if isinstance(response, DescribeQuorumResponse) and (epoch := quorum_epoch(response)) not in asked.epochs:
                asked.epochs.append(epoch)
            if isinstance(response, ProduceResponse):
                assert not response.responses[0].partition_responses[0].error_code
            told = bool(select.select([0], [], [], pause_s)[0])


def quorum_epoch(response: DescribeQuorumResponse) -> int:
    """The epoch of the quorum; -1 if the controller does not lead."""
    partitions = response.topics[0].partitions if response.topics else []
    return -1 if response.error_code or not partitions or partitions[0].error_code else int(partitions[0].leader_epoch)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
