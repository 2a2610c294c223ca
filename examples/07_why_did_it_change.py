"""Why did the controller change? Three processes, one of them paused for a while, and their journals.

The leader is paused (SIGSTOP), as by a long garbage collection or a laptop that sleeps. The others elect a new one.
When it continues, its state is still Leader, until the first response has the newer epoch.
"""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS_TO_AN_ELECTION = 30


def kraft(*arguments: str) -> str:
    """Return the output of a ``kraft`` command."""
    command = [sys.executable, "-m", "kraft", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def free_ports(count: int) -> list[int]:
    """Return ports outside the ephemeral range, since the nodes listen on them only later."""
    ports: set[int] = set()
    while len(ports) < count:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError):
            socket.create_server(("127.0.0.1", port)).close()
            ports.add(port)
    return list(ports)


def start(directory: Path, node_id: int, ports: list[int]) -> subprocess.Popen[bytes]:
    """Format and start one controller."""
    settings = directory / f"{node_id}.properties"
    settings.write_text(
        f"process.roles=controller\nnode.id={node_id}\nlog.dirs={directory / str(node_id)}\n"
        f"listeners=CONTROLLER://127.0.0.1:{ports[node_id - 1]}\ncontroller.listener.names=CONTROLLER\n"
        f"controller.quorum.voters={','.join(f'{n}@127.0.0.1:{port}' for n, port in enumerate(ports, 1))}\n"
    )
    kraft("storage", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(settings))
    command = [sys.executable, "-m", "kraft.node", str(settings)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def wait_until_ready(node: subprocess.Popen[bytes]) -> None:
    """Wait for the line that the node prints when it listens."""
    assert node.stdout is not None
    if not node.stdout.readline().startswith(b"ready"):
        raise RuntimeError(f"a node did not start: exit status {node.wait()}")


def story(directory: Path) -> list[str]:
    """Return the output of ``kraft quorum explain`` on all three."""
    return kraft("quorum", "explain", *(str(directory / str(node_id)) for node_id in (1, 2, 3))).splitlines()


def wait_for(directory: Path, words: str, times: int = 1) -> str:
    """Wait until a line of the timeline has a star and these words. Return the last such line."""
    deadline = time.monotonic() + SECONDS_TO_AN_ELECTION
    while time.monotonic() < deadline:
        lines = [line for line in story(directory) if " * " in line and words in line]
        if len(lines) >= times:
            return lines[times - 1]
        time.sleep(0.5)
    raise TimeoutError(f"nobody {words}")


def main(directory: Path) -> None:
    ports = free_ports(3)
    nodes = {node_id: start(directory, node_id, ports) for node_id in (1, 2, 3)}
    try:
        for node in nodes.values():
            wait_until_ready(node)
        leader = int(wait_for(directory, "leads epoch").split(" node ")[1].split()[0])
        nodes[leader].send_signal(signal.SIGSTOP)
        wait_for(directory, "leads epoch", times=2)
        nodes[leader].send_signal(signal.SIGCONT)
        wait_for(directory, f" node {leader} ", times=2)
        print("\n".join(story(directory)))
    finally:
        for node in nodes.values():
            node.kill()
            node.communicate()


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
    main(Path(scratch))
