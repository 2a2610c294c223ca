"""Transactions over topics and committed offsets (KIP-98): all of a transaction's records become visible, or none.

A producer with the same transactional id fences the one before it. The requests are those of protocol version 1
(``transaction.version`` 0 and 1), which every coordinator serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kraft.client.cluster import TIMEOUT_S, Cluster, CoordinatorType, check
from kraft.client.producer import Outgoing, Producer, ProducerIdentity
from kraft.client.retry import retried
from kraft.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from kraft.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kraft.messages.end_txn_request import EndTxnRequest
from kraft.messages.init_producer_id_request import InitProducerIdRequest
from kraft.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

TRANSACTION_TIMEOUT_MS = 60_000
"""``transaction.timeout.ms``"""
_NOBODY = -1
_RETRY_S = 0.02
"""The pause after CONCURRENT_TRANSACTIONS, as in the Java client: the end of a transaction takes milliseconds."""


class TransactionalProducer:
    """Writes transactions, one at a time. For use by one task.

    After an error of ``send``, ``send_offsets`` or ``commit`` call ``abort``. A producer that is fenced
    (INVALID_PRODUCER_EPOCH, PRODUCER_FENCED) cannot go on: another one with its transactional id has taken over.
    """

    def __init__(
        self, cluster: Cluster, transactional_id: str, *, transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS
    ) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._timeout_ms = transaction_timeout_ms
        self._identity = ProducerIdentity(transactional_id, _NOBODY, _NOBODY)
        self._producers: dict[str, Producer] = {}
        self._added: set[tuple[str, int]] = set()
        """The partitions and, with partition -1, the groups of the open transaction."""
        self._is_incomplete = False
        """Whether a ``send`` or ``send_offsets`` of the open transaction failed or was cancelled."""

    async def start(self) -> None:
        """Get a producer id, fence the producers before this one, and abort what they left open.

        Raises:
            KafkaError: the coordinator refused, for example a timeout beyond ``transaction.max.timeout.ms``.
            GaveUp: no coordinator responded in time.
        """
        request = InitProducerIdRequest(
            transactional_id=self._id,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.producer_epoch,
        )
        answer = await self._ask(request)
        self._identity = ProducerIdentity(self._id, answer.producer_id, answer.producer_epoch)
        self._producers.clear()
        self._added.clear()
        self._is_incomplete = False

    async def send(self, topic: str, partition: int, records: Sequence[Outgoing]) -> None:
        """Send records in the transaction, which the first send begins. Return when they are acknowledged.

        Raises:
            KafkaError: the coordinator or the leader refused.
            GaveUp: no coordinator or no leader responded in time.
        """
        before, self._is_incomplete = self._is_incomplete, True
        if (topic, partition) not in self._added:
            await self._ask(
                AddPartitionsToTxnRequest(
                    v3_and_below_transactional_id=self._id,
                    v3_and_below_producer_id=self._identity.producer_id,
                    v3_and_below_producer_epoch=self._identity.producer_epoch,
                    v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[partition])],
                ),
                lambda answer: answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code,
            )
            self._added.add((topic, partition))
        if topic not in self._producers:
            producer = Producer(self._cluster, topic, identity=self._identity)
            await producer.start()
            self._producers[topic] = producer
        await self._producers[topic].send_to(partition, records)
        self._is_incomplete = before

    async def send_offsets(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Commit offsets of a group in the transaction: they count if it commits. Raises as ``send``."""
        before, self._is_incomplete = self._is_incomplete, True
        if (group, _NOBODY) not in self._added:
            await self._ask(
                AddOffsetsToTxnRequest(
                    transactional_id=self._id,
                    producer_id=self._identity.producer_id,
                    producer_epoch=self._identity.producer_epoch,
                    group_id=group,
                )
            )
            self._added.add((group, _NOBODY))
        partitions = [
            TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
            for index, offset in sorted(offsets.items())
        ]
        request = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=group,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.producer_epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=partitions)],
        )
        answer = await self._cluster.ask_coordinator(
            group, request, lambda answer: answer.topics[0].partitions[0].error_code
        )
        for partition in answer.topics[0].partitions:
            check(partition.error_code)
        self._is_incomplete = before

    async def commit(self) -> None:
        """Commit the transaction, if one is open.

        Raises:
            RuntimeError: a ``send`` or ``send_offsets`` of the transaction failed or was cancelled: call ``abort``.
            KafkaError: the coordinator refused.
            GaveUp: no coordinator responded in time. The outcome is unknown.
        """
        if self._is_incomplete:  # as in Kafka's TransactionManager.maybeFailWithError
            raise RuntimeError(f"transactional id {self._id}: a send of the transaction failed; abort the transaction")
        await self._end(committed=True)

    async def abort(self) -> None:
        """Abort the transaction, if one is open. Raises as ``send``."""
        uncertain = any(producer.uncertain for producer in self._producers.values())
        await self._end(committed=False)
        if uncertain:  # A new epoch begins with sequence number 0 in each partition (KIP-360).
            await self.start()

    async def _end(self, *, committed: bool) -> None:
        if self._added:
            await self._ask(
                EndTxnRequest(
                    transactional_id=self._id,
                    producer_id=self._identity.producer_id,
                    producer_epoch=self._identity.producer_epoch,
                    committed=committed,
                )
            )
            self._added.clear()
        self._is_incomplete = False

    async def _ask(self, request: Any, code_of: Any = lambda answer: answer.error_code) -> Any:
        """Ask the transaction coordinator, again while the end of the last transaction is under way."""

        async def attempt() -> Any:
            answer = await self._cluster.ask_coordinator(self._id, request, code_of, CoordinatorType.TRANSACTION)
            check(code_of(answer))
            return answer

        return await retried(attempt, f"transactional id {self._id}", TIMEOUT_S, pause_s=_RETRY_S)
