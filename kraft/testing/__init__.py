"""Run a real Kafka cluster inside a test, without a JVM, a container or fixed ports. It leaves no files behind.

::

    from kraft.testing import EmbeddedCluster

    with EmbeddedCluster(topics={"orders": 3}) as cluster:
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)

With pytest, use the fixture ``kraft_cluster`` (see :mod:`kraft.testing.plugin`). In a Trio program the node can run in
the same event loop: ``async with embedded_node(topics={"orders": 3}) as node``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kraft.testing.embedded import EmbeddedCluster, EmbeddedNode, embedded_node

__all__ = ["EmbeddedCluster", "EmbeddedNode", "embedded_node"]


def __getattr__(name: str) -> Any:
    # pytest imports this package in every session, so the node is imported at first use.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kraft.testing import embedded

    return getattr(embedded, name)
