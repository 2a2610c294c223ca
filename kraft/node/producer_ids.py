"""Producer ids for idempotent producers: handed out one by one from blocks that the controller allots (KIP-730)."""

from __future__ import annotations

import attrs
import trio

from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.node.controller import Controller
from kraft.wire.errors import ErrorCode, KafkaError


@attrs.define(eq=False)
class ProducerIds:
    """The block in use: ids from ``next_id`` up to, but not including, ``end_id``."""

    controller: Controller
    node_id: int
    broker_epoch: int = -1
    next_id: int = 0
    end_id: int = 0
    _refill: trio.Lock = attrs.Factory(trio.Lock)

    async def next(self) -> int:
        """An id that no producer of this cluster ever had.

        Raises:
            KafkaError: the controller could not give a block.
        """
        while self.next_id >= self.end_id:
            async with self._refill:
                if self.next_id >= self.end_id:
                    await self._fetch_block()
        self.next_id += 1
        return self.next_id - 1

    async def _fetch_block(self) -> None:
        request = AllocateProducerIdsRequest(broker_id=self.node_id, broker_epoch=self.broker_epoch)
        response = await self.controller.request(request)
        if response.error_code:
            raise KafkaError(ErrorCode(response.error_code))
        self.next_id = response.producer_id_start
        self.end_id = response.producer_id_start + response.producer_id_len
