"""The request log as records of a topic: the values are the JSON lines, the key is the node id.

The node is a client of the cluster, also of its own broker. No node logs the requests of this client
(``Sampler.ignored_client``): otherwise every Produce of the request log would be a new line of it, for ever.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager

import attrs
import trio

from kraft.client.cluster import TIMEOUT_MS, Address, Cluster, check, open_cluster
from kraft.client.producer import Producer
from kraft.client.retry import ClusterUnreachable, GaveUp
from kraft.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kraft.metadata.image import Broker, Image
from kraft.records.compression import Compression
from kraft.request_log.lines import CLIENT_ID, RequestLines
from kraft.rpc.client import reason
from kraft.wire.decode_error import UnsupportedVersionError
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.dial import Dial

logger = logging.getLogger("kraft.node")

FLUSH_INTERVAL_S = 0.5
DELIVERY_TIMEOUT_S = 10.0
FINISH_LIMIT_S = 2.0
_RETRY_S = 1.0
_BATCH_BYTES = 512 * 2**10
"""Half of the smallest usual ``max.message.bytes``."""
_FAILURES = (KafkaError, GaveUp, ClusterUnreachable, UnsupportedVersionError, OSError, trio.TooSlowError)


@attrs.frozen
class LogTopic:
    """The topic of the request log. A node that does not find it creates it with these properties."""

    name: str
    replication_factor: int
    """The wanted number of replicas. Fewer brokers get fewer."""
    retention_bytes: int


class TopicWriter:
    """Writes the queued lines to a topic. Lines that a leader did not acknowledge are counted as dropped.

    ``image`` returns the committed metadata, which names the brokers. ``listener`` is their listener to use; without a
    name it is the first one of each.
    """

    def __init__(
        self, topic: LogTopic, node_id: int, image: Callable[[], Image], listener: str | None, dial: Dial
    ) -> None:
        self._topic = topic
        self._key = str(node_id).encode()
        self._image = image
        self._listener = listener
        self._dial = dial
        self._is_down = False

    async def run(self, lines: RequestLines) -> None:
        """Write what is queued, forever. While no broker can be reached, the lines stay in their bounded queue."""
        while True:
            try:
                if self._brokers():
                    async with self._producer() as producer:
                        await self._write(producer, lines)
            except _FAILURES as error:
                if not self._is_down:
                    what = f"the topic {self._topic.name} cannot be written: {reason(error)}"
                    logger.warning("request log: %s; lines that are lost are counted", what)
                self._is_down = True
            await trio.sleep(_RETRY_S)

    async def finish(self, lines: RequestLines) -> None:
        """Write the rest to another broker, if there is one. Raises nothing."""
        try:
            with trio.fail_after(FINISH_LIMIT_S):
                async with self._producer() as producer:
                    await self._flush(producer, lines)
        except _FAILURES:
            logger.info("request log: the last lines were not written: no broker took them")

    def close(self) -> None:
        """Nothing is held: ``run`` and ``finish`` close their connections."""

    async def _write(self, producer: Producer, lines: RequestLines) -> None:
        while True:
            await self._flush(producer, lines)
            self._is_down = False
            await trio.sleep(FLUSH_INTERVAL_S)

    async def _flush(self, producer: Producer, lines: RequestLines) -> None:
        taken, count = lines.take(), 0
        try:
            for batch in _batches(taken.lines):
                await producer.send([(self._key, line) for line in batch])
                count += len(batch)
        finally:
            lines.written(taken, count)

    @asynccontextmanager
    async def _producer(self) -> AsyncIterator[Producer]:
        """Connect to the brokers and find the topic. Raises any of _FAILURES."""
        servers = list(self._addresses())
        if not servers:
            raise ClusterUnreachable("no broker is active")
        async with open_cluster(servers, CLIENT_ID, dial=self._dial) as cluster:
            await self._find_topic(cluster)
            producer = Producer(
                cluster, self._topic.name, compression=Compression.LZ4, delivery_timeout_s=DELIVERY_TIMEOUT_S
            )
            await producer.start()
            yield producer

    def _brokers(self) -> list[Broker]:
        return [broker for broker in self._image().brokers.values() if broker.active]

    def _addresses(self) -> Iterator[Address]:
        for broker in self._brokers():
            endpoint = broker.endpoint(self._listener) if self._listener else next(iter(broker.endpoints), None)
            if endpoint is not None:
                yield endpoint.host, endpoint.port

    async def _find_topic(self, cluster: Cluster) -> None:
        """Create the topic if it does not exist. Raises KafkaError."""
        try:
            await cluster.topic(self._topic.name)
            return
        except KafkaError as error:
            if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
        configs = {"cleanup.policy": "delete", "retention.bytes": str(self._topic.retention_bytes)}
        topic = CreatableTopic(
            name=self._topic.name,
            num_partitions=-1,
            replication_factor=min(self._topic.replication_factor, len(self._brokers())),
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in configs.items()],
        )
        response = await cluster.request(CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS))
        [created] = response.topics
        if created.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
            check(created.error_code, created.error_message)


def _batches(lines: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Cut the lines into batches of at most _BATCH_BYTES, or of one line."""
    start = size = 0
    for index, line in enumerate(lines):
        if size and size + len(line) > _BATCH_BYTES:
            yield lines[start:index]
            start, size = index, 0
        size += len(line)
    if start < len(lines):
        yield lines[start:]
