"""The client retries passing errors for a bounded time, logs the cause, and then gives up."""

from __future__ import annotations

import logging

import pytest
import trio

from kraft.client.retry import ClusterUnreachable, GaveUp, retried
from kraft.rpc.client import Disconnected
from kraft.wire.errors import ErrorCode, KafkaError

PASSES = [
    KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER),
    KafkaError(ErrorCode.LEADER_NOT_AVAILABLE),
    Disconnected("peer closed the connection"),
    ConnectionRefusedError(111, "Connection refused"),
    trio.TooSlowError(),
    ClusterUnreachable("Cannot connect to localhost:9092: Connection refused"),
]


async def test_a_passing_failure_is_retried_and_logged_once(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    failures = list(PASSES)

    async def attempt() -> str:
        if failures:
            raise failures.pop(0)
        return "done"

    assert await retried(attempt, "orders-0", 30.0) == "done"
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("orders-0: NOT_LEADER_OR_FOLLOWER: ")


async def test_a_failure_that_cannot_pass_is_raised_at_once() -> None:
    async def attempt() -> None:
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE)

    with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
        await retried(attempt, "orders-0", 30.0)


@pytest.mark.parametrize("failure", PASSES, ids=lambda failure: type(failure).__name__)
async def test_retries_end_with_the_timeout(autojump_clock: trio.testing.MockClock, failure: Exception) -> None:
    async def attempt() -> None:
        raise failure

    started_s = trio.current_time()
    with pytest.raises(GaveUp, match=r"^orders-0: gave up after 30 seconds: .+"):
        await retried(attempt, "orders-0", 30.0)
    assert trio.current_time() - started_s == pytest.approx(30.0)


async def test_the_last_attempt_may_end_later(autojump_clock: trio.testing.MockClock) -> None:
    attempts = 0

    async def attempt() -> int:
        nonlocal attempts
        attempts += 1
        await trio.sleep(20)
        if attempts == 1:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return attempts

    assert await retried(attempt, "orders-0", 30.0, lets_finish=True) == 2
    attempts = 0
    with pytest.raises(GaveUp, match="orders-0: gave up after 15 seconds: NOT_LEADER_OR_FOLLOWER"):
        await retried(attempt, "orders-0", 15.0, lets_finish=True)


async def test_an_attempt_that_hangs_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    with pytest.raises(GaveUp, match="orders-0: gave up after 30 seconds: no answer in time"):
        await retried(trio.sleep_forever, "orders-0", 30.0)
