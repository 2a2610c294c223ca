"""The promises of transactions, checked with the project's own client on any cluster."""

from __future__ import annotations

import pytest
import trio

from kraft.client.cluster import Cluster, check, open_cluster
from kraft.client.fetching import IsolationLevel, PartitionFetcher
from kraft.client.offsets import committed_offsets
from kraft.client.transactions import TransactionalProducer
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.records.record import read_records
from kraft.wire.errors import ErrorCode, KafkaError
from tests.support.eventually import eventually_async

TIMEOUT_S = 60.0
SINGLE = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "2",
}
"""Settings of a cluster of one broker."""


async def create(bootstrap_servers: str, topic: str, partitions: int) -> None:
    async with open_cluster(bootstrap_servers) as client:
        wanted = CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1)
        response = await client.request(CreateTopicsRequest(topics=[wanted], timeout_ms=30_000))
        check(response.topics[0].error_code)
        await client.topic(topic, create=True)


async def committed(client: Cluster, topic: str, partition: int = 0) -> list[bytes | None]:
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


async def until_committed(client: Cluster, topic: str, *values: bytes) -> None:
    """Wait until a consumer sees these values: a commit is acknowledged before its markers are written."""

    async def are_seen() -> bool:
        return await committed(client, topic) == list(values)

    await eventually_async(are_seen)


async def read_only_what_is_committed(bootstrap_servers: str) -> None:
    """KIP-98: "messages in a transaction that was aborted will not be visible", nor those of an open one."""
    topic = "visibility"
    await create(bootstrap_servers, topic, 2)
    with trio.fail_after(TIMEOUT_S):
        async with open_cluster(bootstrap_servers) as client:
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
            await until_committed(client, topic, b"0", b"2", b"open")


async def commit_only_what_was_sent(bootstrap_servers: str) -> None:
    """``KafkaProducer.send``: "the final commitTransaction() call will fail and throw the exception from the last
    failed send". ``TransactionalProducer.commit`` says the same of ``send_offsets`` and of a cancellation.
    """
    topic = "incomplete"
    await create(bootstrap_servers, topic, 2)
    with trio.fail_after(TIMEOUT_S):
        async with open_cluster(bootstrap_servers) as client:
            producer = TransactionalProducer(client, "incomplete")
            await producer.start()

            async def is_refused() -> None:
                with pytest.raises(RuntimeError, match="abort the transaction"):
                    await producer.commit()
                await producer.abort()

            async def is_cancelled() -> None:
                client.close()  # the request is cancelled before it is sent
                with trio.CancelScope() as scope:
                    scope.cancel()
                    await producer.send(topic, 1, [(None, b"credit", ())])

            await producer.send(topic, 0, [(None, b"debit", ())])
            with pytest.raises(KafkaError) as error:
                await producer.send(topic, 1, [(None, bytes(2_000_000), ())])
            assert error.value.code is ErrorCode.MESSAGE_TOO_LARGE
            await producer.send(topic, 1, [(None, b"credit", ())])
            await is_refused()
            await producer.send(topic, 0, [(None, b"debit", ())])
            await is_cancelled()
            await is_refused()
            await producer.send(topic, 0, [(None, b"debit", ())])
            with pytest.raises(KafkaError):
                await producer.send_offsets("", topic, {0: 1})
            await is_refused()
            await is_cancelled()
            await producer.start()
            await producer.send(topic, 0, [(None, b"whole", ())])
            await producer.commit()
            await until_committed(client, topic, b"whole")
            assert await committed(client, topic, 1) == []


async def fence_the_last_producer(bootstrap_servers: str) -> None:
    """KIP-98: "a new instance … fences off the old one", and its open transaction ends."""
    topic = "fencing"
    await create(bootstrap_servers, topic, 1)
    with trio.fail_after(TIMEOUT_S):
        async with open_cluster(bootstrap_servers) as client, open_cluster(bootstrap_servers) as other:
            zombie, successor = (TransactionalProducer(each, "fencing") for each in (client, other))
            await zombie.start()
            await zombie.send(topic, 0, [(None, b"of the zombie", ())])
            await successor.start()
            await successor.send(topic, 0, [(None, b"of the successor", ())])
            await successor.commit()
            with pytest.raises(KafkaError) as refused:
                await zombie.commit()
            assert refused.value.code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
            await until_committed(client, topic, b"of the successor")
