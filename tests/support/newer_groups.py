"""The groups of Kafka 4, switched on: the consumer protocol (KIP-848) and share groups (KIP-932)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

import kafka
from kafka.protocol.metadata import ApiVersionsRequest

from tests.support.eventually import eventually
from tests.support.wire_client import wire_client

FEATURES = {"group.version": 1, "share.version": 1}


def enable_newer_groups(brokers: Iterable[str]) -> None:
    """Finalize the features, and wait until each of the brokers (``HOST:PORT``) has them."""
    brokers = list(brokers)
    with closing(kafka.KafkaAdminClient(bootstrap_servers=brokers)) as admin:
        assert set(admin.update_features(FEATURES).values()) == {"OK"}
    for broker in brokers:
        eventually(lambda broker=broker: _finalized(broker).items() >= FEATURES.items())


def _finalized(broker: str) -> dict[str, int]:
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    with wire_client(broker) as wire:
        answer = wire.call(request, 3)
    return {each.name: each.max_version_level for each in answer.finalized_features}
