"""A real node in a process of its own: started, killed and started again on the same directory."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

READY_TIMEOUT_S = 30.0


def free_ports(count: int) -> list[int]:
    """Loopback ports that were free a moment ago, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@attrs.define
class NodeProcess:
    """``python -m kraft.node FILE`` as a child process. ``start`` returns once the node has printed its ready line."""

    directory: Path
    settings: Mapping[str, str] = attrs.Factory(dict)
    ports: list[int] = attrs.Factory(lambda: free_ports(2))
    process: subprocess.Popen[str] | None = None
    output: list[str] = attrs.Factory(list)

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    @property
    def log_directory(self) -> Path:
        return self.directory / "data"

    def properties(self) -> dict[str, str]:
        client, controller = self.ports
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "log.dirs": str(self.log_directory),
            "offsets.topic.replication.factor": "1",
            "group.initial.rebalance.delay.ms": "0",
            **self.settings,
        }

    def format(self) -> None:
        """``kraft storage format``, once."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / "server.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in self.properties().items()))
        if not (self.log_directory / "meta.properties").exists():
            command = [
                sys.executable,
                "-m",
                "kraft",
                "storage",
                "format",
                "-t",
                "MkU3OEVBNTcwNTJENDM2Qk",
                "-c",
                str(path),
            ]
            subprocess.run(command, check=True, capture_output=True, timeout=READY_TIMEOUT_S)

    def start(self) -> NodeProcess:
        """Start, and wait for the line that begins with ``ready``.

        Raises:
            RuntimeError: the process ended, or said nothing for ``READY_TIMEOUT_S``; with what it printed.
        """
        self.format()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kraft.node", str(self.directory / "server.properties")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        ready = threading.Event()
        threading.Thread(target=self._read, args=(self.process, ready), daemon=True).start()
        if not ready.wait(READY_TIMEOUT_S) or self.process.poll() is not None:
            self.kill()
            raise RuntimeError("the node did not become ready:\n" + "".join(self.output))
        return self

    def _read(self, process: subprocess.Popen[str], ready: threading.Event) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self.output.append(line)
                if line.startswith("ready"):
                    ready.set()
        ready.set()

    def kill(self) -> None:
        """``kill -9``: the power cord."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> int:
        """SIGTERM, the controlled stop; the exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=READY_TIMEOUT_S)


@contextlib.contextmanager
def running_node(directory: Path, **settings: str) -> Iterator[NodeProcess]:
    """A node that is gone, whatever happens, when the block ends. Settings: dots written as underscores."""
    node = NodeProcess(directory, {key.replace("_", "."): value for key, value in settings.items()})
    try:
        yield node.start()
    finally:
        node.kill()
