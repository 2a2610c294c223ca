"""Producer ids for idempotent producers, one by one from blocks that the controller allocates (KIP-730)."""

from __future__ import annotations

import logging

import attrs
import trio

from kraft.control.controller_channel import ControllerChannel
from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.replication.replicas import Replicas
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.producers")


_PREFETCH_AT = 100
"""The next block is requested once so few ids are left: a tenth of a block (``RPCProducerIdManager``)."""


@attrs.define(eq=False)
class _Attempt:
    """A request for a block, which all that wait for an id share."""

    failure: KafkaError | None = None
    done: trio.Event = attrs.Factory(trio.Event)


@attrs.define(eq=False)
class ProducerIds:
    """The ids of the current block, and the next block. The broker that holds ``replicas`` requests them in ``run``."""

    channel: ControllerChannel
    replicas: Replicas
    _ids: range = range(0)
    _next_block: range = range(0)
    _attempt: _Attempt = attrs.Factory(_Attempt)
    _wanted: trio.Event = attrs.Factory(trio.Event)
    """Set once a block is needed, or soon will be."""

    async def run(self) -> None:
        """Request blocks as they are needed, forever."""
        while True:
            await self._wanted.wait()
            failure = None
            try:
                self._next_block = await self._allocated()
            except KafkaError as refused:
                failure = refused
            self._wanted = trio.Event()
            attempt, self._attempt = self._attempt, _Attempt()
            attempt.failure = failure
            attempt.done.set()

    async def next(self) -> int:
        """Return an id that no producer of this cluster ever had.

        Raises KafkaError COORDINATOR_LOAD_IN_PROGRESS if no controller allocates a block. Producers retry this error.
        """
        await self.fill()
        return self.take()

    async def fill(self) -> None:
        """Wait for a block if no id is left, so that :meth:`take` has one. Raises as :meth:`next`."""
        if not self._ids and not self._next_block:
            attempt = self._attempt
            self._wanted.set()
            await attempt.done.wait()
            if attempt.failure is not None:
                raise attempt.failure.anew()

    def take(self) -> int:
        """:meth:`next` without a wait. Raises KafkaError COORDINATOR_LOAD_IN_PROGRESS if no id is left for now."""
        if not self._ids:
            self._ids, self._next_block = self._next_block, range(0)
        ids, self._ids = self._ids, self._ids[1:]
        if len(self._ids) <= _PREFETCH_AT and not self._next_block:
            self._wanted.set()
        if not ids:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return ids[0]

    async def _allocated(self) -> range:
        request = AllocateProducerIdsRequest(self.replicas.node_id, self.replicas.broker_epoch)
        try:
            response = await self.channel.request(request)
            if response.error_code:
                raise KafkaError(ErrorCode(response.error_code))
        except KafkaError as refused:
            logger.warning("the controller allocated no producer ids: %s; idempotent producers retry", refused)
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) from refused
        return range(response.producer_id_start, response.producer_id_start + response.producer_id_len)
