"""``python -m tests.abuse.sums``: the memory of a node that many connections use up together.

Each connection sends one kind of request, and then neither reads nor closes. The table has the resident memory of the
node before that, and at its height.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import attrs

from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tests.abuse.attack import whole
from tests.abuse.campaign import neighbour
from tests.abuse.client import PATIENCE_S
from tests.abuse.target import Target, running_target
from tests.fuzz.strike import NEIGHBOUR_TOPIC, Neighbour
from tests.support.node_process import OURS

CONNECTIONS = 200
TOPIC, PARTITIONS = "wide", 5_000
UNREAD = 3
"""Requests on one connection. Its first response fills the buffers of both sockets."""
NAMED = 20_000
RECEIVE_BUFFER_BYTES = 4096
QUIET_S, QUIET_MIB = 5.0, 2


@attrs.frozen
class Sum:
    """The frames of each connection, and the state of the node that they need."""

    frames: Callable[[], Iterator[bytes]]
    prepare: Callable[[Neighbour], None] = lambda friend: None


def wide_topic(friend: Neighbour) -> None:
    friend.ask(CreateTopicsRequest(topics=[CreatableTopic(TOPIC, PARTITIONS, 1)], timeout_ms=60_000), 6)


def unread_metadata() -> Iterator[bytes]:
    """The metadata of a topic with thousands of partitions."""
    return whole(MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)]), 9, UNREAD)


def parked_fetch() -> Iterator[bytes]:
    """A long poll that names a partition again and again."""
    partitions = [FetchPartition(0, partition_max_bytes=1)] * NAMED
    topic = FetchTopic(NEIGHBOUR_TOPIC, partitions=partitions)
    return whole(FetchRequest(topics=[topic], max_wait_ms=600_000, min_bytes=1 << 30, isolation_level=0), 11)


def fetch_session() -> Iterator[bytes]:
    """A session for partitions that do not exist. Its response comes at once."""
    partitions = [FetchPartition(index, partition_max_bytes=1) for index in range(NAMED)]
    topic = FetchTopic("nowhere", partitions=partitions)
    return whole(FetchRequest(topics=[topic], max_wait_ms=1, session_id=0, session_epoch=0), 11)


SUMS: Mapping[str, Sum] = {
    f"Metadata of {PARTITIONS:,} partitions, {UNREAD} times, unread": Sum(unread_metadata, wide_topic),
    f"a parked Fetch that names {NAMED:,} partitions": Sum(parked_fetch),
    f"a fetch session of {NAMED:,} partitions": Sum(fetch_session),
}


def measure(target: Target, total: Sum, connections: int) -> tuple[int, int]:
    """Return the resident memory in MiB before and at its height."""
    with neighbour(target.address) as friend, contextlib.ExitStack() as open_sockets:
        friend.prepare()
        total.prepare(friend)
        frames = b"".join(total.frames())
        friend.live()
        before = target.resident_mib()
        for _ in range(connections):
            peer = open_sockets.enter_context(socket.socket())
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            peer.settimeout(PATIENCE_S)
            peer.connect(target.address)
            peer.sendall(frames)
        settled(target)
        friend.live()
        return before, target.resident_mib("VmHWM")


def settled(target: Target) -> None:
    """Wait until the node's memory has not grown for a while."""
    highest, since = 0, time.monotonic()
    while time.monotonic() - since < QUIET_S:
        time.sleep(0.2)
        now = target.resident_mib()
        if now > highest + QUIET_MIB:
            highest, since = now, time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.abuse.sums", description="Use up the memory of a node.")
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--only", default="", help="the sums whose name has this text")
    options = parser.parse_args()
    print("| on each connection | connections | MiB before | MiB at most |\n|---|---|---|---|")
    for name, total in SUMS.items():
        if options.only in name:
            with tempfile.TemporaryDirectory(prefix="kraft-sums-") as directory:
                with running_target(Path(directory), OURS, 1) as target:
                    before, most = measure(target, total, options.connections)
            print(f"| {name} | {options.connections} | {before} | {most} |", flush=True)


if __name__ == "__main__":
    main()
