"""The features of a Kafka client: the rows of the report card, in its order.

A test claims a cell with ``@pytest.mark.feature(client, feature)``, where the feature is a key of ``FEATURES``; for the
clients of PyPI ``each_client`` does so, once per client. For a client without the feature it calls ``not_offered``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NoReturn

import pytest

PYPI_CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PRODUCERS = ("plain", "idempotent")

NOT_OFFERED = "not offered: "

FEATURES: dict[str, str] = {
    "create-topic": "Create a topic and see it",
    "auto-create": "A first message creates its topic",
    **{
        f"produce-{codec}-{producer}": f"Produce and read back: codec {codec}, {producer}"
        for codec, producer in itertools.product(CODECS, PRODUCERS)
    },
    "acks": "Produce with acks 0 and 1",
    "transactions": "Transactions: with read_committed, only the committed ones are read",
    "consume-transform-produce": "Transactions: consume, transform, produce; each record exactly once",
    "group-rebalance": "A second group member joins and leaves, nothing is lost",
    "group-resume": "Commit, and resume from the commit",
    "static-member": "A static member returns without a rebalance",
    "consumer-protocol": "Consumer protocol (KIP-848): a second member joins and leaves, nothing is lost",
    "share-consumer": "Share group (KIP-932): released records are delivered again, accepted ones are not",
    "describe-cluster": "Describe the cluster",
    "describe-topics": "Describe topics",
    "describe-configs": "Describe configs",
    "alter-configs": "Alter a config: described and in force",
    "create-partitions": "Add partitions",
    "delete-records": "Delete records",
    "offsets-ends": "Earliest and latest offsets",
    "offsets-timestamp": "Offset of a timestamp",
    "offsets-max-timestamp": "Offset of the greatest timestamp",
    "list-groups": "List groups",
    "describe-groups": "Describe a group",
    "delete-groups": "Delete a group",
    "delete-topic": "Delete a topic",
    "refuse-existing-topic": "Refused: a topic that exists",
    "refuse-unknown-topic": "Refused: a topic that does not exist",
    "refuse-topic-name": "Refused: an illegal topic name",
    "refuse-config-value": "Refused: a config value out of range",
    "refuse-config-key": "Refused: a config that does not exist",
    "refuse-partitions": "Refused: fewer partitions than there are",
    "refuse-replication-factor": "Refused: more replicas than brokers",
    "refuse-large-message": "Refused: a message over the limit",
    "refuse-offset": "Refused: deleting records beyond the end",
    "refuse-unknown-group": "Refused: deleting an unknown group",
    "refuse-busy-group": "Refused: deleting a group with members",
}


def each_client(feature: str, **axes: Iterable[str]) -> pytest.MarkDecorator:
    """Run a test for every client of PyPI and every point of ``axes``; ``feature`` may name the axes in braces."""
    cases = [
        pytest.param(
            client,
            *point,
            marks=pytest.mark.feature(client, feature.format(**dict(zip(axes, point, strict=True)))),
            id="-".join((client, *point)),
        )
        for client in PYPI_CLIENTS
        for point in itertools.product(*axes.values())
    ]
    return pytest.mark.parametrize(("client", *axes), cases, indirect=["client"])


def not_offered(reason: str) -> NoReturn:
    """End the test: the client, not the node, lacks the feature. The report card has the reason."""
    pytest.skip(NOT_OFFERED + reason)
