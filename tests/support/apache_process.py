"""Apache Kafka as a child process: one combined node, formatted at the metadata level that our own node has."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.fetchers import apache_kafka, require
from tests.support.node_process import NodeProcess

RELEASE = "3.9-IV0"
START_TIMEOUT_S = 60.0
POLL_S = 0.05


@contextlib.contextmanager
def running_apache(version: str, directory: Path, settings: dict[str, str]) -> Iterator[str]:
    """Its ``host:port``, from when it accepts connections until the block ends.

    Raises:
        RuntimeError: it ended, or opened no port within ``START_TIMEOUT_S``.
    """
    java = [require("java"), "-Xmx512M", "-XX:TieredStopAtLevel=1", "-cp", f"{apache_kafka(version)}/*"]
    node = NodeProcess(directory, settings)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "server.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in node.properties().items()))
    form = ["format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(path), "--release-version", RELEASE]
    subprocess.run([*java, "kafka.tools.StorageTool", *form], check=True, capture_output=True, timeout=START_TIMEOUT_S)
    with (directory / "output.txt").open("wb") as output:
        process = subprocess.Popen([*java, "kafka.Kafka", str(path)], cwd=directory, stdout=output, stderr=output)
    try:
        _wait_for_port(node.ports[0], process)
        yield node.bootstrap_servers
    finally:
        process.kill()
        process.wait()


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Apache opens the listener of its clients as its last step, once it is registered and unfenced."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(POLL_S)
        else:
            return
    raise RuntimeError("Apache Kafka did not start; see output.txt in its directory")
