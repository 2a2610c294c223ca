"""The Java client, unmodified: the newest version, and the last one that also supported Kafka with ZooKeeper."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.beyond.driver import Run, each_feature, run_driver
from tests.clients.features import not_offered
from tests.support.fetchers import APACHE_KAFKA, APACHE_KAFKA_WITH_ZOOKEEPER, QUICK_JVM, apache_kafka, java_client

pytestmark = pytest.mark.interop

DRIVER = Path(__file__).parent / "java" / "Driver.java"
SHARE = DRIVER.with_name("Share.java")
JARS = {
    f"Java client {APACHE_KAFKA}": lambda: apache_kafka(APACHE_KAFKA),
    f"Java client {APACHE_KAFKA_WITH_ZOOKEEPER}": lambda: java_client(APACHE_KAFKA_WITH_ZOOKEEPER),
}
LACKS = {(f"Java client {APACHE_KAFKA_WITH_ZOOKEEPER}", "share-consumer"): "there is no share consumer before 4.0"}
EXTRAS = (
    "log-append-time",
    "reset-out-of-range",
    "group-rebalance-cooperative",
    "alter-group-offsets",
    "describe-features",
    "describe-log-dirs",
    "describe-producers",
    "refuse-unknown-topic-id",
)


@pytest.fixture(scope="module")
def driven(bootstrap_servers: str, tool: Callable[[str], str]) -> Callable[[str, Path], Run]:
    """Return the drivers' results with this client; the first call runs them."""

    @functools.cache
    def run(client_name: str, driver: Path) -> Run:
        classpath = f"{JARS[client_name]()}/*"
        prefix = f"java-{uuid.uuid4().hex[:8]}"
        return run_driver([tool("java"), *QUICK_JVM, "-cp", classpath, str(driver), bootstrap_servers, prefix])

    return run


@each_feature(JARS, EXTRAS)
def test_java_client(driven: Callable[[str, Path], Run], client_name: str, feature: str) -> None:
    if (client_name, feature) in LACKS:
        not_offered(LACKS[client_name, feature])
    driven(client_name, SHARE if feature == "share-consumer" else DRIVER).expect(feature)
