"""A real node in a process of its own: started, paused, killed and started again on the same directory.

What runs there is a *kind*: the node of this project (`OURS`), or Apache Kafka (`tests.support.apache_process`).
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import attrs

from tests.support.cluster_id import CLUSTER_ID
from tests.support.eventually import eventually

ROOT = Path(__file__).parents[2]
RELEASE = "3.9-IV0"
"""The metadata.version that directories are formatted with: the newest that both lines of Apache Kafka take."""

FORMAT_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
_EPHEMERAL_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
PORTS = range(10_000, int(_EPHEMERAL_PORTS.read_text().split()[0]) if _EPHEMERAL_PORTS.exists() else 32_768)
"""Below those that the kernel gives to outgoing connections: else a client that tries to reach a node that is down
could be given the node's own port, connect to itself, and keep the node from coming back."""
KEPT_PORTS = 256
_SETPRIV = shutil.which("setpriv")
# The kernel ends a node whose test was ended by kill -9, or by a time limit that does not unwind the stack.
_WITH_ITS_PARENT = [_SETPRIV, "--pdeathsig", "KILL", "--"] if _SETPRIV else []


class Kind(Protocol):
    """Software that a node can run."""

    ready_mark: str
    """The node has started once a line matches this regular expression, in which ``^`` begins a line."""
    ready_timeout_s: float

    def format_command(self, properties: Path) -> list[str]: ...
    def run_command(self, properties: Path) -> list[str]: ...


@attrs.frozen
class Ours:
    """``python -m kraft.node``, or another module that runs a node in the same way."""

    module: str = "kraft.node"
    release: str = RELEASE
    ready_mark: str = "^ready "
    ready_timeout_s: float = 90.0  # as Apache's: 1 s of CPU time takes 30 s on a busy machine

    def format_command(self, properties: Path) -> list[str]:
        form = ["storage", "format", "-t", CLUSTER_ID, "-c", str(properties), "--release-version", self.release]
        return [sys.executable, "-m", "kraft", *form]

    def run_command(self, properties: Path) -> list[str]:
        return [sys.executable, "-m", self.module, str(properties)]


OURS = Ours()

_kept: deque[socket.socket] = deque()


def free_ports(count: int) -> list[int]:
    """Return unused loopback ports that no test got lately, in any process.

    A datagram socket of the same number reserves a port until its node listens; no node needs such a socket.
    """
    chance = random.SystemRandom()
    ports: list[int] = []
    while len(ports) < count:
        address = "127.0.0.1", chance.choice(PORTS)
        with contextlib.suppress(OSError):
            with socket.socket() as listener:
                listener.bind(address)
            _kept.append(socket.socket(type=socket.SOCK_DGRAM))
            _kept[-1].bind(address)
            ports.append(address[1])
    while len(_kept) > max(count, KEPT_PORTS):
        _kept.popleft().close()
    return ports


def environment() -> dict[str, str]:
    """For a child that runs the code of this checkout, from whatever directory, and keeps its bytecode."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **inherited,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "PYTHONUNBUFFERED": "1",
    }


@attrs.define
class NodeProcess:
    """One node, which may run or not. By default it is a cluster of its own: broker and controller.

    Resource handling: a process group of its own; ``kill`` ends all its processes, and may always be called.
    """

    directory: Path
    settings: Mapping[str, str] = attrs.Factory(dict)
    ports: list[int] = attrs.Factory(lambda: free_ports(2))
    """Of its clients and of the controllers."""
    kind: Kind = OURS
    open_files: int | None = None
    """The hard limit of its open files; None: that of this process."""
    process: subprocess.Popen[bytes] | None = None
    is_paused: bool = False
    _output_before: int = 0

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    @property
    def controller_address(self) -> str:
        return f"127.0.0.1:{self.ports[1]}"

    @property
    def log_directory(self) -> Path:
        return self.directory / "data"

    @property
    def properties_path(self) -> Path:
        return self.directory / "server.properties"

    @property
    def output_path(self) -> Path:
        """Its output over all its starts."""
        return self.directory / "output.txt"

    @property
    def output(self) -> list[str]:
        """The lines that it printed, over all its starts."""
        if not self.output_path.exists():
            return []
        return self.output_path.read_text(errors="replace").splitlines(keepends=True)

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

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
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **self.settings,
        }

    def format(self) -> None:
        """Write the properties, and format the directory with the tool of its kind if it is not yet formatted."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.properties_path.write_text("".join(f"{key}={value}\n" for key, value in self.properties().items()))
        if not (self.log_directory / "meta.properties").exists():
            command = self.kind.format_command(self.properties_path)
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=FORMAT_TIMEOUT_S, env=environment(), check=False
            )
            assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"

    def launch(self) -> None:
        """Start the process, and do not wait for it; ``wait_ready`` does."""
        assert not self.is_running
        self.format()
        self._output_before = self.output_path.stat().st_size if self.output_path.exists() else 0
        with self.output_path.open("ab") as output:
            self.process = subprocess.Popen(
                [*_WITH_ITS_PARENT, *self.kind.run_command(self.properties_path)],
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment(),
                start_new_session=True,
                preexec_fn=self._limit_open_files,
            )
        self.is_paused = False

    def _limit_open_files(self) -> None:
        if self.open_files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.open_files, self.open_files))

    def wait_ready(self) -> None:
        """Wait for the line that the node prints after its start.

        Raises:
            RuntimeError: the process ended, or did not print the line within the time of its kind; it has the output.
        """
        with contextlib.suppress(AssertionError):
            eventually(lambda: self._said_ready() or not self.is_running, self.kind.ready_timeout_s)
        if not (self.is_running and self._said_ready()):
            self.kill()
            raise RuntimeError("the node did not become ready:\n" + "".join(self.output))

    def _said_ready(self) -> bool:
        with self.output_path.open("rb") as output:
            output.seek(self._output_before)
            return re.search(self.kind.ready_mark.encode(), output.read(), re.MULTILINE) is not None

    def start(self) -> NodeProcess:
        """``launch`` and ``wait_ready``."""
        self.launch()
        self.wait_ready()
        return self

    def pause(self) -> None:
        """SIGSTOP: the process keeps its sockets and its memory. Returns once all of its threads have stopped."""
        self.signal(signal.SIGSTOP)
        assert self.process is not None
        # The threads of a JVM go on for some milliseconds, and longer on a busy machine: enough to respond once more.
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.is_paused = True

    def resume(self) -> None:
        self.signal(signal.SIGCONT)
        self.is_paused = False

    def limit_file_size(self, size: int | None) -> None:
        """From now on no write reaches beyond ``size`` bytes of a file (EFBIG), as on a full disk; None: no limit."""
        assert self.process is not None
        limit = resource.RLIM_INFINITY if size is None else size
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """Kill the process group with SIGKILL."""
        if self.is_running:
            assert self.process is not None
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.is_paused = False

    def stop(self) -> int:
        """SIGTERM, the controlled stop; the exit status."""
        self.signal(signal.SIGTERM)
        return self.wait_ended()

    def wait_ended(self) -> int:
        """Wait until the process has ended by itself, or by a signal; its exit status."""
        assert self.process is not None
        return self.process.wait(timeout=STOP_TIMEOUT_S)


@contextlib.contextmanager
def running_node(directory: Path, kind: Kind = OURS, **settings: str) -> Iterator[NodeProcess]:
    """Start a node. The end of the block kills it, also after an error. Settings: dots written as underscores."""
    node = NodeProcess(directory, {key.replace("_", "."): value for key, value in settings.items()}, kind=kind)
    try:
        yield node.start()
    finally:
        node.kill()
