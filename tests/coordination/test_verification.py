"""The requests that ask coordinators whether partitions belong to open transactions (KIP-890)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import attrs
import pytest
import trio
import trio.testing

from kraft.config.properties import from_mapping
from kraft.coordination.verification import TransactionVerification
from kraft.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from kraft.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.registry import ApiKey
from kraft.messages.topic_record import TopicRecord
from kraft.metrics import Histogram, Registry
from kraft.rpc.client import Connection, Disconnected
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import TRANSACTION_TOPIC
from tests.support.held import broker_in, registration

STATE_ID = UUID(int=5)
CONFIG = from_mapping(SETTINGS).config


@attrs.define
class Coordinator:
    """Answers when ``answers`` is set: NONE, or the code of the transactional id."""

    newest: int = 5
    codes: dict[str, ErrorCode] = attrs.Factory(dict)
    code: ErrorCode = ErrorCode.NONE
    answers: trio.Event = attrs.Factory(trio.Event)
    breaks: bool = False
    versions: dict[int, tuple[int, int]] = attrs.Factory(dict)
    requests: list[AddPartitionsToTxnRequest] = attrs.Factory(list)

    @asynccontextmanager
    async def connect(self, host: str, port: int, client_id: str, timeout_s: float) -> AsyncIterator[Connection]:
        assert client_id == "broker-1-transactions"
        self.versions = {ApiKey.ADD_PARTITIONS_TO_TXN: (0, self.newest)}
        yield cast(Connection, self)

    async def request(self, request: AddPartitionsToTxnRequest, version: int) -> AddPartitionsToTxnResponse:
        assert version == self.newest
        self.requests.append(request)
        await self.answers.wait()
        if self.breaks:
            raise Disconnected("gone")
        if self.code:
            return AddPartitionsToTxnResponse(error_code=self.code)
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    each.transactional_id,
                    [
                        AddPartitionsToTxnTopicResult(
                            topic.name,
                            [
                                AddPartitionsToTxnPartitionResult(
                                    index, self.codes.get(each.transactional_id, ErrorCode.NONE)
                                )
                                for index in topic.partitions
                            ],
                        )
                        for topic in each.topics
                    ],
                )
                for each in request.transactions
            ]
        )


@asynccontextmanager
async def verifying(path: Path, coordinator: Coordinator, *, leader: int = 2) -> AsyncIterator[TransactionVerification]:
    broker = broker_in(path, 1)
    await broker.replicas.registered(5)
    await broker.hear(
        registration(1, 5),
        registration(2, 6),
        TopicRecord(name=TRANSACTION_TOPIC, topic_id=STATE_ID),
        PartitionRecord(
            partition_id=0, topic_id=STATE_ID, replicas=[2], isr=[2], leader=leader, leader_epoch=0, partition_epoch=0
        ),
    )
    connect = cast(Any, coordinator.connect)
    own = cast(Any, None)  # another broker coordinates
    verification = TransactionVerification(CONFIG, broker.replicas, own, connect, Registry())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(verification.run)
        yield verification
        nursery.cancel_scope.cancel()


async def test_what_waits_goes_in_one_request(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """``AddPartitionsToTxnManager``: one request under way, and everything that waits in the next one. The request
    names each transactional id once."""
    coordinator = Coordinator(codes={"c": ErrorCode.INVALID_TXN_STATE})
    found: dict[str, Any] = {}

    async def verify(verification: TransactionVerification, name: str, transactional_id: str) -> None:
        found[name] = await verification.verify(transactional_id, (7, 1), {"t": [0, 1]}, add=False)

    async with verifying(tmp_path, coordinator) as verification, trio.open_nursery() as nursery:
        for name in ("a", "b", "c", "b again"):
            nursery.start_soon(verify, verification, name, name[0])
            await trio.testing.wait_all_tasks_blocked()
        coordinator.answers.set()
    sent = [[each.transactional_id for each in request.transactions] for request in coordinator.requests]
    assert sent == [["a"], ["b", "c"], ["b"]]
    first = coordinator.requests[0].transactions[0]
    assert (first.producer_id, first.producer_epoch, first.verify_only) == (7, 1, True)
    confirmed = {("t", 0): ErrorCode.NONE, ("t", 1): ErrorCode.NONE}
    assert found["a"] == found["b"] == found["b again"] == confirmed
    assert found["c"] == dict.fromkeys(confirmed, ErrorCode.INVALID_TXN_STATE)


async def test_verifications_are_measured(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """``AddPartitionsToTxnManager``: the time of each verification, and the partitions that were not confirmed."""
    coordinator = Coordinator(codes={"b": ErrorCode.INVALID_TXN_STATE})
    async with verifying(tmp_path, coordinator) as verification, trio.open_nursery() as nursery:

        async def verify() -> None:
            await verification.verify("b", (7, 1), {"t": [0, 1]}, add=False)

        nursery.start_soon(verify)
        await trio.sleep(2)
        coordinator.answers.set()
    of = "kafka.server:type=AddPartitionsToTxnManager,name="
    assert verification.registry.get(f"{of}VerificationFailureRate").value == 2
    times = verification.registry.get(f"{of}VerificationTimeMs")
    assert isinstance(times, Histogram)
    assert times.count == 1
    assert times.largest == pytest.approx(2_000_000, abs=1)


async def test_a_broken_connection_fails_what_was_sent(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    coordinator = Coordinator(breaks=True)
    coordinator.answers.set()
    async with verifying(tmp_path, coordinator) as verification:
        assert await verification.verify("a", (7, 1), {"t": [0]}, add=True) == {("t", 0): ErrorCode.NETWORK_EXCEPTION}
        coordinator.breaks = False
        assert await verification.verify("a", (7, 1), {"t": [0]}, add=True) == {("t", 0): ErrorCode.NONE}
        assert not coordinator.requests[0].transactions[0].verify_only


async def test_an_error_of_the_whole_request_is_that_of_each_partition(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    coordinator = Coordinator(code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    coordinator.answers.set()
    async with verifying(tmp_path, coordinator) as verification:
        found = await verification.verify("a", (7, 1), {"t": [0]}, add=False)
    assert found == {("t", 0): ErrorCode.CLUSTER_AUTHORIZATION_FAILED}


async def test_an_older_coordinator_lets_all_writes_pass(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Versions below 4 cannot verify. ``AddPartitionsToTxnManager`` then skips the verification."""
    async with verifying(tmp_path, Coordinator(newest=3)) as verification:
        assert await verification.verify("a", (7, 1), {"t": [0]}, add=False) == {("t", 0): ErrorCode.NONE}


async def test_a_silent_coordinator_is_given_up(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """``request.timeout.ms``."""
    async with verifying(tmp_path, Coordinator()) as verification:
        started = trio.current_time()
        with pytest.raises(KafkaError) as caught:
            await verification.verify("a", (7, 1), {"t": [0]}, add=False)
    assert caught.value.code is ErrorCode.NETWORK_EXCEPTION
    assert trio.current_time() - started == pytest.approx(CONFIG.network.request_timeout_ms / 1000)


async def test_without_a_coordinator_nothing_waits(tmp_path: Path) -> None:
    async with verifying(tmp_path, Coordinator(), leader=-1) as verification:
        with pytest.raises(KafkaError) as caught:
            await verification.verify("a", (7, 1), {"t": [0]}, add=False)
    assert caught.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_too_many_producers_retry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """Every queue is bounded: the first request is under way, two wait, and the fourth is refused."""
    monkeypatch.setattr("kraft.coordination.broker_senders._MAX_WAITING", 2)
    async with verifying(tmp_path, Coordinator()) as verification, trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(partial(verification.verify, f"{number}", (7, 1), {"t": [0]}, add=False))
            await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(KafkaError) as caught:
            await verification.verify("4", (7, 1), {"t": [0]}, add=False)
        nursery.cancel_scope.cancel()
    assert caught.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
