"""A real ZooKeeper, from the jars of Apache Kafka 3.9."""

from __future__ import annotations

import contextlib
import socket
import struct
from pathlib import Path

import attrs
from kazoo.protocol.serialization import Close, Connect

from tests.support.apache_process import APACHE_3
from tests.support.eventually import eventually
from tests.support.node_process import Kind, NodeProcess, free_ports

READY_TIMEOUT_S = 60.0


@attrs.frozen
class ZooKeeperServer:
    """``ZooKeeperServerMain``: a single server with its data on disk. ``QuorumPeerMain``: one of an ensemble."""

    main_class: str = "org.apache.zookeeper.server.ZooKeeperServerMain"
    ready_mark: str = "binding to port"
    ready_timeout_s: float = READY_TIMEOUT_S

    def format_command(self, properties: object) -> list[str]:
        raise AssertionError("a ZooKeeper is not formatted")

    def run_command(self, properties: object) -> list[str]:
        return APACHE_3.java(self.main_class, str(properties))


ENSEMBLE_SERVER: Kind = ZooKeeperServer("org.apache.zookeeper.server.quorum.QuorumPeerMain")


@attrs.define
class ZooKeeperProcess(NodeProcess):
    """One server. It makes its directory at its first start."""

    kind: Kind = attrs.Factory(ZooKeeperServer)
    ports: list[int] = attrs.Factory(lambda: free_ports(1))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    def format(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.properties_path.write_text("".join(f"{key}={value}\n" for key, value in self.properties().items()))

    def properties(self) -> dict[str, str]:
        return {
            "dataDir": str(self.directory / "data"),
            "clientPort": str(self.ports[0]),
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "tickTime": "500",
            "maxClientCnxns": "0",
            **self.settings,
        }


@attrs.define
class ZooKeeperEnsemble:
    """Several servers, which elect a leader. Stands where one server does in a cluster of brokers."""

    servers: list[ZooKeeperProcess]

    @classmethod
    def of(cls, directory: Path, size: int) -> ZooKeeperEnsemble:
        ports = [free_ports(3) for _ in range(size)]
        members = {
            f"server.{number}": f"127.0.0.1:{peer}:{election}" for number, (_, peer, election) in enumerate(ports, 1)
        }
        servers = []
        for number, own in enumerate(ports, 1):
            settings = {**members, "initLimit": "20", "syncLimit": "10", "4lw.commands.whitelist": "srvr"}
            server = ZooKeeperProcess(directory / f"zookeeper-{number}", settings, kind=ENSEMBLE_SERVER, ports=own)
            data = server.directory / "data"
            data.mkdir(parents=True)
            (data / "myid").write_text(str(number))
            servers.append(server)
        return cls(servers)

    @property
    def address(self) -> str:
        return ",".join(server.address for server in self.servers)

    def start(self) -> None:
        for server in self.servers:
            server.launch()
        eventually(lambda: self.leader() is not None, READY_TIMEOUT_S)

    def kill(self) -> None:
        for server in self.servers:
            server.kill()

    def leader(self) -> ZooKeeperProcess | None:
        """The server that leads, by its own words."""
        return next((server for server in self.servers if server.is_running and "Mode: leader" in mode(server)), None)


_CONNECTED = struct.Struct(">iii")
"""The beginning of the response to Connect: length, protocol version, session timeout (ms)."""


def end_session(address: str, identity: tuple[int, bytes]) -> None:
    """Expire a session for its owner: continue it from another connection and close it there.

    Both requests are sent at once. On a busy machine the owner, which connects again, may still continue it in between;
    so this is repeated until the server does not know the session.
    """
    eventually(lambda: not _close_from_elsewhere(address, identity))


def _close_from_elsewhere(address: str, identity: tuple[int, bytes]) -> bool:
    """Whether the server knew the session. ZooKeeper answers Connect for an expired one with a timeout of 0."""
    session_id, password = identity
    connect = Connect(0, 0, 4_000, session_id, password, False).serialize()
    close = struct.pack(">ii", 1, Close.type)
    host, _, port = address.partition(":")
    received = b""
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 5.0) as connection:
        connection.sendall(b"".join(struct.pack(">i", len(each)) + each for each in (connect, close)))
        while chunk := connection.recv(4_096):
            received += chunk
    if len(received) < _CONNECTED.size:
        return True  # closed before its answer
    _, _, timeout_ms = _CONNECTED.unpack_from(received)
    return bool(timeout_ms)


def mode(server: ZooKeeperProcess) -> str:
    """The server's answer to the command ``srvr``; nothing if there is none."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.ports[0]), 5.0) as connection:
        connection.sendall(b"srvr")
        with connection.makefile(errors="replace") as lines:
            return lines.read()
    return ""
