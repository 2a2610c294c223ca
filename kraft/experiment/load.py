"""Producers that saturate the data planes of two brokers, and the account of the records that they lost.

Each connection has one request in flight, with a batch for each of 20 partitions (KIP-291's example), and the requests
of all connections fill the brokers' queues. Every batch has a number as its timestamp. So a reader of the log finds it
again by the header of the batch.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping

import attrs
import trio

from kraft.client.cluster import Cluster
from kraft.client.fetching import PartitionFetcher
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.metadata_response import MetadataResponse
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.produce_response import ProduceResponse
from kraft.records.batch import CHECKED, CHECKED_POSITION, MAGIC, UNCHECKED, checksum, parse_header
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch
from kraft.rpc.client import Connection, connect
from kraft.wire.errors import ErrorCode
from kraft.world.clock import Clock

TOPIC = "load"
PER_REQUEST = 20
PRODUCE_VERSION = 10
"""The first version whose response names the new leader (KIP-951)."""
METADATA_VERSION = 12
ALL, LEADER = -1, 1
TIMEOUT_S = 120.0
POLL_S = 0.02
NOBODY_LEADS_S = 0.01

Address = tuple[str, int]


@attrs.define
class ClientView:
    """The leaders as the clients know them: those of the newest epoch that any response named."""

    leaders: dict[int, tuple[int, int]] = attrs.Factory(dict)
    """Leader and epoch of each partition."""
    _by_broker: dict[int, list[int]] = attrs.Factory(dict)

    def learn(self, partition: int, leader: int, epoch: int) -> None:
        """Note a leader, unless a newer one is known."""
        if leader >= 0 and epoch > self.leaders.get(partition, (-1, -1))[1]:
            self.leaders[partition] = leader, epoch
            self._by_broker.clear()

    def led_by(self, broker: int) -> list[int]:
        if broker not in self._by_broker:
            led = (partition for partition, (leader, _) in self.leaders.items() if leader == broker)
            self._by_broker[broker] = sorted(led)
        return self._by_broker[broker]


@attrs.define
class Batches:
    """Encodes numbered batches. They differ in the timestamps and the checksum only, which makes them cheap."""

    template: bytes
    numbers: Iterator[int] = attrs.Factory(lambda: itertools.count(1))

    @classmethod
    def of(cls, records: int, value_bytes: int, compression: Compression) -> Batches:
        value = random.Random(1).randbytes(value_bytes)
        made = [Record(offset, 0, None, value, ()) for offset in range(records)]
        return cls(encode_batch(made, compression=compression))

    def encode(self) -> tuple[int, bytes]:
        """Return the number of the next batch, and the batch."""
        number = next(self.numbers)
        header = parse_header(self.template)
        end = CHECKED_POSITION + CHECKED.size
        fields = (header.attributes, header.last_offset_delta, number, number, -1, -1, -1, header.count)
        checked, records = CHECKED.pack(*fields), memoryview(self.template)[end:]
        crc = checksum(checked, records)
        return number, b"".join((UNCHECKED.pack(0, header.length, 0, MAGIC, crc), checked, records))


@attrs.define
class Account:
    """The batches that brokers acknowledged, by the ``acks`` of the request, and when each new leader began."""

    acknowledged: dict[int, set[int]] = attrs.Factory(lambda: {LEADER: set(), ALL: set()})
    """Their numbers."""
    requests: int = 0
    refused: int = 0
    """Batches that a broker refused, because it was not the leader."""
    first_ms: dict[tuple[int, int], float] = attrs.Factory(dict)
    """When the first acknowledgement of a broker for a partition came; for the brokers in ``awaited``."""
    awaited: set[tuple[int, int]] = attrs.Factory(set)

    def note(self, acks: int, broker: int, partition: int, number: int, now_ms: float) -> bool:
        """Note a batch; return whether its acknowledgement was awaited."""
        self.acknowledged[acks].add(number)
        if (broker, partition) not in self.awaited:
            return False
        self.awaited.remove((broker, partition))
        self.first_ms[broker, partition] = now_ms
        return True


@attrs.define
class Load:
    """The clients of one cluster: the producers, and one that follows each broker's metadata."""

    addresses: Mapping[int, Address]
    batches: Batches
    clock: Clock = attrs.Factory(Clock)
    view: ClientView = attrs.Factory(ClientView)
    account: Account = attrs.Factory(Account)
    metadata: dict[int, dict[int, int]] = attrs.Factory(dict)
    """For each broker, the leader epoch of each partition in its last Metadata response."""
    news: trio.lowlevel.ParkingLot = attrs.Factory(trio.lowlevel.ParkingLot)
    """Unparked after each Metadata response, and after an awaited acknowledgement."""

    async def follow_metadata(self, broker: int) -> None:
        """Request the metadata of the topic from a broker, again and again, until cancelled."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
        async with connect(*self.addresses[broker], "metadata", TIMEOUT_S) as connection:
            while True:
                response = await connection.request(request, METADATA_VERSION)
                assert isinstance(response, MetadataResponse)
                for topic in response.topics:
                    self.metadata[broker] = {each.partition_index: each.leader_epoch for each in topic.partitions}
                    for each in topic.partitions:
                        self.view.learn(each.partition_index, each.leader_id, each.leader_epoch)
                self.news.unpark_all()
                await trio.sleep(POLL_S)

    def known_epoch(self, broker: int, partition: int) -> int:
        """Return the newest leader epoch of a partition that a broker has named, or -1."""
        return self.metadata.get(broker, {}).get(partition, -1)

    async def produce(self, broker: int, acks: int, stopping: trio.Event, pause_s: float = 0.0) -> None:
        """Send one request after the other to a broker, each to 20 of the partitions that it leads."""
        turn = random.Random(f"{broker} {acks} {len(self.account.acknowledged)}").randrange(1000)
        async with connect(*self.addresses[broker], f"producer acks={acks}", TIMEOUT_S) as connection:
            while not stopping.is_set():
                led = self.view.led_by(broker)
                if led:
                    count = min(PER_REQUEST, len(led))
                    chosen = [led[(turn * count + each) % len(led)] for each in range(count)]
                    await self._produce(connection, broker, acks, chosen)
                    turn += 1
                await trio.sleep(pause_s if led else NOBODY_LEADS_S)

    async def _produce(self, connection: Connection, broker: int, acks: int, partitions: Iterable[int]) -> None:
        sent: dict[int, int] = {}
        data = []
        for partition in partitions:
            sent[partition], batch = self.batches.encode()
            data.append(PartitionProduceData(partition, batch))
        topics = [TopicProduceData(name=TOPIC, partition_data=data)]
        request = ProduceRequest(acks=acks, timeout_ms=int(TIMEOUT_S * 500), topic_data=topics)
        response = await connection.request(request, PRODUCE_VERSION)
        assert isinstance(response, ProduceResponse)
        now_ms = self.clock.now_s() * 1000
        self.account.requests += 1
        for each in response.responses[0].partition_responses:
            if each.error_code == ErrorCode.NONE:
                if self.account.note(acks, broker, each.index, sent[each.index], now_ms):
                    self.news.unpark_all()
            else:
                self.account.refused += 1
                self.view.learn(each.index, each.current_leader.leader_id, each.current_leader.leader_epoch)


async def stored_numbers(cluster: Cluster, ends: Mapping[int, int]) -> set[int]:
    """Return the numbers of the batches in the topic's partitions, up to these end offsets.

    Raises as :meth:`PartitionFetcher.next`.
    """
    found: set[int] = set()
    for partition, end in ends.items():
        fetcher = PartitionFetcher(cluster, TOPIC, partition, 0, retry_timeout_s=TIMEOUT_S)
        while fetcher.offset < end:
            batches = await fetcher.next(1.0)
            found.update(header.base_timestamp for _, header in batches.batches)
    return found
