"""A real ZooKeeper, from the jars of Apache Kafka 3.9."""

from __future__ import annotations

import attrs

from tests.support.apache_process import APACHE_3
from tests.support.node_process import Kind, NodeProcess, free_ports


@attrs.frozen
class ZooKeeperServer:
    """``ZooKeeperServerMain``: a single server with its data on disk."""

    ready_mark: str = "binding to port"
    ready_timeout_s: float = 60.0

    def format_command(self, properties: object) -> list[str]:
        raise AssertionError("a ZooKeeper is not formatted")

    def run_command(self, properties: object) -> list[str]:
        return APACHE_3.java("org.apache.zookeeper.server.ZooKeeperServerMain", str(properties))


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
