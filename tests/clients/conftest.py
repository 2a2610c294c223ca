"""The cluster under test, and one adapter per client library."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.clients import aio, confluent, kafka_python
from tests.clients.adapter import Client
from tests.support.newer_groups import enable_newer_groups
from tests.support.node_process import running_node

QUICK_GROUPS = {
    f"group_{kind}_{setting}": "500"
    for kind in ("consumer", "share")
    for setting in ("heartbeat_interval_ms", "min_heartbeat_interval_ms")
}
ADAPTERS: dict[str, type[Client]] = {
    "confluent-kafka": confluent.Confluent,
    "kafka-python": kafka_python.KafkaPython,
    "aiokafka": aio.Aio,
}


@pytest.fixture(scope="session")
def bootstrap_servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The cluster under test: that of ``--bootstrap-servers``, or a node of ours for the whole session."""
    given: str | None = request.config.getoption("--bootstrap-servers")
    if given is not None:
        yield given
        return
    with running_node(tmp_path_factory.mktemp("node") / "1", **QUICK_GROUPS) as node:
        enable_newer_groups([node.bootstrap_servers])
        yield node.bootstrap_servers
        assert node.stop() == 0, "".join(node.output)


@pytest.fixture
def client(
    request: pytest.FixtureRequest, bootstrap_servers: str, record_property: Callable[[str, object], None]
) -> Iterator[Client]:
    adapter = ADAPTERS[request.param](bootstrap_servers)
    record_property("client_version", adapter.version())
    try:
        yield adapter
    finally:
        adapter.close()


@pytest.fixture
def fresh() -> Callable[[], str]:
    """Names that no other test has used: a call gives the next."""
    stem, numbers = uuid.uuid4().hex[:8], itertools.count()
    return lambda: f"t-{stem}-{next(numbers)}"


@pytest.fixture
def topic(fresh: Callable[[], str]) -> str:
    return fresh()


@pytest.fixture
def group(fresh: Callable[[], str]) -> str:
    return fresh()
