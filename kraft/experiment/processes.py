"""The processes of an experiment: ZooKeeper, and nodes of this project and of Apache Kafka.

Apache's programs come from one directory of jars: the ``libs`` of an installation of Apache Kafka 3.9, or any other
directory with the same jars. They contain ZooKeeper, too.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import trio

READY_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 60.0
_POLL_S = 0.05
_SHOWN_LINES = 20

ZOOKEEPER_READY = re.compile(rb"binding to port")
APACHE_READY = re.compile(rb"\[KafkaServer id=\d+\] started|Kafka Server started")
KRAFT_READY = re.compile(rb"^ready ", re.MULTILINE)

LOG4J = """\
log4j.rootLogger=INFO, stdout
log4j.logger.org.apache.zookeeper=WARN
log4j.logger.kafka.request.logger=DEBUG, requests
log4j.additivity.kafka.request.logger=false
log4j.logger.state.change.logger=WARN
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=%d{ISO8601} %p %c: %m%n
log4j.appender.requests=org.apache.log4j.FileAppender
log4j.appender.requests.File=${kraft.requests}
log4j.appender.requests.layout=org.apache.log4j.PatternLayout
log4j.appender.requests.layout.ConversionPattern=%d{yyyy-MM-dd'T'HH:mm:ss.SSS}Z %m%n
log4j.appender.requests.filter.1=org.apache.log4j.varia.StringMatchFilter
log4j.appender.requests.filter.1.StringToMatch="requestApiKeyName":"LEADER_AND_ISR"
log4j.appender.requests.filter.2=org.apache.log4j.varia.StringMatchFilter
log4j.appender.requests.filter.2.StringToMatch="requestApiKeyName":"UPDATE_METADATA"
log4j.appender.requests.filter.3=org.apache.log4j.varia.StringMatchFilter
log4j.appender.requests.filter.3.StringToMatch="requestApiKeyName":"STOP_REPLICA"
log4j.appender.requests.filter.4=org.apache.log4j.varia.DenyAllFilter
"""
"""Log4j 1, as Apache Kafka 3.9 has it. Only the controller's requests are written: an INFO line of every Produce would
cost more than the Produce."""


class CannotStart(Exception):
    """A process of the experiment did not become ready; the message has its last lines."""


def free_ports(count: int) -> list[int]:
    """Return unused loopback ports."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def java(jars: Path, main_class: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """Return the command that runs a class of these jars.

    Raises CannotStart if no Java is installed, or the directory has no jar.
    """
    program = shutil.which("java")
    if program is None:
        raise CannotStart("Apache Kafka needs Java: no `java` is on PATH")
    if not any(jars.glob("*.jar")):
        raise CannotStart(f"{jars} has no jars; give the directory `libs` of an Apache Kafka 3.9")
    return [
        program,
        "-Duser.timezone=UTC",
        "-XX:+UseSerialGC",
        "-Xmx512m",
        *options,
        "-cp",
        f"{jars}/*",
        main_class,
        *arguments,
    ]


def write_properties(path: Path, properties: Mapping[str, object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    return path


@attrs.define
class NodeProcess:
    """A program in a directory of its own, where its output goes."""

    name: str
    directory: Path
    command: Sequence[str]
    ready: re.Pattern[bytes]
    _process: trio.Process | None = attrs.field(default=None, init=False)

    @property
    def output(self) -> Path:
        return self.directory / "output.txt"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @asynccontextmanager
    async def running(self) -> AsyncIterator[NodeProcess]:
        """Start the program, wait until it is ready, and stop it at the end of the block: with SIGTERM, and with
        SIGKILL if it does not end in time.

        Raises CannotStart if it ended, or was not ready within ``READY_TIMEOUT_S``.
        """
        try:
            await self.start()
            yield self
        finally:
            with trio.move_on_after(STOP_TIMEOUT_S + 10, shield=True):
                await self.stop()

    async def start(self) -> None:
        """Start the program and wait until it is ready. Raises CannotStart."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with self.output.open("ab") as output:
            begin = output.tell()
            self._process = await trio.lowlevel.open_process(
                list(self.command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.directory,
                start_new_session=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        with trio.move_on_after(READY_TIMEOUT_S):
            while self.is_running:
                if self.ready.search(self.output.read_bytes(), begin):
                    return
                await trio.sleep(_POLL_S)
        await self.kill()
        last = self.output.read_text(errors="replace").splitlines()[-_SHOWN_LINES:]
        raise CannotStart("\n".join([f"{self.name} did not become ready:", *last]))

    async def stop(self) -> None:
        """SIGTERM, the controlled stop; SIGKILL after ``STOP_TIMEOUT_S``."""
        if self._process is not None and self.is_running:
            self._process.send_signal(signal.SIGTERM)
            with trio.move_on_after(STOP_TIMEOUT_S):
                await self._process.wait()
            await self.kill()

    async def kill(self) -> None:
        """SIGKILL: the power cord."""
        if self._process is not None and self.is_running:
            self._process.kill()
            await self._process.wait()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None


def zookeeper(directory: Path, jars: Path, port: int) -> NodeProcess:
    """Return a ZooKeeper server that listens on ``port``."""
    properties = write_properties(
        directory / "zoo.cfg",
        {
            "dataDir": directory / "data",
            "clientPort": port,
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "tickTime": 500,
            "maxClientCnxns": 0,
        },
    )
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    options = _log4j(directory, LOG4J.replace("org.apache.zookeeper=WARN", "org.apache.zookeeper=INFO"))
    return NodeProcess("ZooKeeper", directory, java(jars, main, str(properties), options=options), ZOOKEEPER_READY)


def _log4j(directory: Path, text: str) -> list[str]:
    """Write a configuration of log4j; return the options of the JVM for it."""
    path = directory / "log4j.properties"
    path.write_text(text)
    return [f"-Dlog4j.configuration=file:{path}", f"-Dkraft.requests={directory / 'requests.log'}"]


def apache_node(directory: Path, jars: Path, properties: Mapping[str, object]) -> NodeProcess:
    """Return a node of Apache Kafka. It writes the controller's requests to ``requests.log`` in its directory."""
    path = write_properties(directory / "server.properties", properties)
    options = _log4j(directory, LOG4J)
    return NodeProcess("Apache Kafka", directory, java(jars, "kafka.Kafka", str(path), options=options), APACHE_READY)


def format_command(jars: Path, properties: Path, cluster_id: str, release: str, *, is_ours: bool) -> list[str]:
    """Return the command that formats the directory of a node of a quorum."""
    arguments = ["format", "-t", cluster_id, "-c", str(properties), "--release-version", release]
    if is_ours:
        return [sys.executable, "-m", "kraft", "storage", *arguments]
    return java(jars, "kafka.tools.StorageTool", *arguments)


def kraft_node(directory: Path, properties: Mapping[str, object]) -> NodeProcess:
    """Return a node of this project. It writes its requests, and the rounds of its event loop, below its directory."""
    logged = {
        "kraft.request.log": "file",
        "kraft.request.log.dir": directory / "requests",
        "kraft.request.log.sample": 1.0,
        "kraft.request.log.retention.bytes": 2**34,
    }
    path = write_properties(directory / "server.properties", {**properties, **logged})
    command = [sys.executable, "-m", "kraft.experiment.watched_node", str(directory / "rounds.json"), str(path)]
    return NodeProcess("kraft", directory, command, KRAFT_READY)
