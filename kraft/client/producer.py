"""Produce to one topic. Records are stored once and in order, also when leaders of its partitions change."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import trio

from kraft.client.cluster import LOOKUP_TIMEOUT_S, METADATA_MAX_AGE_S, TIMEOUT_MS, Cluster, check, version_for
from kraft.client.retry import passes
from kraft.messages.init_producer_id_request import InitProducerIdRequest
from kraft.messages.init_producer_id_response import InitProducerIdResponse
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.produce_response import PartitionProduceResponse
from kraft.records.batch import NO_PRODUCER_ID, NO_SEQUENCE
from kraft.records.compression import Compression
from kraft.records.record import Headers, Record, encode_batch
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.clock import Clock

DELIVERY_TIMEOUT_S = 120.0
"""``delivery.timeout.ms``: for how long a batch is retried."""
ALL_REPLICAS = -1
NO_ACKNOWLEDGEMENT = 0

KeyValue = tuple[bytes | None, bytes | None]
Outgoing = tuple[bytes | None, bytes | None, Headers]
"""Key, value and headers of a record."""

_MAX_SEQUENCE = 2**31 - 1
_PERHAPS_APPENDED = (
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.KAFKA_STORAGE_ERROR,
)


@attrs.frozen
class ProducerIdentity:
    """A transactional id, and the producer id and epoch that its coordinator gave."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class Producer:
    """Sends records to the partitions of one topic. For use by one task. Records of one partition stay in order.
    The producer takes partitions that are added to the topic into use after ``METADATA_MAX_AGE_S`` at the latest.

    With ``acks=ALL_REPLICAS`` the producer is idempotent (KIP-98). Batches carry a producer id and sequence numbers, so
    the leader recognises a batch that it has already stored. With ``acks=1`` a retry may store a batch twice. With
    ``acks=NO_ACKNOWLEDGEMENT`` the leader sends no response, and ``stored`` counts the records that were sent. With an
    ``identity`` the records belong to a transaction, which ``client.transactions`` begins and ends.
    """

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        *,
        partition: int | None = None,
        acks: int = ALL_REPLICAS,
        compression: Compression = Compression.NONE,
        delivery_timeout_s: float = DELIVERY_TIMEOUT_S,
        identity: ProducerIdentity | None = None,
        randrange: Callable[[int], int] | None = None,
    ) -> None:
        """``randrange`` chooses the partition with which records without a key begin; None: partition 0 or 1."""
        self.stored = 0
        """Records that the cluster acknowledged."""
        self.uncertain = 0
        """Records that were sent and not acknowledged: they may be stored or not."""
        self._cluster = cluster
        self._topic = topic
        self._partition = partition
        self._acks = acks
        self._compression = compression
        self._delivery_timeout_s = delivery_timeout_s
        self._partition_count = 0
        self._leaders: dict[int, int] = {}
        self._unanswering: dict[int, Connection] = {}
        """With acks=0, the connection of the last batch to each broker."""
        self._look_up_at_s = math.inf
        self._transactional_id: str | None = None
        self._id = (NO_PRODUCER_ID, -1)
        if identity is not None:
            self._transactional_id = identity.transactional_id
            self._id = (identity.producer_id, identity.producer_epoch)
        self._sequences: dict[int, int] = {}
        self._randrange = randrange
        self._round = 0
        self._clock = Clock()

    async def start(self) -> None:
        """Get the topic's partitions and a producer id. Creates the topic if the cluster allows that.

        Raises:
            KafkaError: the topic or the partition does not exist, or the cluster refuses the producer.
            GaveUp: the cluster did not respond in time.
        """
        topic = await self._cluster.topic(self._topic, create=True)
        self._partition_count = len(topic.partitions)
        self._look_up_at_s = trio.current_time() + METADATA_MAX_AGE_S
        if self._randrange is not None:
            self._round = self._randrange(self._partition_count)
        if self._partition is not None:
            self._check_partition(self._partition)
        if self._acks == ALL_REPLICAS and self._transactional_id is None:
            answer = await self._cluster.retried(self._ask_for_id, "producer id", self._delivery_timeout_s)
            self._id = (answer.producer_id, answer.producer_epoch)

    async def send(self, records: Sequence[KeyValue]) -> None:
        """Send keys and values. Return when they are acknowledged (with acks=0, when they are sent).

        A batch that is larger than the topic allows (``max.message.bytes``) is split, as by Kafka's producer.

        Raises:
            KafkaError: a leader refused a batch. The records before it are stored; those after it were not sent.
            GaveUp: no leader acknowledged a batch within ``delivery_timeout_s``.
            RuntimeError: an earlier call left records uncertain.
        """
        await self._look_up_if_due()
        self._round += 1
        by_partition: dict[int, list[Outgoing]] = {}
        for key, value in records:
            by_partition.setdefault(self.choose(key), []).append((key, value, ()))
        for partition, chosen in sorted(by_partition.items()):
            await self._send_in_order(partition, chosen)

    async def send_to(self, partition: int, records: Sequence[Outgoing]) -> None:
        """Send records to one partition, as one batch if the topic allows its size. Raises as ``send``, and KafkaError
        for an unknown partition.
        """
        await self._look_up_if_due()
        self._check_partition(partition)
        self._round += 1
        await self._send_in_order(partition, records)

    def choose(self, key: bytes | None) -> int:
        """Return the partition of a key. Without a key it is the same until the next batch is sent (KIP-794)."""
        if self._partition is not None:
            return self._partition
        if key is None:
            return self._round % self._partition_count
        return (murmur2(key) & 0x7FFFFFFF) % self._partition_count

    def _check_partition(self, partition: int) -> None:
        if not 0 <= partition < self._partition_count:
            text = f"topic {self._topic} has no partition {partition}"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)

    async def _ask_for_id(self) -> InitProducerIdResponse:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_MAX_SEQUENCE)
        answer: InitProducerIdResponse = await self._cluster.request(request)
        check(answer.error_code)
        return answer

    async def _send_in_order(self, partition: int, chosen: Sequence[Outgoing]) -> None:
        """Send records as one batch. Halve a batch of several records that is too large, as Kafka's
        ``Sender.completeBatch`` does.

        The leader appended nothing of the refused batch, so its first half begins at the same sequence number.
        """
        try:
            await self._send_batch(partition, chosen)
        except KafkaError as error:
            # If an earlier attempt may have stored the whole batch, a half would be neither new nor a duplicate.
            if error.code is not ErrorCode.MESSAGE_TOO_LARGE or len(chosen) < 2 or self.uncertain:
                raise
        else:
            return
        middle = len(chosen) // 2
        await self._send_in_order(partition, chosen[:middle])
        await self._send_in_order(partition, chosen[middle:])

    async def _send_batch(self, partition: int, chosen: Sequence[Outgoing]) -> None:
        if self.uncertain:  # else the next batch would reuse their sequence numbers and look like a duplicate
            raise RuntimeError(f"{self.uncertain} records are uncertain; make another producer")
        now_ms = self._clock.now_ms()
        sequence = self._sequences.get(partition, 0)
        producer_id, producer_epoch = self._id
        is_idempotent = producer_id != NO_PRODUCER_ID
        batch = encode_batch(
            [Record(offset, now_ms, *record) for offset, record in enumerate(chosen)],
            compression=self._compression,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=sequence if is_idempotent else NO_SEQUENCE,
            transactional=self._transactional_id is not None,
        )
        name, count = f"{self._topic}-{partition}", len(chosen)
        await self._cluster.retried(lambda: self._attempt(partition, batch, count), name, self._delivery_timeout_s)
        self.uncertain = 0
        self.stored += count
        self._sequences[partition] = (sequence + count) & _MAX_SEQUENCE

    async def _attempt(self, partition: int, batch: bytes, count: int) -> None:
        """Send a batch to the partition's leader. After a failure the next attempt asks another server."""
        if partition not in self._leaders or self._is_refused_by(self._leaders[partition]):
            await self._look_up()
        leader = self._leaders.pop(partition, None)
        if leader is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
        data = TopicProduceData(name=self._topic, partition_data=[PartitionProduceData(partition, batch)])
        request = ProduceRequest(
            transactional_id=self._transactional_id, acks=self._acks, timeout_ms=TIMEOUT_MS, topic_data=[data]
        )
        connection = await self._cluster.connection(leader)
        version = version_for(connection, request)
        before, self.uncertain = self.uncertain, count
        if self._acks == NO_ACKNOWLEDGEMENT:
            await connection.send(request, version)
            self._unanswering[leader] = connection
        else:
            answer = await connection.request(request, version)
            self._check(answer.responses[0].partition_responses[0], before)  # type: ignore[attr-defined]
        self._leaders[partition] = leader

    def _is_refused_by(self, leader: int) -> bool:
        """Whether a broker closed the connection after a batch with acks=0. It does so if it leads no more."""
        connection = self._unanswering.get(leader)
        return connection is not None and (connection.closed or connection.is_abandoned)

    async def _look_up(self) -> None:
        self._leaders = await self._cluster.leaders(self._topic)
        # Partitions are only added. Old metadata has fewer of them.
        self._partition_count = max([self._partition_count, *(partition + 1 for partition in self._leaders)])
        self._look_up_at_s = trio.current_time() + METADATA_MAX_AGE_S

    async def _look_up_if_due(self) -> None:
        """Look for new leaders and partitions if the metadata is old. After a failure that passes the producer goes on
        with those that it knows.
        """
        if trio.current_time() < self._look_up_at_s:
            return
        try:
            await self._look_up()
        except Exception as error:
            if not passes(error):
                raise
            self._look_up_at_s = trio.current_time() + LOOKUP_TIMEOUT_S
            self._cluster.change_server()

    def _check(self, answer: PartitionProduceResponse, uncertain_before: int) -> None:
        """Raise KafkaError for an error. A batch that this attempt did not store may have been stored by an earlier
        attempt.
        """
        if answer.error_code not in _PERHAPS_APPENDED:
            self.uncertain = uncertain_before
        # DUPLICATE_SEQUENCE_NUMBER: the leader has the batch, but no longer knows its offset.
        if answer.error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            check(answer.error_code, answer.error_message)


def murmur2(data: bytes) -> int:
    """Return the unsigned 32-bit MurmurHash2 by which Kafka's Java client assigns keys to partitions."""
    mixer, mask = 0x5BD1E995, 0xFFFFFFFF
    result = 0x9747B28C ^ len(data)
    whole = len(data) & ~3
    for position in range(0, whole, 4):
        word = int.from_bytes(data[position : position + 4], "little") * mixer & mask
        word = (word ^ word >> 24) * mixer & mask
        result = (result * mixer & mask) ^ word
    if whole < len(data):
        result = (result ^ int.from_bytes(data[whole:], "little")) * mixer & mask
    result = (result ^ result >> 13) * mixer & mask
    return result ^ result >> 15
