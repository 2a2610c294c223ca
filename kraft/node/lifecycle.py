"""The life of a broker in the cluster (KIP-631): registered, fenced until it has caught up, unfenced, and at the end
shut down under control.

The controller gives a lease; a heartbeat every ``broker.heartbeat.interval.ms`` keeps it. The lock on the log
directories proves that this node's former incarnation is gone, so its registration does not wait for the old lease to
run out.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.config.features import SUPPORTED_FEATURES
from kraft.config.listeners import Endpoint
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from kraft.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from kraft.node.controller import Controller
from kraft.node.producer_ids import ProducerIds
from kraft.node.publisher import Publisher
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.lifecycle")

REGISTRATION_VERSION = 4
HEARTBEAT_VERSION = 1
PLAINTEXT = 0
_POLL_S = 0.1
_CONTROLLED_SHUTDOWN_LIMIT_S = 10


@attrs.define(eq=False)
class Lifecycle:
    """Registration, heartbeats and controlled shutdown of this node's broker role."""

    config: NodeConfig
    cluster_id: str
    controller: Controller
    producer_ids: ProducerIds
    publisher: Publisher
    directory_ids: Sequence[uuid.UUID]
    broker_epoch: int = -1
    incarnation_id: uuid.UUID = attrs.Factory(uuid.uuid4)

    async def join(self, advertised: Sequence[Endpoint]) -> None:
        """Register, catch up, be unfenced, and see all that in our own metadata: then clients may come.

        Raises:
            KafkaError: the controller refuses us.
        """
        await self._register(advertised)
        await self.publisher.catch_up()
        while True:
            if not (await self._heartbeat()).is_fenced:
                break
            await trio.sleep(_POLL_S)
        await self.publisher.catch_up()

    async def _register(self, advertised: Sequence[Endpoint]) -> None:
        request = BrokerRegistrationRequest(
            broker_id=self.config.node_id,
            cluster_id=self.cluster_id,
            incarnation_id=self.incarnation_id,
            listeners=[Listener(each.listener, each.host, each.port, PLAINTEXT) for each in advertised],
            features=[Feature(name, low, high) for name, (low, high) in SUPPORTED_FEATURES.items()],
            rack=self.config.identity.broker_rack,
            log_dirs=sorted(self.directory_ids),
        )
        response = await self.controller.request(request, REGISTRATION_VERSION, former_incarnation_gone=True)
        if response.error_code:
            raise KafkaError(ErrorCode(response.error_code), "the controller refuses this broker's registration")
        self.broker_epoch = self.producer_ids.broker_epoch = response.broker_epoch

    async def heartbeats(self) -> None:
        """Keep the lease, for as long as the node lives. A disk that is slow for a while costs a heartbeat, not the
        node."""
        while True:
            await trio.sleep(self.config.lease.broker_heartbeat_interval_ms / 1000)
            try:
                response = await self._heartbeat()
            except KafkaError as failure:
                logger.warning("heartbeat failed: %s", failure)
                continue
            if response.error_code:
                logger.warning("heartbeat refused: %s", ErrorCode(response.error_code).name)

    async def controlled_shutdown(self) -> None:
        """Hand leaderships over before the end, within a bounded time."""
        with trio.move_on_after(_CONTROLLED_SHUTDOWN_LIMIT_S):
            while True:
                try:
                    response = await self._heartbeat(want_shut_down=True)
                except KafkaError as failure:
                    logger.warning("controlled shutdown failed, stopping all the same: %s", failure)
                    return
                if response.error_code or response.should_shut_down:
                    return
                await trio.sleep(_POLL_S)

    async def _heartbeat(self, *, want_shut_down: bool = False) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=self.config.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self.publisher.offset,
            want_fence=False,
            want_shut_down=want_shut_down,
        )
        response: BrokerHeartbeatResponse = await self.controller.request(request, HEARTBEAT_VERSION)
        return response
