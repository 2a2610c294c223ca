"""kraft.client.transactions beside a coordinator of either implementation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from kraft.client.cluster import Cluster as Client
from kraft.client.cluster import open_cluster
from kraft.client.fetching import IsolationLevel, PartitionFetcher
from kraft.client.offsets import committed_offsets
from kraft.client.transactions import TransactionalProducer
from kraft.records.record import read_records
from kraft.wire.errors import ErrorCode, KafkaError
from tests.interop.traffic import TIMEOUT_S, Traffic
from tests.support.apache_process import APACHE_3, APACHE_4
from tests.support.cluster import Cluster, members, running_cluster
from tests.support.node_process import Kind

pytestmark = pytest.mark.interop

TOPIC = "orders"
SINGLE = {
    "offsets_topic_replication_factor": "1",
    "offsets_topic_num_partitions": "1",
    "transaction_state_log_replication_factor": "1",
    "transaction_state_log_min_isr": "1",
    "transaction_state_log_num_partitions": "2",
}


@pytest.fixture(scope="module", params=[APACHE_3, APACHE_4], ids=lambda kind: kind.version)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    kind: Kind = request.param
    directory: Path = tmp_path_factory.mktemp("transactions")
    with running_cluster(directory, members(controllers=[kind], brokers=[kind]), **SINGLE) as running:
        yield running


async def committed(client: Client, topic: str, partition: int = 0) -> list[bytes | None]:
    """The values that a consumer with ``isolation.level=read_committed`` sees, up to the last stable offset."""
    end = (await client.offsets(topic, {partition: -1}, isolation_level=IsolationLevel.READ_COMMITTED))[partition]
    level = IsolationLevel.READ_COMMITTED
    fetcher = PartitionFetcher(client, topic, partition, 0, isolation_level=level, retry_timeout_s=TIMEOUT_S)
    values: list[bytes | None] = []
    while fetcher.offset < end:
        found = await fetcher.next(1.0)
        for at, header in found.batches:
            values += (record.value for record in read_records(found.data, at, header, max_bytes=2**20))
    return values


async def test_only_what_is_committed_is_read(cluster: Cluster) -> None:
    """KIP-98: "messages in a transaction that was aborted will not be visible", nor those of an open one."""
    topic = "visibility"
    Traffic(cluster.bootstrap_servers).create(topic, 2)
    with trio.fail_after(TIMEOUT_S):
        async with open_cluster(cluster.bootstrap_servers) as client:
            producer = TransactionalProducer(client, "visibility")
            await producer.start()
            for number, end in enumerate((producer.commit, producer.abort, producer.commit)):
                for partition in (0, 1):
                    await producer.send(topic, partition, [(None, b"%d" % number, ())])
                await producer.send_offsets("group", topic, {0: number + 1})
                await end()
            await producer.send(topic, 0, [(None, b"open", ())])
            assert [await committed(client, topic, partition) for partition in (0, 1)] == [[b"0", b"2"]] * 2
            assert (await committed_offsets(client, "group"))[topic] == {0: 3}
            await producer.commit()
            assert await committed(client, topic) == [b"0", b"2", b"open"]


async def test_the_next_producer_fences_the_last_and_aborts_its_transaction(cluster: Cluster) -> None:
    """KIP-98: "a new instance … fences off the old one", and its open transaction ends."""
    topic = "fencing"
    Traffic(cluster.bootstrap_servers).create(topic)
    with trio.fail_after(TIMEOUT_S):
        async with open_cluster(cluster.bootstrap_servers) as client, open_cluster(cluster.bootstrap_servers) as other:
            zombie, successor = (TransactionalProducer(each, "fencing") for each in (client, other))
            await zombie.start()
            await zombie.send(topic, 0, [(None, b"of the zombie", ())])
            await successor.start()
            await successor.send(topic, 0, [(None, b"of the successor", ())])
            await successor.commit()
            with pytest.raises(KafkaError) as refused:
                await zombie.commit()
            assert refused.value.code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
            assert await committed(client, topic) == [b"of the successor"]
