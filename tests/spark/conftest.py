"""Every test here has the mark ``spark`` and may use one session, ``spark``, in one JVM."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.spark_connector import connector_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Without PySpark these modules cannot be imported. `tox -e spark` has it, and would fail for want of tests.
collect_ignore_glob = [] if find_spec("pyspark") else ["test_*.py", "pipeline/test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on two cores, with Spark's own Kafka connector as ``format("kafka")``, and with Delta Lake."""
    from kraft.spark.pipeline.delta_store import session_settings
    from kraft.spark.session import local_session
    from tests.support.delta_jars import delta_jars

    settings = {
        "spark.jars": f"{connector_jars()},{delta_jars()}",
        "spark.sql.shuffle.partitions": "2",
        # The tables are so small that compiling a plan takes longer than interpreting it.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.ansi.enabled": "true",
    }
    session = local_session("tests", cores=2, settings=session_settings(settings, is_local=True))
    yield session
    session.stop()
