"""Our node and Apache Kafka side by side, with the same settings, for as long as the scenarios run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential.pair import Pair
from tests.support.apache_process import APACHE_4
from tests.support.node_process import NodeProcess

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}


def _port(bootstrap_servers: str) -> int:
    return int(bootstrap_servers.rpartition(":")[2])


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    node = NodeProcess(tmp_path_factory.mktemp("ours") / "1", SETTINGS)
    try:
        yield _port(node.start().bootstrap_servers)
        assert node.process is not None
        assert node.process.poll() is None, "the node did not survive:\n" + "".join(node.output)
    finally:
        node.kill()


@pytest.fixture(scope="session")
def newest(ours: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Beside the newest Apache Kafka: every version that both offer."""
    apache = NodeProcess(tmp_path_factory.mktemp("newest") / "1", SETTINGS, kind=APACHE_4)
    try:
        yield Pair.of(_port(apache.start().bootstrap_servers), ours)
    finally:
        apache.kill()
