"""Blocks of producer ids (KIP-730)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import attrs
import pytest
import trio
import trio.testing

from kraft.coordination.producer_ids import ProducerIds
from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from kraft.wire.errors import ErrorCode, KafkaError

BLOCK = 2


@attrs.define
class Allocator:
    """The channel to a controller that allocates blocks, or answers ``code``."""

    code: ErrorCode = ErrorCode.NONE
    allocated: int = 0

    async def request(self, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
        assert (request.broker_id, request.broker_epoch) == (1, 5)
        if self.code:
            return AllocateProducerIdsResponse(error_code=self.code)
        self.allocated += 1
        return AllocateProducerIdsResponse(producer_id_start=self.allocated * BLOCK, producer_id_len=BLOCK)


def ids_of(controller: Allocator) -> ProducerIds:
    return ProducerIds(cast(Any, controller), cast(Any, SimpleNamespace(node_id=1, broker_epoch=5)))


def taken(ids: ProducerIds) -> int | ErrorCode:
    try:
        return ids.take()
    except KafkaError as refused:
        return refused.code


async def test_each_id_is_given_once_over_all_blocks() -> None:
    ids = ids_of(Allocator())
    assert [await ids.next() for _ in range(5)] == [2, 3, 4, 5, 6]


async def test_producers_that_wait_together_share_a_block() -> None:
    controller = Allocator()
    ids = ids_of(controller)
    async with trio.open_nursery() as nursery:
        for _ in range(BLOCK):
            nursery.start_soon(ids.next)
    assert controller.allocated == 1


async def test_a_refused_block_is_retried_by_the_producer() -> None:
    """Apache: ``RPCProducerIdManager`` returns COORDINATOR_LOAD_IN_PROGRESS."""
    with pytest.raises(KafkaError) as refused:
        await ids_of(Allocator(ErrorCode.STALE_BROKER_EPOCH)).next()
    assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


async def test_a_coordinator_that_cannot_wait_finds_an_id_the_next_time() -> None:
    """A transaction that times out may need a new producer id (KIP-890), and no request waits for the block. So
    ``RPCProducerIdManager.generateProducerId`` requests the next block itself, also after a refusal.
    """
    controller = Allocator(ErrorCode.STALE_BROKER_EPOCH)
    ids = ids_of(controller)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ids.run)
        for code in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.NONE):
            controller.code = code
            assert taken(ids) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            await trio.testing.wait_all_tasks_blocked()
        assert [taken(ids) for _ in range(3)] == [2, 3, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        nursery.cancel_scope.cancel()
