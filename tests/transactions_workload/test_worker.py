"""A client that does not return stops no process of the workload."""

from __future__ import annotations

import threading

import confluent_kafka as ck
import pytest

from tests.transactions_workload.worker import ClientStuck, in_time

LIMIT_S = 60.0


def test_a_call_that_does_not_return_is_left_behind() -> None:
    release = threading.Event()
    with pytest.raises(ClientStuck):
        in_time(lambda: release.wait(LIMIT_S), 0.01)
    release.set()


def test_the_failure_of_a_call_is_raised() -> None:
    error = ck.KafkaException(ck.KafkaError(ck.KafkaError._FENCED))

    def fail() -> None:
        raise error

    with pytest.raises(ck.KafkaException) as raised:
        in_time(fail, LIMIT_S)
    assert raised.value is error


def test_a_call_that_returns_is_over() -> None:
    done: list[int] = []
    in_time(lambda: done.append(1), LIMIT_S)
    assert done == [1]
