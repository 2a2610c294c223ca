"""The requests of a transaction (KIP-98) and those that inspect it (KIP-664), at one node."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from kraft.api import add_partitions_to_txn
from kraft.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from kraft.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kraft.messages.add_partitions_to_txn_response import AddPartitionsToTxnResult
from kraft.messages.describe_transactions_request import DescribeTransactionsRequest
from kraft.messages.end_txn_request import EndTxnRequest
from kraft.messages.list_transactions_request import ListTransactionsRequest
from kraft.rpc.channel import ConnectionInfo, Parked, Request, response_of
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.producers import has_transactions, initialized, settled
from tests.support.eventually import eventually_async


async def added(
    broker: Connection, version: int, transactional_id: str, producer: tuple[int, int], **topics: list[int]
) -> list[int]:
    """Add partitions of topics in a version, and return the error of each one."""
    named = [AddPartitionsToTxnTopic(name, indexes) for name, indexes in topics.items()]
    if version >= 4:
        transaction = AddPartitionsToTxnTransaction(transactional_id, *producer, topics=named)
        answer = await broker.request(AddPartitionsToTxnRequest(transactions=[transaction]), version)
        (result,) = answer.results_by_transaction
        results = result.topic_results
    else:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=named,
        )
        results = (await broker.request(request, version)).results_by_topic_v3_and_below
    return [each.partition_error_code for topic in results for each in topic.results_by_partition]


async def described(broker: Connection, transactional_id: str) -> tuple[int, str, int, dict[str, list[int]]]:
    (state,) = (await broker.request(DescribeTransactionsRequest([transactional_id]))).transaction_states
    topics = {each.topic: each.partitions for each in state.topics}
    return state.error_code, state.transaction_state, state.producer_id, topics


@pytest.mark.parametrize("version", range(6))
async def test_partitions_join_a_transaction(broker: Connection, topic: str, new_name: str, version: int) -> None:
    """From version 4 on brokers send it, for many transactions at once (KIP-890)."""
    producer = await initialized(broker, f"id-{new_name}")
    assert await added(broker, version, f"id-{new_name}", producer, **{topic: [0]}) == [0]
    assert await described(broker, f"id-{new_name}") == (0, "Ongoing", producer[0], {topic: [0]})


@pytest.mark.parametrize("version", [3, 4])
async def test_no_partition_joins_with_one_that_does_not_exist(
    broker: Connection, topic: str, new_name: str, version: int
) -> None:
    """``KafkaApis.handleAddPartitionsToTxnRequest``: the others get OPERATION_NOT_ATTEMPTED."""
    producer = await initialized(broker, f"id-{new_name}")
    codes = await added(broker, version, f"id-{new_name}", producer, **{topic: [0, 1], "missing": [0]})
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [ErrorCode.OPERATION_NOT_ATTEMPTED, unknown, unknown]
    assert (await described(broker, f"id-{new_name}"))[1] == "Empty"


@pytest.mark.parametrize("name", ["__transaction_state", "__share_group_state"])
@pytest.mark.parametrize("version", [0, 3])
async def test_a_client_adds_no_internal_topic(
    broker: Connection, topic: str, new_name: str, version: int, name: str
) -> None:
    """``KafkaApis.handleAddPartitionsToTxnRequest`` counts no internal topic as authorized, and looks at that before it
    looks whether the topic exists. A marker in ``__transaction_state`` would be a record of no coordinator.
    """
    producer = await initialized(broker, f"id-{new_name}")
    codes = await added(broker, version, f"id-{new_name}", producer, **{topic: [0], name: [0, 9999], "missing": [0]})
    forbidden = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [ErrorCode.OPERATION_NOT_ATTEMPTED, forbidden, forbidden, unknown]
    assert (await described(broker, f"id-{new_name}"))[1] == "Empty"
    assert await added(broker, 4, f"id-{new_name}", producer, **{name: [9999]}) == [unknown], "of a broker"


async def test_a_partition_is_verified_without_joining(broker: Connection, topic: str, new_name: str) -> None:
    """KIP-890 ``verifyOnly``."""
    producer = await initialized(broker, f"id-{new_name}")
    named = [AddPartitionsToTxnTopic(topic, [0])]
    transaction = AddPartitionsToTxnTransaction(f"id-{new_name}", *producer, verify_only=True, topics=named)

    async def verdict() -> int:
        (result,) = (
            await broker.request(AddPartitionsToTxnRequest(transactions=[transaction]), 5)
        ).results_by_transaction
        code: int = result.topic_results[0].results_by_partition[0].partition_error_code
        return code

    assert await verdict() == ErrorCode.TRANSACTION_ABORTABLE
    await added(broker, 3, f"id-{new_name}", producer, **{topic: [0]})
    assert await verdict() == ErrorCode.NONE


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("commits", [True, False])
async def test_a_transaction_ends(
    broker: Connection, topic: str, new_name: str, version: int, *, commits: bool
) -> None:
    """The markers are written after the response. The group's partition of ``__consumer_offsets`` gets one, too."""
    producer = await initialized(broker, f"id-{new_name}")
    await added(broker, 3, f"id-{new_name}", producer, **{topic: [0]})
    offsets = AddOffsetsToTxnRequest(f"id-{new_name}", *producer, group_id="g")
    assert (await settled(broker, offsets, version)).error_code == 0
    (_, _, _, topics) = await described(broker, f"id-{new_name}")
    assert topics == {topic: [0], "__consumer_offsets": [0]}
    end = EndTxnRequest(f"id-{new_name}", *producer, committed=commits)
    assert (await settled(broker, end, version)).error_code == 0

    async def is_complete() -> bool:
        state = "CompleteCommit" if commits else "CompleteAbort"
        return await described(broker, f"id-{new_name}") == (0, state, producer[0], {})

    await eventually_async(is_complete)
    if commits:
        ended = await broker.request(EndTxnRequest(f"id-{new_name}", *producer, committed=False), version)
        assert ended.error_code == ErrorCode.INVALID_TXN_STATE


async def test_the_last_producer_is_fenced(broker: Connection, topic: str, new_name: str) -> None:
    """KIP-588: PRODUCER_FENCED, which clients do not know before version 2."""
    await initialized(broker, f"id-{new_name}")
    producer_id, epoch = await initialized(broker, f"id-{new_name}")
    for version, code in ((1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)):
        zombie = producer_id, epoch - 1
        assert await added(broker, version, f"id-{new_name}", zombie, **{topic: [0]}) == [code]
        end = EndTxnRequest(f"id-{new_name}", *zombie, committed=True)
        assert (await broker.request(end, version)).error_code == code


async def test_an_unknown_id_has_no_transaction(broker: Connection, new_name: str) -> None:
    """``TransactionCoordinator.handleDescribeTransactions``: TRANSACTIONAL_ID_NOT_FOUND."""
    await has_transactions(broker, new_name)
    assert (await described(broker, f"no-{new_name}"))[0] == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_transactions_are_listed_by_state(broker: Connection, topic: str, new_name: str, version: int) -> None:
    producer = await initialized(broker, f"id-{new_name}")
    await added(broker, 3, f"id-{new_name}", producer, **{topic: [0]})
    response = await broker.request(ListTransactionsRequest(["Ongoing", "Unheard"]), version)
    assert response.unknown_state_filters == ["Unheard"]
    assert (f"id-{new_name}", "Ongoing") in [
        (each.transactional_id, each.transaction_state) for each in response.transaction_states
    ]
    response = await broker.request(ListTransactionsRequest(["Empty"], [producer[0]]), version)
    assert response.transaction_states == []


async def test_the_age_of_a_transaction_is_measured_by_the_system_s_clock(
    broker: Connection, topic: str, new_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``TransactionStateManager.listTransactionStates``: ``time.milliseconds()``, also after the clock was set back."""
    wall_s = time.time
    monkeypatch.setattr("time.time", lambda: wall_s() - 7200)
    producer = await initialized(broker, f"id-{new_name}")
    await added(broker, 3, f"id-{new_name}", producer, **{topic: [0]})
    young = ListTransactionsRequest([], [producer[0]], duration_filter=3_600_000)
    assert (await broker.request(young, 2)).transaction_states == []


async def test_transactions_are_listed_by_a_pattern(broker: Connection, new_name: str) -> None:
    """KIP-1152: "a regular expression"; in ``TransactionStateManager`` it matches the whole id, and "empty or null"
    lists all.
    """
    for prefix in ("pay", "pay-more", "repay"):
        await initialized(broker, f"{prefix}-{new_name}")

    async def found(pattern: str | None) -> list[str]:
        response = await broker.request(ListTransactionsRequest(transactional_id_pattern=pattern), 2)
        assert response.error_code == ErrorCode.NONE
        ids = (each.transactional_id for each in response.transaction_states)
        return sorted(each for each in ids if each.endswith(f"-{new_name}"))

    assert await found(f"pay.*-{new_name}") == [f"pay-more-{new_name}", f"pay-{new_name}"]
    assert await found("pay") == []
    assert len(await found("")) == len(await found(None)) == 3
    refused = await broker.request(ListTransactionsRequest(transactional_id_pattern="("), 2)
    assert (refused.error_code, refused.transaction_states) == (ErrorCode.INVALID_REGULAR_EXPRESSION, [])


async def test_the_transactions_of_a_broker_wait_for_their_commits_together(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """``KafkaApis.handleAddPartitionsToTxnRequest`` begins all, and answers after the last. The broker that asks has
    one request at a time for each coordinator.
    """

    class Shard:
        def submit(self, request: Request, transaction: AddPartitionsToTxnTransaction) -> Parked:
            committed_at = trio.current_time() + 1

            async def wait() -> AddPartitionsToTxnResult:
                await trio.sleep_until(committed_at)
                return AddPartitionsToTxnResult(transaction.transactional_id)

            return Parked(wait)

    replicas = SimpleNamespace(partition_count=lambda name: 1)
    transactions = SimpleNamespace(shard_of=lambda transactional_id: Shard())
    context: Any = SimpleNamespace(replicas=replicas, coordinators=SimpleNamespace(transactions=transactions))
    named = [
        AddPartitionsToTxnTransaction(f"id-{number}", number, 0, topics=[AddPartitionsToTxnTopic("t", [0])])
        for number in range(20)
    ]
    request = Request(0, 5, 0, "broker", b"", 0, ConnectionInfo("PLAINTEXT", "PLAINTEXT", "h", 1, "h:1"))
    message = AddPartitionsToTxnRequest(transactions=named)
    response = await response_of(await add_partitions_to_txn.at_broker(context, request, message))
    assert [each.transactional_id for each in response.results_by_transaction] == [
        each.transactional_id for each in named
    ]
    assert trio.current_time() == 1
