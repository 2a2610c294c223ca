"""The base of every test with a process: ports of its own, and a node that is ready when it prints its line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from tests.support import node_process
from tests.support.eventually import eventually
from tests.support.node_process import NodeProcess, Ours, environment, free_ports


@attrs.frozen
class _Says(Ours):
    """Prints a line, and stays."""

    line: str = ""
    ready_timeout_s: float = 60.0

    def run_command(self, properties: Path) -> list[str]:
        return [sys.executable, "-c", f"import time; print({self.line!r}, flush=True); time.sleep(60)"]


_CHILD = """
from tests.support import node_process
node_process.PORTS = node_process.PORTS[-100:]
print(*node_process.free_ports(20), flush=True)
input()
"""


def test_no_two_nodes_are_given_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process of the tests requests its own ports, and no node listens yet."""
    monkeypatch.setattr(node_process, "PORTS", node_process.PORTS[-100:])
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    )
    with child as other:
        assert other.stdout is not None
        theirs = [int(port) for port in other.stdout.readline().split()]
        mine = [port for _ in range(10) for port in free_ports(2)]
        other.communicate("\n", timeout=60)
    assert len({*mine, *theirs}) == 40
    assert other.returncode == 0


def test_a_node_is_ready_when_it_prints_its_line(tmp_path: Path) -> None:
    node = NodeProcess(tmp_path, kind=_Says(line="ready PLAINTEXT://127.0.0.1:9092"))
    try:
        node.start()
    finally:
        node.kill()


def test_a_port_that_is_taken_is_not_ready(tmp_path: Path) -> None:
    """The last word of a node that could not begin, while it has not ended yet."""
    line = "CONTROLLER://127.0.0.1:9093: Address already in use"
    node = NodeProcess(tmp_path, kind=_Says(line=line, ready_timeout_s=0.5))
    try:
        node.launch()
        eventually(lambda: "already in use" in "".join(node.output))
        with pytest.raises(RuntimeError, match="already in use"):
            node.wait_ready()
        assert not node.is_running
    finally:
        node.kill()
