"""Topics for the tests of ``format("kraft")``: records appended, deleted and read without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from kraft.client.blocking import BlockingCluster
from kraft.client.cluster import EARLIEST_TIMESTAMP, Cluster
from kraft.client.consumer import Consumed, Consumer
from kraft.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kraft.messages.delete_topics_request import DeleteTopicsRequest
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch
from kraft.spark.options import Options
from kraft.spark.topic_options import topic_options
from kraft.testing import EmbeddedCluster
from tests.support.eventually import eventually_async

TIMEOUT_S = 60.0


@contextmanager
def running_topics() -> Iterator[Topics]:
    """The topics of a new embedded cluster."""
    with EmbeddedCluster() as cluster, BlockingCluster(cluster.bootstrap_servers) as client:
        yield Topics(client, cluster.bootstrap_servers)


class Topics:
    """A cluster's topics, changed and read by plain calls."""

    def __init__(self, client: BlockingCluster, servers: str) -> None:
        self.servers = servers
        self._client = client

    def options(self, **given: object) -> Options:
        """The options of a reader or writer that runs without Spark."""
        texts = {name: str(value) for name, value in given.items()}
        return topic_options({"kafka.bootstrap.servers": self.servers, **texts})

    def create(self, name: str, partitions: int = 1) -> None:
        async def create(cluster: Cluster) -> None:
            wanted = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
            response = await cluster.request(CreateTopicsRequest(topics=[wanted], timeout_ms=30_000))
            assert response.topics[0].error_code == 0
            await self._settled(cluster, name, partitions)

        self._client.call(create, TIMEOUT_S)

    def grow(self, name: str, partitions: int) -> None:
        async def grow(cluster: Cluster) -> None:
            wanted = CreatePartitionsTopic(name=name, count=partitions, assignments=None)
            response = await cluster.request(CreatePartitionsRequest(topics=[wanted], timeout_ms=30_000))
            assert response.results[0].error_code == 0
            await self._settled(cluster, name, partitions)

        self._client.call(grow, TIMEOUT_S)

    def delete(self, name: str) -> None:
        async def delete(cluster: Cluster) -> None:
            response = await cluster.request(DeleteTopicsRequest(topic_names=[name], timeout_ms=30_000))
            assert response.responses[0].error_code == 0

            async def is_gone() -> bool:
                return (await cluster.metadata([name])).topics[0].error_code != 0

            await eventually_async(is_gone)

        self._client.call(delete, TIMEOUT_S)

    def append(
        self, name: str, records: Sequence[Record], partition: int = 0, compression: Compression = Compression.NONE
    ) -> None:
        """Append one batch of records, with their own timestamps. The offsets of ``records`` begin at 0."""

        async def append(cluster: Cluster) -> None:
            batch = encode_batch(records, compression=compression)
            data = TopicProduceData(name=name, partition_data=[PartitionProduceData(partition, batch)])
            request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
            leader = (await cluster.leaders(name))[partition]
            response = await cluster.request(request, leader)
            assert response.responses[0].partition_responses[0].error_code == 0

        self._client.call(append, TIMEOUT_S)

    def values(self, name: str, values: Sequence[str], partition: int = 0) -> None:
        self.append(name, [Record(at, 1_000 + at, None, value.encode()) for at, value in enumerate(values)], partition)

    def delete_records(self, name: str, before: int, partition: int = 0) -> None:
        """Move the start of the log, as retention does."""

        async def delete(cluster: Cluster) -> None:
            wanted = DeleteRecordsPartition(partition_index=partition, offset=before)
            topics = [DeleteRecordsTopic(name=name, partitions=[wanted])]
            leader = (await cluster.leaders(name))[partition]
            response = await cluster.request(DeleteRecordsRequest(topics=topics, timeout_ms=30_000), leader)
            assert response.topics[0].partitions[0].error_code == 0

        self._client.call(delete, TIMEOUT_S)

    def read(self, name: str, count: int) -> list[Consumed]:
        async def read(cluster: Cluster) -> list[Consumed]:
            consumer = Consumer(cluster, name)
            await consumer.start(EARLIEST_TIMESTAMP)
            found: list[Consumed] = []
            while len(found) < count:
                found += await consumer.poll(1.0)
            return found

        return self._client.call(read, TIMEOUT_S)

    async def _settled(self, cluster: Cluster, name: str, partitions: int) -> None:
        async def settled() -> bool:
            return len(await cluster.leaders(name)) == partitions

        await eventually_async(settled)


def load(spark: SparkSession, topics: Topics, options: Mapping[str, object]) -> DataFrame:
    """The batch DataFrame of ``format("kraft")``."""
    given = {name: str(value) for name, value in options.items()}
    return spark.read.format("kraft").option("kafka.bootstrap.servers", topics.servers).options(**given).load()


def texts(frame: DataFrame) -> list[str]:
    """The values of a DataFrame, in the order of partitions and offsets."""
    rows = frame.selectExpr("partition", "offset", "cast(value as string) as value").collect()
    return [row["value"] for row in sorted(rows, key=lambda row: (row["partition"], row["offset"]))]
