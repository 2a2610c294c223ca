"""Delta Lake for Spark, fetched by Maven. ``python -m tests.support.delta_jars`` prints the value of ``spark.jars``."""

from __future__ import annotations

from kraft.spark.pipeline.delta_store import PACKAGE
from tests.support.fetchers import maven_jars


def delta_jars() -> str:
    """Return the value of ``spark.jars`` that gives a session ``format("delta")``. PySpark carries the rest."""
    version = PACKAGE.rpartition(":")[2]
    directory = maven_jars(f"delta-{version}", [PACKAGE, f"io.delta:delta-storage:{version}"], transitive=False)
    return ",".join(map(str, sorted(directory.glob("*.jar"))))


if __name__ == "__main__":
    print(delta_jars())
