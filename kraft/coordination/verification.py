"""The check that a transactional write belongs to an open transaction (KIP-890), at the broker that appends it.

A write of a producer without an open transaction in the partition waits until the transaction's coordinator has
confirmed that the partition belongs to the transaction. Otherwise a write that arrives after the end of its transaction
would begin one that nobody ends. Clients that know the newer protocol (``transaction.version`` 2) do not add
partitions themselves; for them the same request adds the partition.

Everything that waits for one coordinator goes in one AddPartitionsToTxn, as in Apache's ``AddPartitionsToTxnManager``.
A coordinator on this broker is asked without a request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.coordination.broker_senders import BrokerSenders
from kraft.coordination.transactions import Transactions
from kraft.coordinator.partitions import coordinator_partition
from kraft.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kraft.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.partitions import NO_LEADER
from kraft.metrics import Registry
from kraft.replication.replicas import Replicas
from kraft.rpc.client import Connect, Connection
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import TRANSACTION_TOPIC

BATCHED_VERSION = 4
"""The first version of AddPartitionsToTxn for brokers. An older coordinator confirms nothing, so all writes pass."""
_NEWEST_VERSION = 5
_PER_REQUEST = 100
_METRICS = ("kafka.server", "AddPartitionsToTxnManager")

Verdicts = Mapping[tuple[str, int], ErrorCode]
"""The error of each partition of one transaction, or NONE."""


@attrs.define(eq=False)
class _Waiting:
    """One transaction whose partitions are to be confirmed, and the coordinator's verdicts once they are there."""

    transaction: AddPartitionsToTxnTransaction
    verdicts: dict[tuple[str, int], ErrorCode] | None = None
    arrived: trio.Event = attrs.Factory(trio.Event)

    def put(self, verdicts: dict[tuple[str, int], ErrorCode]) -> None:
        self.verdicts = verdicts
        self.arrived.set()

    def fail(self, code: ErrorCode) -> None:
        if self.verdicts is None:
            self.put_for_all(code)

    def put_for_all(self, code: ErrorCode) -> None:
        self.put({(topic.name, index): code for topic in self.transaction.topics for index in topic.partitions})


@attrs.define(eq=False)
class TransactionVerification:
    """The coordinators on this broker, ``transactions``, and the senders to all others."""

    config: NodeConfig
    replicas: Replicas
    transactions: Transactions
    connect: Connect
    registry: Registry
    _senders: BrokerSenders[_Waiting] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._senders = BrokerSenders(self.config, self.replicas, self.connect, "transactions", _choose, _send)

    async def run(self) -> None:
        """Run the senders until cancelled."""
        await self._senders.run()

    async def verify(
        self, transactional_id: str, producer: tuple[int, int], topics: Mapping[str, Sequence[int]], *, add: bool
    ) -> Verdicts:
        """Ask the coordinator whether these partitions belong to the open transaction of ``producer``, an id and an
        epoch. With ``add`` they belong to it from now on.

        Raises KafkaError COORDINATOR_NOT_AVAILABLE if there is no coordinator, NETWORK_EXCEPTION if it does not respond
        within ``request.timeout.ms``, or the refusal of a coordinator on this broker.
        """
        coordinator = self._coordinator(transactional_id)
        producer_id, producer_epoch = producer
        named = [AddPartitionsToTxnTopic(name, list(indexes)) for name, indexes in topics.items()]
        transaction = AddPartitionsToTxnTransaction(transactional_id, producer_id, producer_epoch, not add, named)
        began_s = trio.current_time()
        verdicts: Verdicts | None = None
        with trio.move_on_after(self.config.network.request_timeout_ms / 1000):
            if coordinator == self.config.node_id:
                verdicts = await self._ask_own(transaction)
            else:
                verdicts = await self._ask(coordinator, transaction)
        if verdicts is None:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION)
        self._measure(trio.current_time() - began_s, verdicts)
        return verdicts

    async def _ask_own(self, transaction: AddPartitionsToTxnTransaction) -> Verdicts:
        shard = self.transactions.shard_of(transaction.transactional_id)
        result: AddPartitionsToTxnResult = await shard.request(transaction, _NEWEST_VERSION).wait()
        return _by_partition(result.topic_results)

    async def _ask(self, coordinator: int, transaction: AddPartitionsToTxnTransaction) -> Verdicts | None:
        waiting = _Waiting(transaction)
        self._senders.add(coordinator, waiting)
        await waiting.arrived.wait()
        return waiting.verdicts

    def _measure(self, duration_s: float, verdicts: Verdicts) -> None:
        self.registry.histogram(*_METRICS, "VerificationTimeMs", scale=0.001).record(int(duration_s * 1_000_000))
        failures = sum(1 for code in verdicts.values() if code is not ErrorCode.NONE)
        self.registry.meter(*_METRICS, "VerificationFailureRate").count += failures

    def _coordinator(self, transactional_id: str) -> int:
        """Return the id of the coordinating broker. Raises KafkaError COORDINATOR_NOT_AVAILABLE."""
        count = self.replicas.partition_count(TRANSACTION_TOPIC)
        leader = NO_LEADER
        if count:
            index = coordinator_partition(transactional_id, count)
            leader, _ = self.replicas.known_leader(TRANSACTION_TOPIC, index)
        if leader == NO_LEADER:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return leader


def _choose(waiting: Sequence[_Waiting]) -> list[_Waiting]:
    """Return the transactions of the next request. It names each transactional id once."""
    chosen: dict[str, _Waiting] = {}
    for each in waiting:
        if len(chosen) == _PER_REQUEST:
            break
        chosen.setdefault(each.transaction.transactional_id, each)
    return list(chosen.values())


async def _send(connection: Connection, sent: list[_Waiting]) -> None:
    """Send one request, and pass the verdicts on. Raises Disconnected, trio.TooSlowError."""
    newest = min(connection.versions.get(ApiKey.ADD_PARTITIONS_TO_TXN, (0, 0))[1], _NEWEST_VERSION)
    if newest < BATCHED_VERSION:
        for waiting in sent:
            waiting.put_for_all(ErrorCode.NONE)
        return
    request = AddPartitionsToTxnRequest(transactions=[each.transaction for each in sent])
    response = await connection.request(request, newest)
    assert isinstance(response, AddPartitionsToTxnResponse)
    if response.error_code:
        for waiting in sent:
            waiting.put_for_all(ErrorCode(response.error_code))
    _pass_on(sent, response)


def _pass_on(sent: Sequence[_Waiting], response: AddPartitionsToTxnResponse) -> None:
    """Give each producer the verdicts of its transaction."""
    by_id = {result.transactional_id: result.topic_results for result in response.results_by_transaction}
    for waiting in sent:
        topics = by_id.get(waiting.transaction.transactional_id)
        if topics is not None and waiting.verdicts is None:
            waiting.put(_by_partition(topics))


def _by_partition(topics: Sequence[AddPartitionsToTxnTopicResult]) -> dict[tuple[str, int], ErrorCode]:
    return {
        (topic.name, partition.partition_index): ErrorCode(partition.partition_error_code)
        for topic in topics
        for partition in topic.results_by_partition
    }
