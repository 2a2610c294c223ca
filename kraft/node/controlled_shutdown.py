"""The controlled shutdown of a broker with ZooKeeper."""

from __future__ import annotations

import logging

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.control.controller_channel import ControllerChannel
from kraft.messages.controlled_shutdown_request import ControlledShutdownRequest
from kraft.messages.controlled_shutdown_response import ControlledShutdownResponse
from kraft.node.controller_address import SHUTDOWN_VERSION
from kraft.replication.replicas import Replicas
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.lifecycle")


@attrs.frozen(eq=False)
class ControlledShutdown:
    """Moves the leaderships of ``replicas`` to other brokers."""

    config: NodeConfig
    channel: ControllerChannel
    replicas: Replicas

    async def run(self) -> None:
        """Request the shutdown, and ``controlled.shutdown.max.retries`` times more while the controller cannot move all
        leaderships, with pauses of ``controlled.shutdown.retry.backoff.ms``.

        With ``controlled.shutdown.enable=false`` no leadership is moved: the registration ends, as after a crash.
        """
        settings = self.config.replication
        if not settings.controlled_shutdown_enable:
            return
        for attempt in range(settings.controlled_shutdown_max_retries + 1):
            if attempt:
                await trio.sleep(settings.controlled_shutdown_retry_backoff_ms / 1000)
            try:
                response = await self._request()
            except KafkaError as failure:
                logger.warning("attempt %d at a controlled shutdown failed: %s", attempt + 1, failure)
                continue
            if not response.remaining_partitions:
                logger.info("controlled shutdown succeeded")
                return
            logger.info("%d partitions have no other leader yet", len(response.remaining_partitions))
        logger.warning("controlled shutdown did not succeed, stopping all the same")

    async def _request(self) -> ControlledShutdownResponse:
        """Raises KafkaError."""
        request = ControlledShutdownRequest(self.config.node_id, self.replicas.broker_epoch)
        response: ControlledShutdownResponse = await self.channel.request(request, SHUTDOWN_VERSION)
        if response.error_code:
            raise KafkaError(ErrorCode(response.error_code))
        return response
