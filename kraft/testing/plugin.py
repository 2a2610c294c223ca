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


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Raise UsageError for a mark on a test that has only the shared cluster, which runs already."""
    fixtures = getattr(item, "fixturenames", ())
    if "kraft_shared_cluster" in fixtures and "kraft_cluster" not in fixtures and item.get_closest_marker("kraft"):
        raise pytest.UsageError("pytest.mark.kraft has no effect on kraft_shared_cluster: take kraft_cluster instead")


@pytest.fixture
def kraft_cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """A cluster of one node for this test alone.

    Raises UsageError for a mark with other arguments than ``topics`` and ``settings``. These are dictionaries of
    numbers and of texts, or None.
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
    topics, settings = wanted.get("topics") or {}, wanted.get("settings") or {}
    for name, partitions in topics.items():
        if type(partitions) is not int:
            raise pytest.UsageError(f"pytest.mark.kraft: topics={{{name!r}: {partitions!r}}}: write a number, as 3")
    for name, value in settings.items():
        if not isinstance(value, str):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            raise pytest.UsageError(f"pytest.mark.kraft: settings={{{name!r}: {value!r}}}: write a text, as {text!r}")
    with EmbeddedCluster(topics, settings) as cluster:
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
