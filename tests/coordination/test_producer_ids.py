"""Blocks of producer ids (KIP-730)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
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
    delay_s: float = 0
    block: int = BLOCK
    allocated: int = 0

    async def request(self, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
        assert (request.broker_id, request.broker_epoch) == (1, 5)
        await trio.sleep(self.delay_s)
        if self.code:
            return AllocateProducerIdsResponse(error_code=self.code)
        self.allocated += 1
        return AllocateProducerIdsResponse(producer_id_start=self.allocated * self.block, producer_id_len=self.block)


def taken(ids: ProducerIds) -> int | ErrorCode:
    try:
        return ids.take()
    except KafkaError as refused:
        return refused.code


@contextlib.asynccontextmanager
async def running(controller: Allocator) -> AsyncIterator[ProducerIds]:
    ids = ProducerIds(cast(Any, controller), cast(Any, SimpleNamespace(node_id=1, broker_epoch=5)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ids.run)
        yield ids
        nursery.cancel_scope.cancel()


async def test_each_id_is_given_once_over_all_blocks() -> None:
    async with running(Allocator()) as ids:
        assert [await ids.next() for _ in range(5)] == [2, 3, 4, 5, 6]


async def test_producers_that_wait_together_share_a_block(autojump_clock: trio.testing.MockClock) -> None:
    controller = Allocator(delay_s=1)
    async with running(controller) as ids:
        async with trio.open_nursery() as nursery:
            for _ in range(BLOCK):
                nursery.start_soon(ids.next)
        assert controller.allocated == 1


async def test_the_next_block_is_there_before_the_ids_are_used_up() -> None:
    """``RPCProducerIdManager``: it requests the next block when 90 % of the ids are used."""
    controller = Allocator(block=1000)
    async with running(controller) as ids:
        assert await ids.next() == 1000
        for _ in range(898):
            ids.take()
        await trio.testing.wait_all_tasks_blocked()
        assert controller.allocated == 1
        ids.take()
        await trio.testing.wait_all_tasks_blocked()
        assert controller.allocated == 2
        assert [ids.take() for _ in range(101)] == list(range(1900, 2001))


async def test_a_refused_block_is_retried_by_the_producer() -> None:
    """Apache: ``RPCProducerIdManager`` returns COORDINATOR_LOAD_IN_PROGRESS."""
    async with running(Allocator(ErrorCode.STALE_BROKER_EPOCH)) as ids:
        with pytest.raises(KafkaError) as refused:
            await ids.next()
        assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


async def test_producers_that_wait_together_are_refused_together(autojump_clock: trio.testing.MockClock) -> None:
    """Each would wait for an attempt of its own, and the last for the sum of them."""
    codes: list[ErrorCode] = []
    began = trio.current_time()

    async def ask(ids: ProducerIds) -> None:
        with pytest.raises(KafkaError) as refused:
            await ids.next()
        codes.append(refused.value.code)

    async with running(Allocator(ErrorCode.REQUEST_TIMED_OUT, delay_s=30)) as ids, trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(ask, ids)
    assert codes == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 8
    assert trio.current_time() - began == 30


async def test_a_coordinator_that_cannot_wait_finds_an_id_the_next_time() -> None:
    """A transaction that times out may need a new producer id (KIP-890), and no request waits for the block. So
    ``RPCProducerIdManager.generateProducerId`` requests the next block itself, also after a refusal.
    """
    controller = Allocator(ErrorCode.STALE_BROKER_EPOCH)
    async with running(controller) as ids:
        for code in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.NONE):
            controller.code = code
            assert taken(ids) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            await trio.testing.wait_all_tasks_blocked()
        assert [taken(ids) for _ in range(3)] == [2, 3, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
