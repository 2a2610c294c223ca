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


def request_until_rolled(node: NodeProcess, directory: Path, starts: int) -> int:
    """Send Metadata requests until the last of so many starts has a complete file, and some requests more.

    Return the lines that this start has in complete files.
    """
    with socket.create_connection(("127.0.0.1", node.ports[0]), timeout=30) as connection:

        def ask() -> None:
            connection.sendall(METADATA_FRAME)
            (length,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
            connection.recv(length, socket.MSG_WAITALL)

        def enough() -> bool:
            for _ in range(REQUESTS):
                ask()
            # A start completes the file of the one before, perhaps after the first of these requests.
            return len(complete_lines(directory)) >= starts

        eventually(enough, 60)
        for _ in range(REQUESTS):
            ask()
        by_start = complete_lines(directory)
        return len(by_start[max(by_start)])


def read(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    assert data.endswith(b"\n"), path
    return [json.loads(line) for line in data.splitlines()]


def complete_lines(directory: Path) -> dict[int, list[int]]:
    """Return the sequence numbers of the lines in complete files, by start."""
    by_start: dict[int, list[int]] = {}
    for path in sorted(directory.glob("*.jsonl")):
        for line in read(path):
            by_start.setdefault(line["start"], []).append(line["seq"])
    return by_start


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
        kept = []
        for starts in range(1, KILLS + 1):
            kept.append(request_until_rolled(node, directory, starts))
            node.kill()
            node.start()
        assert node.stop() == 0
    assert not list(directory.glob(f"*{OPEN_SUFFIX}"))
    by_start = complete_lines(directory)
    for seen in by_start.values():
        assert seen == list(range(len(seen)))
    *killed, _ = (len(by_start[start]) for start in sorted(by_start))
    assert len(killed) == KILLS
    assert all(found >= before > 0 for found, before in zip(killed, kept, strict=True)), (killed, kept)
