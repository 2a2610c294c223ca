"""The transaction coordinator, as a producer uses it."""

from __future__ import annotations

from typing import Any

from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.init_producer_id_request import InitProducerIdRequest
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.support.eventually import eventually_async

_PASSING = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


async def has_transactions(broker: Connection, transactional_id: str) -> None:
    """Return once the broker coordinates the id. The first request creates ``__transaction_state``."""

    async def is_found() -> bool:
        response = await broker.request(FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id]), 4)
        return not response.coordinators[0].error_code

    await eventually_async(is_found)


async def settled(broker: Connection, request: Any, version: int | None = None) -> Any:
    """Send a request until its error is none that passes by itself, and return the response."""
    responses: list[Any] = []

    async def is_settled() -> bool:
        responses.append(await broker.request(request, version))
        return responses[-1].error_code not in _PASSING

    await eventually_async(is_settled)
    return responses[-1]


async def initialized(broker: Connection, transactional_id: str) -> tuple[int, int]:
    """Return the id and epoch of a new producer."""
    await has_transactions(broker, transactional_id)
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
    response = await settled(broker, request)
    assert response.error_code == 0
    return response.producer_id, response.producer_epoch
