"""The transactions of a cluster for its administrator (KIP-664): list and describe them, and end those that hang.

A transaction hangs in a partition if its coordinator will never write a marker there: the transactional id has expired,
or its transaction does not include the partition. Until an administrator ends it, the last stable offset does not rise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from kraft.client.cluster import TIMEOUT_S, Cluster, CoordinatorType, check
from kraft.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from kraft.messages.describe_producers_response import ProducerState
from kraft.messages.describe_transactions_request import DescribeTransactionsRequest
from kraft.messages.list_transactions_request import ListTransactionsRequest
from kraft.messages.metadata_response import MetadataResponseTopic
from kraft.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kraft.wire.errors import ErrorCode, KafkaError

_BATCH = 500
"""The partitions of one DescribeProducers request."""
_ALL = -1

Place = tuple[str, int]
"""A topic and the number of a partition."""


@attrs.frozen
class ListedTransaction:
    """A transactional id, and the broker that coordinates it."""

    transactional_id: str
    coordinator_id: int
    producer_id: int
    state: str


@attrs.frozen
class DescribedTransaction:
    """A transactional id. ``started_ms`` is None if it has no transaction. ``partitions`` are those of the open
    transaction, or those of a prepared one whose marker is not written.
    """

    transactional_id: str
    coordinator_id: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    started_ms: int | None
    partitions: tuple[Place, ...]


@attrs.frozen
class OpenTransaction:
    """A transaction that is open in a partition. ``last_timestamp_ms`` is the largest of its producer's last batch."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_timestamp_ms: int


async def list_transactions(
    cluster: Cluster, *, duration_ms: int = _ALL, producer_ids: Iterable[int] = (), pattern: str | None = None
) -> list[ListedTransaction]:
    """Return the transactional ids of all coordinators, in order; perhaps only those with one of ``producer_ids``, or
    that match ``pattern``, or whose transactions are open for more than ``duration_ms``.

    Raises:
        KafkaError: a broker refused.
        UnsupportedVersionError: a broker is too old for a duration (KIP-994) or a pattern (KIP-1152).
        GaveUp: a coordinator was still loading after the time for retries.
    """
    request = ListTransactionsRequest(
        producer_id_filters=sorted(producer_ids), duration_filter=duration_ms, transactional_id_pattern=pattern
    )
    found: list[ListedTransaction] = []

    async def attempt() -> None:
        found.clear()
        for broker in await cluster.brokers():
            response = await cluster.request(request, broker)
            check(response.error_code, None if pattern is None else f"pattern {pattern}: {_text(response.error_code)}")
            for each in response.transaction_states:
                listed = ListedTransaction(each.transactional_id, broker, each.producer_id, each.transaction_state)
                found.append(listed)

    await cluster.retried(attempt, "the list of transactions", TIMEOUT_S)
    return sorted(found, key=lambda each: each.transactional_id)


async def describe_transaction(cluster: Cluster, transactional_id: str) -> DescribedTransaction:
    """Describe one transactional id.

    Raises:
        KafkaError: TRANSACTIONAL_ID_NOT_FOUND if the cluster has no such id, or another refusal.
        GaveUp: no coordinator responded in time.
    """
    response = await cluster.ask_coordinator(
        transactional_id,
        DescribeTransactionsRequest([transactional_id]),
        lambda answer: answer.transaction_states[0].error_code,
        CoordinatorType.TRANSACTION,
    )
    (state,) = response.transaction_states
    check(state.error_code, f"transactional id {transactional_id}: {ErrorCode(state.error_code).message}")
    started_ms = state.transaction_start_time_ms
    return DescribedTransaction(
        transactional_id,
        cluster.coordinator_of(transactional_id, CoordinatorType.TRANSACTION),
        state.producer_id,
        state.producer_epoch,
        state.transaction_state,
        state.transaction_timeout_ms,
        None if started_ms < 0 else started_ms,
        tuple((topic.topic, index) for topic in state.topics for index in topic.partitions),
    )


async def describe_producers(
    cluster: Cluster, places: Sequence[Place], broker_id: int | None = None
) -> dict[Place, list[ProducerState]]:
    """Return the producers that each partition remembers: those of its leader, or of the replica of ``broker_id``.

    Raises:
        KafkaError: a partition does not exist, or a broker refused.
        GaveUp: a partition had no leader in time.
    """
    found: dict[Place, list[ProducerState]] = {}

    async def attempt() -> None:
        missing = [place for place in places if place not in found]
        for broker, wanted in (await _brokers(cluster, missing, broker_id)).items():
            for start in range(0, len(wanted), _BATCH):
                topics = [TopicRequest(name, indexes) for name, indexes in _by_topic(wanted[start : start + _BATCH])]
                response = await cluster.request(DescribeProducersRequest(topics), broker)
                for topic in response.topics:
                    for each in topic.partitions:
                        check(each.error_code, f"{topic.name}-{each.partition_index}: {_text(each.error_code)}")
                        found[topic.name, each.partition_index] = each.active_producers

    await cluster.retried(attempt, "the producers", TIMEOUT_S)
    return found


async def open_transactions(
    cluster: Cluster, places: Sequence[Place], broker_id: int | None = None
) -> list[OpenTransaction]:
    """Return the transactions that are open in these partitions. Raises as :func:`describe_producers`."""
    return [
        OpenTransaction(
            topic,
            partition,
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.current_txn_start_offset,
            each.last_timestamp,
        )
        for (topic, partition), producers in sorted((await describe_producers(cluster, places, broker_id)).items())
        for each in producers
        if each.current_txn_start_offset >= 0
    ]


async def find_hanging(cluster: Cluster, candidates: Iterable[OpenTransaction]) -> list[OpenTransaction]:
    """Return those of the open transactions that no coordinator will end.

    Raises:
        KafkaError: a broker refused.
        GaveUp: a coordinator did not respond in time.
    """
    transactions = list(candidates)
    if not transactions:
        return []
    listed = await list_transactions(cluster, producer_ids={each.producer_id for each in transactions})
    ending: dict[int, tuple[Place, ...]] = {}
    for each in listed:
        try:
            ending[each.producer_id] = (await describe_transaction(cluster, each.transactional_id)).partitions
        except KafkaError as refused:
            if refused.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise
    return [each for each in transactions if (each.topic, each.partition) not in ending.get(each.producer_id, ())]


async def abort_transaction(cluster: Cluster, transaction: OpenTransaction) -> None:
    """Write an abort marker to the partition, without the transaction's coordinator.

    Raises:
        KafkaError: INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED if the partition knows a newer one, or
            another refusal.
        GaveUp: the partition had no leader in time.
    """
    place = transaction.topic, transaction.partition
    marker = WritableTxnMarker(
        transaction.producer_id,
        transaction.producer_epoch,
        False,
        [WritableTxnMarkerTopic(transaction.topic, [transaction.partition])],
        # No coordinator has ended a transaction of this producer yet. 0 is not above any coordinator's epoch.
        max(transaction.coordinator_epoch, 0),
    )

    async def attempt() -> None:
        ((leader, _),) = (await _brokers(cluster, [place], None)).items()
        response = await cluster.request(WriteTxnMarkersRequest([marker]), leader)
        check(response.markers[0].topics[0].partitions[0].error_code)

    await cluster.retried(attempt, f"the marker of {transaction.topic}-{transaction.partition}", TIMEOUT_S)


async def replicated_places(cluster: Cluster, topics: Sequence[str] | None, broker_id: int | None) -> list[Place]:
    """Return the partitions of these topics, or of all if None; with ``broker_id`` only its replicas.

    Raises KafkaError if a topic does not exist, or a broker refused.
    """
    found: list[MetadataResponseTopic] = (await cluster.metadata(topics)).topics
    for topic in found:
        check(topic.error_code, f"topic {topic.name}: {_text(topic.error_code)}")
    return [
        (topic.name or "", each.partition_index)
        for topic in found
        for each in topic.partitions
        if broker_id is None or broker_id in each.replica_nodes
    ]


async def _brokers(cluster: Cluster, places: Sequence[Place], broker_id: int | None) -> Mapping[int, list[Place]]:
    """Return the brokers to ask, with the partitions of each. Raises KafkaError, among others LEADER_NOT_AVAILABLE."""
    if broker_id is not None:
        await cluster.brokers()
        return {broker_id: list(places)}
    found: dict[int, list[Place]] = {}
    for topic, indexes in _by_topic(places):
        leaders = await cluster.leaders(topic)
        for index in indexes:
            if index not in leaders:
                raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{topic}-{index} has no leader")
            found.setdefault(leaders[index], []).append((topic, index))
    return found


def _by_topic(places: Iterable[Place]) -> Iterator[tuple[str, list[int]]]:
    topics: dict[str, list[int]] = {}
    for topic, index in places:
        topics.setdefault(topic, []).append(index)
    yield from topics.items()


def _text(code: int) -> str:
    return ErrorCode(code).message
