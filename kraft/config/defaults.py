"""The configuration of ``python -m kraft.node`` without arguments: one node with both roles on loopback."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: The settings as in a properties file. All others have Kafka's defaults.
DEFAULT_PROPERTIES: Mapping[str, str] = MappingProxyType(
    {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@127.0.0.1:9093",
        "log.dirs": "./kraft-data",
        # One broker can hold only one replica. The first consumer should not wait for more members.
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
)
