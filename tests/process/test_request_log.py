"""The request log of a node that is killed: every complete file has whole lines, and no line is there twice."""

from __future__ import annotations

import json
import socket
import struct
from pathlib import Path
from typing import Any

from kraft.request_log.files import OPEN_SUFFIX
from tests.bench.peers import METADATA_FRAME
from tests.support.eventually import eventually
from tests.support.node_process import NodeProcess, running_node

KILLS = 3
REQUESTS = 400


def request_until(node: NodeProcess, directory: Path, files: int) -> None:
    """Send Metadata requests until the node has so many complete files, and some requests more."""
    with socket.create_connection(("127.0.0.1", node.ports[0]), timeout=30) as connection:

        def ask() -> None:
            connection.sendall(METADATA_FRAME)
            (length,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
            connection.recv(length, socket.MSG_WAITALL)

        def enough() -> bool:
            for _ in range(REQUESTS):
                ask()
            return len(list(directory.glob("*.jsonl"))) >= files

        eventually(enough, 60)
        for _ in range(REQUESTS):
            ask()


def read(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    assert data.endswith(b"\n"), path
    return [json.loads(line) for line in data.splitlines()]


def test_kill_9_leaves_whole_lines_and_complete_files(tmp_path: Path) -> None:
    """The next start completes the file that a killed node left open; a kill loses the end of a start's lines only."""
    directory = tmp_path / "log"
    settings = {
        "kraft_request_log": "file",
        "kraft_request_log_sample": "1",
        "kraft_request_log_roll_ms": "300",
        "kraft_request_log_dir": str(directory),
    }
    with running_node(tmp_path / "1", **settings) as node:
        for _ in range(KILLS):
            request_until(node, directory, len(list(directory.glob("*.jsonl"))) + 1)
            node.kill()
            node.start()
        assert node.stop() == 0
    assert not list(directory.glob(f"*{OPEN_SUFFIX}"))
    by_start: dict[int, list[int]] = {}
    for path in sorted(directory.glob("*.jsonl")):
        for line in read(path):
            by_start.setdefault(line["start"], []).append(line["seq"])
    assert len(by_start) == KILLS + 1
    for seen in by_start.values():
        assert seen == list(range(len(seen)))
    assert min(map(len, list(by_start.values())[:-1])) > REQUESTS
