"""Producer ids for idempotent producers, one by one from blocks that the controller allocates (KIP-730)."""

from __future__ import annotations

import contextlib
import logging

import attrs
import trio

from kraft.control.controller_channel import ControllerChannel
from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.replication.replicas import Replicas
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.producers")


@attrs.define(eq=False)
class ProducerIds:
    """The current block: ids from ``next_id`` up to, but not including, ``end_id``.

    The broker that holds ``replicas`` requests the blocks.
    """

    channel: ControllerChannel
    replicas: Replicas
    next_id: int = 0
    end_id: int = 0
    _refill: trio.Lock = attrs.Factory(trio.Lock)
    _missed: trio.Event = attrs.Factory(trio.Event)
    """Set once :meth:`take` has found no id."""

    async def run(self) -> None:
        """Get a block after each :meth:`take` without an id, forever.

        A coordinator that aborts a transaction after its timeout has no request that could wait for the block.
        """
        while True:
            await self._missed.wait()
            self._missed = trio.Event()
            with contextlib.suppress(KafkaError):  # it is logged, and the next take without an id asks again
                await self.fill()

    async def next(self) -> int:
        """Return an id that no producer of this cluster ever had.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS if no controller allocates a block. Producers retry this error.
        """
        await self.fill()
        return self.take()

    async def fill(self) -> None:
        """Get another block if none has an id left, so that :meth:`take` has one. Raises as :meth:`next`."""
        while self.next_id >= self.end_id:
            async with self._refill:
                if self.next_id >= self.end_id:
                    await self._fetch_block()

    def take(self) -> int:
        """:meth:`next` without a wait. Raises KafkaError COORDINATOR_LOAD_IN_PROGRESS if no id is left for now."""
        if self.next_id >= self.end_id:
            self._missed.set()
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.next_id += 1
        return self.next_id - 1

    async def _fetch_block(self) -> None:
        request = AllocateProducerIdsRequest(self.replicas.node_id, self.replicas.broker_epoch)
        try:
            response = await self.channel.request(request)
            if response.error_code:
                raise KafkaError(ErrorCode(response.error_code))
        except KafkaError as refused:
            logger.warning("the controller allocated no producer ids: %s; idempotent producers retry", refused)
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) from refused
        self.next_id = response.producer_id_start
        self.end_id = response.producer_id_start + response.producer_id_len
