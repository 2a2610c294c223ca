"""The brokers that responses name to clients, and the partitions without a leader among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import attrs

from kraft.messages.metadata_response import MetadataResponseBroker
from kraft.metadata.image import Image
from kraft.metadata.partitions import Partition
from kraft.wire.errors import ErrorCode

NodeEndpoint = TypeVar("NodeEndpoint")


def alive_brokers(image: Image, listener: str) -> list[MetadataResponseBroker]:
    """Return the brokers that are not fenced and have an endpoint for ``listener``."""
    found = []
    for broker_id in sorted(image.brokers):
        registered = image.brokers[broker_id]
        endpoint = registered.endpoint(listener)
        if not registered.fenced and endpoint is not None:
            found.append(MetadataResponseBroker(broker_id, endpoint.host, endpoint.port, registered.rack))
    return found


def node_endpoints(
    image: Image, listener: str, leaders: Iterable[int], make: Callable[[int, str, int, str | None], NodeEndpoint]
) -> list[NodeEndpoint]:
    """Return ``make(id, host, port, rack)`` for each of ``leaders`` that is alive and has the listener (KIP-951)."""
    found = []
    for leader in leaders:
        registered = image.brokers.get(leader)
        endpoint = None if registered is None or registered.fenced else registered.endpoint(listener)
        if registered is not None and endpoint is not None:
            found.append(make(leader, endpoint.host, endpoint.port, registered.rack))
    return found


@attrs.frozen
class AliveBrokers:
    """The brokers of an image that are not fenced and have an endpoint for ``listener``, by their ``ids``."""

    image: Image
    listener: str
    ids: frozenset[int]

    @classmethod
    def of(cls, image: Image, listener: str) -> AliveBrokers:
        return cls(image, listener, frozenset(each.node_id for each in alive_brokers(image, listener)))

    def leader_error(self, state: Partition) -> ErrorCode:
        """Return NONE if the leader is among them, else LISTENER_NOT_FOUND or LEADER_NOT_AVAILABLE."""
        if state.leader in self.ids:
            return ErrorCode.NONE
        leader = self.image.brokers.get(state.leader)
        lacks_listener = leader is not None and leader.endpoint(self.listener) is None
        return ErrorCode.LISTENER_NOT_FOUND if lacks_listener else ErrorCode.LEADER_NOT_AVAILABLE

    def offline(self, state: Partition) -> list[int]:
        """Return the replicas on other brokers, and those in directories that failed (KIP-858)."""
        if len(state.isr) == len(state.replicas):  # the controller removes the others
            return [replica for replica in state.replicas if replica not in self.ids]
        brokers = self.image.brokers
        return [
            replica
            for replica in state.replicas
            if replica not in self.ids or not brokers[replica].has_online(state.directory(replica))
        ]
