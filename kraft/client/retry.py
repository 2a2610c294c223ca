"""Retries: which failures can pass, and for how long to retry."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from kraft.rpc.client import reason
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.client")

T = TypeVar("T")

RETRY_S = 0.1
"""``retry.backoff.ms``"""

PASSING = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
"""Errors that a change of leader or the end of the last transaction causes and that pass by themselves (Kafka's
RetriableException).
"""


class ClusterUnreachable(Exception):
    """No known broker accepts a connection. The text names the servers and the last reason."""


class GaveUp(Exception):
    """The time for retries ended before the failure passed. The text names the operation and the last failure."""


async def retried(
    attempt: Callable[[], Awaitable[T]],
    what: str,
    timeout_s: float,
    *,
    pause_s: float = RETRY_S,
    lets_finish: bool = False,
) -> T:
    """Return the result of ``attempt``. Repeat it after each failure that can pass, and log the first of these.

    With ``lets_finish`` the last attempt begins within ``timeout_s`` and may end later.

    Raises:
        GaveUp: ``timeout_s`` seconds are over; the text begins with ``what``, the name of the operation.
        KafkaError: an error that cannot pass.
    """
    failure = ""
    deadline = trio.current_time() + timeout_s
    with trio.move_on_at(math.inf if lets_finish else deadline):
        while not failure or trio.current_time() < deadline:
            try:
                return await attempt()
            except Exception as error:
                if not passes(error):
                    raise
                if not failure:
                    level = logging.DEBUG if _is_usual(error) else logging.WARNING
                    logger.log(level, "%s: %s; trying again", what, reason(error))
                failure = reason(error)
            await trio.sleep(pause_s)
    raise GaveUp(f"{what}: gave up after {timeout_s:g} seconds: {failure or 'no answer in time'}")


def _is_usual(error: Exception) -> bool:
    """Whether a healthy cluster causes it: a producer begins a transaction just after the end of the last one."""
    return isinstance(error, KafkaError) and error.code is ErrorCode.CONCURRENT_TRANSACTIONS


def passes(error: Exception) -> bool:
    """Whether an attempt that failed with this error may succeed later."""
    if isinstance(error, KafkaError):
        return error.code in PASSING
    return isinstance(error, OSError | trio.TooSlowError | ClusterUnreachable)
