"""Spark's own Kafka connector, fetched by Maven.

``python -m tests.support.spark_connector`` prints the value of ``spark.jars``, for a session of one's own.
"""

from __future__ import annotations

from tests.support.fetchers import maven_jars

SPARK = "4.2.0"
"""The release of PySpark that the connector belongs to; tox.ini pins it."""

TOKEN_PROVIDER = "4.0.0"
"""Maven Central has no token provider of the release SPARK. Without Kerberos the connector never calls it."""

_ARTIFACTS = ("spark-sql-kafka-0-10", "spark-token-provider-kafka-0-10", "kafka-clients", "commons-pool2")
"""PySpark carries the rest of what the connector needs."""


def connector_jars() -> str:
    """Return the value of ``spark.jars`` that gives a session ``format("kafka")``."""
    coordinates = [
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK}",
        # Maven takes the version that the pom names over one that a dependency names.
        f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{TOKEN_PROVIDER}",
    ]
    directory = maven_jars(f"spark-connector-{SPARK}", coordinates)
    jars = [path for artifact in _ARTIFACTS for path in directory.glob(f"{artifact}[_-]*.jar")]
    assert len(jars) == len(_ARTIFACTS), f"{directory} has {[path.name for path in jars]}"
    return ",".join(map(str, jars))


if __name__ == "__main__":
    print(connector_jars())
