"""The check that a transactional write belongs to an open transaction (KIP-890), at the broker that appends it.

A write of a producer without an open transaction in the partition waits until the transaction's coordinator has
confirmed that the partition belongs to the transaction. Otherwise a write that arrives after the end of its transaction
would begin one that nobody ends. Clients that know the newer protocol (``transaction.version`` 2) do not add
partitions themselves; for them the same request adds the partition.

One task for each coordinating broker sends AddPartitionsToTxn, with everything that waits in one request, as Apache's
``AddPartitionsToTxnManager``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.coordinator.partitions import coordinator_partition
from kraft.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kraft.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from kraft.messages.registry import ApiKey
from kraft.metadata.partitions import NO_LEADER
from kraft.metrics import Registry
from kraft.quorum.peers import Connect
from kraft.replication.replicas import Replicas
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import TRANSACTION_TOPIC

logger = logging.getLogger("kraft.transactions")

BATCHED_VERSION = 4
"""The first version of AddPartitionsToTxn for brokers. An older coordinator confirms nothing, so all writes pass."""
_MAX_WAITING = 1_000
"""Not a Kafka setting. The producers that wait for one coordinator. Further ones retry."""
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

    def put_for_all(self, code: ErrorCode) -> None:
        self.put({(topic.name, index): code for topic in self.transaction.topics for index in topic.partitions})


@attrs.define(eq=False)
class TransactionVerification:
    """The senders to all coordinators."""

    config: NodeConfig
    replicas: Replicas
    connect: Connect
    registry: Registry
    _senders: dict[int, _Sender] = attrs.Factory(dict)
    _starting: list[_Sender] = attrs.Factory(list)
    _started: trio.Event = attrs.Factory(trio.Event)

    async def run(self) -> None:
        """Run the senders until cancelled."""
        async with trio.open_nursery() as nursery:
            while True:
                starting, self._starting = self._starting, []
                for sender in starting:
                    nursery.start_soon(sender.run, name=f"coordinator {sender.broker_id}")
                await self._started.wait()
                self._started = trio.Event()

    async def verify(
        self, transactional_id: str, producer: tuple[int, int], topics: Mapping[str, Sequence[int]], *, add: bool
    ) -> Verdicts:
        """Ask the coordinator whether these partitions belong to the open transaction of ``producer``, an id and an
        epoch. With ``add`` they belong to it from now on.

        Raises:
            KafkaError: COORDINATOR_NOT_AVAILABLE if there is no coordinator, or NETWORK_EXCEPTION if it does not
                respond within ``request.timeout.ms``.
        """
        sender = self._sender(transactional_id)
        producer_id, producer_epoch = producer
        named = [AddPartitionsToTxnTopic(name, list(indexes)) for name, indexes in topics.items()]
        waiting = _Waiting(AddPartitionsToTxnTransaction(transactional_id, producer_id, producer_epoch, not add, named))
        began_s = trio.current_time()
        sender.add(waiting)
        with trio.move_on_after(self.config.network.request_timeout_ms / 1000):
            await waiting.arrived.wait()
        if waiting.verdicts is None:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION)
        self._measure(trio.current_time() - began_s, waiting.verdicts)
        return waiting.verdicts

    def _measure(self, duration_s: float, verdicts: Verdicts) -> None:
        self.registry.histogram(*_METRICS, "VerificationTimeMs", scale=0.001).record(int(duration_s * 1_000_000))
        failures = sum(1 for code in verdicts.values() if code is not ErrorCode.NONE)
        self.registry.meter(*_METRICS, "VerificationFailureRate").count += failures

    def _sender(self, transactional_id: str) -> _Sender:
        count = self.replicas.partition_count(TRANSACTION_TOPIC)
        leader = NO_LEADER
        if count:
            index = coordinator_partition(transactional_id, count)
            leader, _ = self.replicas.known_leader(TRANSACTION_TOPIC, index)
        if leader == NO_LEADER:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        sender = self._senders.get(leader)
        if sender is None:
            sender = self._senders[leader] = _Sender(leader, self.config, self.replicas, self.connect)
            self._starting.append(sender)
            self._started.set()
        return sender


@attrs.define(eq=False)
class _Sender:
    """The requests to one broker, one after the other."""

    broker_id: int
    config: NodeConfig
    replicas: Replicas
    connect: Connect
    _waiting: list[_Waiting] = attrs.Factory(list)
    _added: trio.Event = attrs.Factory(trio.Event)

    def add(self, waiting: _Waiting) -> None:
        """Send ``waiting`` with the next request. Raises KafkaError COORDINATOR_NOT_AVAILABLE if too many wait."""
        if len(self._waiting) >= _MAX_WAITING:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self._waiting.append(waiting)
        self._added.set()

    async def run(self) -> None:
        """Send what waits until cancelled.

        Error handling: all that waits fails with NETWORK_EXCEPTION, and the clients retry.
        """
        while True:
            await self._added.wait()
            broker = self.replicas.image.brokers.get(self.broker_id)
            endpoint = None if broker is None else broker.endpoint(self.config.listeners.inter_broker or "")
            if endpoint is None:
                self._fail()
                continue
            timeout_s = self.config.network.request_timeout_ms / 1000
            client_id = f"broker-{self.config.node_id}-transactions"
            try:
                async with self.connect(endpoint.host, endpoint.port, client_id, timeout_s) as connection:
                    while True:
                        await self._send(connection)
                        await self._added.wait()
            except (OSError, trio.TooSlowError, KafkaError) as failure:
                reason = failure or type(failure).__name__
                logger.info("broker %d does not verify transactions, producers retry: %s", self.broker_id, reason)
                self._fail()

    def _fail(self) -> None:
        failed, self._waiting = self._waiting, []
        self._added = trio.Event()
        for waiting in failed:
            waiting.put_for_all(ErrorCode.NETWORK_EXCEPTION)

    def _next(self) -> list[_Waiting]:
        """Take the transactions of the next request. It names each transactional id once."""
        chosen: dict[str, _Waiting] = {}
        later = []
        for waiting in self._waiting:
            transactional_id = waiting.transaction.transactional_id
            if len(chosen) < _PER_REQUEST and transactional_id not in chosen:
                chosen[transactional_id] = waiting
            else:
                later.append(waiting)
        self._waiting = later
        if not later:
            self._added = trio.Event()
        return list(chosen.values())

    async def _send(self, connection: Connection) -> None:
        """Send one request, and pass the verdicts on.

        Raises:
            Disconnected, trio.TooSlowError: The connection failed. The sent transactions have NETWORK_EXCEPTION.
        """
        sent = self._next()
        try:
            newest = min(connection.versions.get(ApiKey.ADD_PARTITIONS_TO_TXN, (0, 0))[1], 5)
            if newest < BATCHED_VERSION:
                for waiting in sent:
                    waiting.put_for_all(ErrorCode.NONE)
                return
            response = await connection.request(
                AddPartitionsToTxnRequest(transactions=[each.transaction for each in sent]), newest
            )
            assert isinstance(response, AddPartitionsToTxnResponse)
            if response.error_code:
                for waiting in sent:
                    waiting.put_for_all(ErrorCode(response.error_code))
            _pass_on(sent, response)
        finally:
            for waiting in sent:
                if waiting.verdicts is None:
                    waiting.put_for_all(ErrorCode.NETWORK_EXCEPTION)


def _pass_on(sent: Sequence[_Waiting], response: AddPartitionsToTxnResponse) -> None:
    """Give each producer the verdicts of its transaction."""
    by_id = {result.transactional_id: result.topic_results for result in response.results_by_transaction}
    for waiting in sent:
        topics = by_id.get(waiting.transaction.transactional_id)
        if topics is not None and waiting.verdicts is None:
            waiting.put(
                {
                    (topic.name, partition.partition_index): ErrorCode(partition.partition_error_code)
                    for topic in topics
                    for partition in topic.results_by_partition
                }
            )
