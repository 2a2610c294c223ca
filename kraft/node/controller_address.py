"""The address under which a broker with ZooKeeper reaches the broker that is the controller (KIP-291)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs

from kraft.config.listeners import Listeners, Voter
from kraft.messages.registry import ApiKey
from kraft.replication.replicas import Replicas
from kraft.rpc.client import Connection, connect, open_connection
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.dial import Dial

SHUTDOWN_VERSION = 3


@attrs.define(eq=False)
class ControllerAddress:
    """Where the controller listens: on its control plane if this broker has one, too, else as a broker.

    A forced control plane serves no request of a broker except ControlledShutdown. So the others go to the inter-broker
    listener if this broker's control plane is forced, or if that of the controller has refused this broker.
    """

    listeners: Listeners
    replicas: Replicas
    dial: Dial
    _forced: set[tuple[str, int]] = attrs.Factory(set)

    def for_requests(self, broker_id: int) -> Voter | None:
        """Return the address for AlterPartition and AllocateProducerIds; None if the broker is unknown."""
        control_plane = self._of(self.listeners.control_plane, broker_id)
        is_served = not self.listeners.is_control_plane_forced
        if control_plane is not None and is_served and (control_plane.host, control_plane.port) not in self._forced:
            return control_plane
        return self._of(self.listeners.inter_broker, broker_id)

    def for_shutdown(self, broker_id: int) -> Voter | None:
        """Return the address for ControlledShutdown, which any control plane serves; None if the broker is unknown."""
        control_plane, inter_broker = self.listeners.control_plane, self.listeners.inter_broker
        return self._of(control_plane, broker_id) or self._of(inter_broker, broker_id)

    @asynccontextmanager
    async def connect(self, host: str, port: int, client_id: str, timeout_s: float) -> AsyncIterator[Connection]:
        """Connect to an address of ``for_requests``, and remember a control plane that refuses ApiVersions."""
        try:
            connection = await open_connection(host, port, client_id, timeout_s, dial=self.dial)
        except KafkaError as refused:
            if refused.code is ErrorCode.POLICY_VIOLATION:
                self._forced.add((host, port))
            raise
        try:
            yield connection
        finally:
            connection.close()

    @asynccontextmanager
    async def connect_for_shutdown(
        self, host: str, port: int, client_id: str, timeout_s: float
    ) -> AsyncIterator[Connection]:
        """Connect to the address of ``for_shutdown``. A forced control plane does not serve ApiVersions."""
        versions = {int(ApiKey.CONTROLLED_SHUTDOWN): (SHUTDOWN_VERSION, SHUTDOWN_VERSION)}
        async with connect(host, port, client_id, timeout_s, dial=self.dial, versions=versions) as connection:
            yield connection

    def _of(self, listener: str | None, broker_id: int) -> Voter | None:
        endpoint = self.replicas.image.endpoint(broker_id, listener or "")
        return None if endpoint is None else Voter(broker_id, endpoint.host, endpoint.port)
