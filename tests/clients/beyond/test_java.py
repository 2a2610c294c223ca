"""The Java client, unmodified: the newest version, and the last one that also supported Kafka with ZooKeeper."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.beyond.driver import Run, each_feature, run_driver
from tests.support.fetchers import APACHE_KAFKA, APACHE_KAFKA_WITH_ZOOKEEPER, QUICK_JVM, apache_kafka, java_client

pytestmark = pytest.mark.interop

DRIVER = Path(__file__).parent / "java" / "Driver.java"
JARS = {
    f"Java client {APACHE_KAFKA}": lambda: apache_kafka(APACHE_KAFKA),
    f"Java client {APACHE_KAFKA_WITH_ZOOKEEPER}": lambda: java_client(APACHE_KAFKA_WITH_ZOOKEEPER),
}
EXTRAS = (
    "log-append-time",
    "reset-out-of-range",
    "group-rebalance-cooperative",
    "alter-group-offsets",
    "group-protocol-consumer",
    "describe-features",
    "describe-log-dirs",
    "describe-producers",
    "refuse-unknown-topic-id",
)


@pytest.fixture(scope="module")
def driven(bootstrap_servers: str, tool: Callable[[str], str]) -> Callable[[str], Run]:
    """Return the driver's results with this client; the first call runs it."""

    @functools.cache
    def run(client_name: str) -> Run:
        classpath = f"{JARS[client_name]()}/*"
        prefix = f"java-{uuid.uuid4().hex[:8]}"
        return run_driver([tool("java"), *QUICK_JVM, "-cp", classpath, str(DRIVER), bootstrap_servers, prefix])

    return run


@each_feature(JARS, EXTRAS)
def test_java_client(driven: Callable[[str], Run], client_name: str, feature: str) -> None:
    driven(client_name).expect(feature)
