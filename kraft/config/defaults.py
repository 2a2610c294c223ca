"""The configuration of ``python -m kraft.node`` with no argument: one node, both roles, on the loopback interface."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: As a properties file would say it; everything else has Kafka's default.
DEFAULT_PROPERTIES: Mapping[str, str] = MappingProxyType(
    {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@127.0.0.1:9093",
        "log.dirs": "./kraft-data",
        # One broker can hold one replica, and its first consumer should not wait for more members.
        "offsets.topic.replication.factor": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
)
