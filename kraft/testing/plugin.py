"""The pytest plugin: a Kafka cluster as a fixture, and a Spark session that knows Kafka.

``kraft_cluster`` is a running :class:`~kraft.testing.EmbeddedCluster` with ``bootstrap_servers``; each test gets its
own. It runs in its own thread, so synchronous tests, asyncio tests and Trio tests can use it. The marker ``kraft`` sets
its topics and settings::

    @pytest.mark.kraft(topics={"orders": 3}, settings={"auto.create.topics.enable": "false"})
    def test_orders(kraft_cluster):
        producer = KafkaProducer(bootstrap_servers=kraft_cluster.bootstrap_servers)

``kraft_shared_cluster`` is one cluster for the whole session, for tests that choose unique topic names.

``kraft_spark`` is one Spark session for the whole session, with the data sources of :mod:`kraft.spark`::

    def test_job(kraft_cluster, kraft_spark):
        options = {"kafka.bootstrap.servers": kraft_cluster.bootstrap_servers, "subscribe": "orders"}
        assert kraft_spark.read.format("kraft").options(**options).load().count() == 0

The ini option ``kraft_spark_settings`` has settings of Spark, one a line as ``spark.name=value``: packages, say, or
jars.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kraft.testing.embedded import EmbeddedCluster


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("kraft_spark_settings", "settings of the fixture kraft_spark, as spark.name=value", "linelist", [])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "kraft(topics=None, settings=None): what the fixture kraft_cluster starts with")


@pytest.fixture
def kraft_cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """A cluster of one node for this test alone.

    Raises UsageError for a mark with other arguments than ``topics`` and ``settings``, which are dictionaries or None.
    """
    from kraft.testing.embedded import EmbeddedCluster

    marker = request.node.get_closest_marker("kraft")
    wanted = {} if marker is None else marker.kwargs
    is_known = wanted.keys() <= {"topics", "settings"} and all(
        isinstance(each, dict | None) for each in wanted.values()
    )
    if not is_known or (marker is not None and marker.args):
        raise pytest.UsageError(
            "pytest.mark.kraft takes two dictionaries: topics={name: partitions}, settings={name: text}"
        )
    with EmbeddedCluster(wanted.get("topics"), wanted.get("settings")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kraft_shared_cluster() -> Iterator[EmbeddedCluster]:
    """A cluster of one node for all tests of the session."""
    from kraft.testing.embedded import EmbeddedCluster

    with EmbeddedCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kraft_spark(pytestconfig: pytest.Config) -> Iterator[Any]:
    """A local Spark session for all tests of the session. It needs the extra ``kraft[spark]`` and Java 17."""
    # By name, as pytest finds plugins: this room stands below Spark's, and its other fixtures need no PySpark.
    fixtures = importlib.import_module("kraft.spark.fixtures")
    session = fixtures.session_for_tests(pytestconfig.getini("kraft_spark_settings"))
    yield session
    session.stop()
