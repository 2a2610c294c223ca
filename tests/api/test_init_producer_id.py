"""InitProducerId: an id for each idempotent producer."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraft.messages.init_producer_id_request import InitProducerIdRequest
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.support.nodes import node_in


@pytest.mark.parametrize("version", range(6))
async def test_producer_ids_are_never_given_twice(broker: Connection, version: int) -> None:
    """An idempotent producer has no transactional id, and its timeout means nothing."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)
    answers = [await broker.request(request, version) for _ in range(3)]
    assert {(each.error_code, each.producer_epoch) for each in answers} == {(0, 0)}
    assert len({each.producer_id for each in answers}) == 3


async def test_producer_ids_after_a_restart(tmp_path: Path) -> None:
    request = InitProducerIdRequest(transactional_id=None)
    given: list[int] = []
    for _ in range(3):
        async with node_in(tmp_path) as node:
            given += [(await node.broker.request(request)).producer_id for _ in range(2)]
            node.kill()
    assert len(set(given)) == 6


async def test_a_transactional_id_is_not_empty(broker: Connection) -> None:
    """``TransactionCoordinator.handleInitProducerId``."""
    answer = await broker.request(InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000))
    assert (answer.error_code, answer.producer_id) == (ErrorCode.INVALID_REQUEST, -1)
