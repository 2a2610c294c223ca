"""``kraft produce``: each line of standard input becomes a record."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import AsyncIterator
from typing import cast

import click
import trio

from kraft.cli.options import bootstrap_option, run
from kraft.client.cluster import RETRY_S, TIMEOUT_MS, TIMEOUT_S, Cluster, check, version_for
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch
from kraft.wire.errors import ErrorCode

READ_BYTES = 64 * 1024
MAX_LINE_BYTES = 1_000_000
_ACKS = {"all": -1, "1": 1, "0": 0}
_MOVED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE)


@click.command("produce", short_help="Write lines from standard input to a topic.")
@click.argument("topic")
@bootstrap_option
@click.option("--key-separator", metavar="TEXT", help="What stands before it in a line is the key.")
@click.option("--partition", type=click.IntRange(0), help="Write to this partition; default: by key, else in turn.")
@click.option("--acks", type=click.Choice(list(_ACKS)), default="all", show_default=True)
@click.option(
    "--compression",
    type=click.Choice([codec.name.lower() for codec in Compression]),
    default="none",
    show_default=True,
)
def command(
    topic: str, bootstrap: str, key_separator: str | None, partition: int | None, acks: str, compression: str
) -> None:
    """Write each line of standard input to TOPIC, as soon as it is there."""
    separator = key_separator.encode() if key_separator else None

    async def operate(cluster: Cluster) -> int:
        producer = Producer(cluster, topic, partition, _ACKS[acks], Compression[compression.upper()])
        await producer.start()
        async for lines in read_lines():
            await producer.send([split_line(line, separator) for line in lines])
        return producer.sent

    count = run(bootstrap, operate)
    click.echo(f"Produced {count} record{'' if count == 1 else 's'} to {topic}.", err=True)


def split_line(line: bytes, separator: bytes | None) -> tuple[bytes | None, bytes]:
    """Return key and value of a line; the key is None where there is no separator."""
    if separator is None or separator not in line:
        return None, line
    key, _, value = line.partition(separator)
    return key, value


async def read_lines() -> AsyncIterator[list[bytes]]:
    """Yield the lines of standard input, as many at a time as are there. The last may lack its newline."""
    stdin = cast(io.BufferedReader, sys.stdin.buffer)
    rest = b""
    while chunk := await trio.to_thread.run_sync(stdin.read1, READ_BYTES, abandon_on_cancel=True):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise click.ClickException(f"A line is longer than {MAX_LINE_BYTES} bytes")
        if lines:
            yield lines
    if rest:
        yield [rest]


class Producer:
    """Sends records to the partitions of one topic. Records of one partition stay in order."""

    def __init__(
        self, cluster: Cluster, topic: str, partition: int | None, acks: int, compression: Compression
    ) -> None:
        self.sent = 0
        self._cluster = cluster
        self._topic = topic
        self._partition = partition
        self._acks = acks
        self._compression = compression
        self._leaders: dict[int, int] = {}
        self._turn = 0

    async def start(self) -> None:
        """Learn the topic's partitions, creating it where the cluster does that."""
        topic = await self._cluster.topic(self._topic, create=True)
        self._leaders = {partition.partition_index: partition.leader_id for partition in topic.partitions}
        if self._partition is not None and self._partition not in self._leaders:
            raise click.ClickException(f"Topic {self._topic} has no partition {self._partition}")

    async def send(self, records: list[tuple[bytes | None, bytes]]) -> None:
        """Send keys and values; return when they are acknowledged (at once with acks=0)."""
        self._turn += 1
        by_partition: dict[int, list[tuple[bytes | None, bytes]]] = {}
        for key, value in records:
            by_partition.setdefault(self._choose(key), []).append((key, value))
        now_ms = time.time_ns() // 1_000_000
        for partition, chosen in sorted(by_partition.items()):
            batch = encode_batch(
                [Record(offset, now_ms, key, value) for offset, (key, value) in enumerate(chosen)],
                compression=self._compression,
            )
            await self._send_batch(partition, batch)
            self.sent += len(chosen)

    def _choose(self, key: bytes | None) -> int:
        if self._partition is not None:
            return self._partition
        if key is None:
            return self._turn % len(self._leaders)
        return (murmur2(key) & 0x7FFFFFFF) % len(self._leaders)

    async def _send_batch(self, partition: int, batch: bytes) -> None:
        """Send to the partition's leader, and again while it moves."""
        data = TopicProduceData(name=self._topic, partition_data=[PartitionProduceData(partition, batch)])
        request = ProduceRequest(acks=self._acks, timeout_ms=TIMEOUT_MS, topic_data=[data])
        if self._acks == 0:
            connection = await self._cluster.connection(self._leaders[partition])
            await connection.send(request, version_for(connection, request))
            return
        with trio.fail_after(TIMEOUT_S):
            while True:
                response = await self._cluster.request(request, self._leaders[partition])
                answer = response.responses[0].partition_responses[0]
                if answer.error_code not in _MOVED:
                    check(answer.error_code, answer.error_message)
                    return
                await trio.sleep(RETRY_S)
                await self.start()


def murmur2(data: bytes) -> int:
    """The hash that Kafka's Java client places keys by, as an unsigned 32-bit number (32-bit MurmurHash2)."""
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
