"""``kraft consume``: print the records of a topic."""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import click
import trio

from kraft.cli.groups import commit_offsets, committed_offsets
from kraft.cli.options import bootstrap_option, run
from kraft.cli.output import print_json, text_of
from kraft.client.cluster import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, RETRY_S, Cluster, check
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.fetch_response import PartitionData
from kraft.records.batch import TruncatedBatch, check_batch, iter_headers
from kraft.records.record import Record, read_records
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode

FETCH_BYTES = 8 * 2**20
MAX_BATCH_BYTES = 256 * 2**20
WAIT_MS = 500
_MOVED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.FENCED_LEADER_EPOCH)
_START = {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}


@attrs.frozen
class Printing:
    """How a record is printed, and how many of them."""

    as_json: bool
    keys: bool
    timestamps: bool
    max_messages: float
    idle_timeout_s: float


@click.command("consume", short_help="Print the records of a topic.")
@click.argument("topic")
@bootstrap_option
@click.option("--from-beginning", is_flag=True, help="Begin at the earliest record; default: at the end.")
@click.option("--partition", type=click.IntRange(0), help="Only this partition.")
@click.option("--offset", metavar="NUMBER|earliest|latest", help="Where to begin in --partition.")
@click.option("--group", help="Begin where this group stands, and commit to it. The group must have no members.")
@click.option("--max-messages", type=click.IntRange(1), help="Stop after so many records.")
@click.option("--timeout", type=click.FloatRange(0), metavar="SECONDS", help="Stop when no record came for so long.")
@click.option("--keys", is_flag=True, help="Print key, tab, value.")
@click.option("--timestamps", is_flag=True, help="Print the timestamp in ms before the record.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object for each record, with all that is known.")
def command(
    topic: str,
    bootstrap: str,
    from_beginning: bool,
    partition: int | None,
    offset: str | None,
    group: str | None,
    max_messages: int | None,
    timeout: float | None,
    keys: bool,
    timestamps: bool,
    as_json: bool,
) -> None:
    """Print the records of TOPIC as they come; Ctrl-C ends it."""
    start = _parse_start(offset, partition, from_beginning)
    printing = Printing(as_json, keys, timestamps, max_messages or math.inf, math.inf if timeout is None else timeout)

    async def operate(cluster: Cluster) -> None:
        consumer = Consumer(cluster, topic, printing)
        await consumer.start(partition, start, group)
        await consumer.run(group)

    run(bootstrap, operate)


def _parse_start(offset: str | None, partition: int | None, from_beginning: bool) -> int:
    """Return an offset, or one of the two negative timestamps that stand for the ends."""
    if offset is None:
        return EARLIEST_TIMESTAMP if from_beginning else LATEST_TIMESTAMP
    if partition is None:
        raise click.UsageError("--offset needs --partition.")
    if offset in _START:
        return _START[offset]
    if not (offset.isascii() and offset.isdigit() and len(offset) <= 19):
        raise click.UsageError("--offset must be a number, earliest or latest.")
    return int(offset)


class Consumer:
    """Reads the partitions of one topic; ``positions`` are the next offsets by partition."""

    def __init__(self, cluster: Cluster, topic: str, printing: Printing) -> None:
        self.positions: dict[int, int] = {}
        self._cluster = cluster
        self._topic = topic
        self._printing = printing
        self._leaders: dict[int, int] = {}

    async def start(self, partition: int | None, start: int, group: str | None) -> None:
        """Find the partitions and where to begin: where the group stands, else at ``start``."""
        await self._find_leaders()
        chosen = self._leaders if partition is None else [partition]
        if not set(chosen) <= set(self._leaders):
            raise click.ClickException(f"Topic {self._topic} has no partition {partition}")
        committed = {} if group is None else (await committed_offsets(self._cluster, group)).get(self._topic, {})
        self.positions = {index: committed[index] for index in chosen if index in committed}
        rest = [index for index in chosen if index not in committed]
        if start >= 0:
            self.positions |= dict.fromkeys(rest, start)
        else:
            self.positions |= await self._cluster.offsets(self._topic, dict.fromkeys(rest, start))

    async def run(self, group: str | None) -> None:
        """Print records until there were enough, or none came for too long; commit what was printed."""
        left = self._printing.max_messages
        last_s = trio.current_time()
        while left > 0 and (idle_s := trio.current_time() - last_s) < self._printing.idle_timeout_s:
            wait_ms = int(min(WAIT_MS, (self._printing.idle_timeout_s - idle_s) * 1000))
            found = await self._poll(wait_ms)
            for partition, record in found[: int(min(left, len(found)))]:
                print_record(self._topic, partition, record, self._printing)
                self.positions[partition] = record.offset + 1
            if found:
                left -= len(found)
                last_s = trio.current_time()
                if group is not None:
                    await commit_offsets(self._cluster, group, self._topic, self.positions)

    async def _poll(self, wait_ms: int) -> list[tuple[int, Record]]:
        """Return the records behind the positions, after at most about ``wait_ms`` if there are none."""
        found: list[tuple[int, Record]] = []
        by_leader: dict[int, list[int]] = {}
        for partition in self.positions:
            by_leader.setdefault(self._leaders[partition], []).append(partition)
        for leader, partitions in by_leader.items():
            asked = [
                FetchPartition(partition=index, fetch_offset=self.positions[index], partition_max_bytes=FETCH_BYTES)
                for index in partitions
            ]
            request = FetchRequest(
                max_wait_ms=wait_ms // len(by_leader),
                min_bytes=1,
                max_bytes=FETCH_BYTES,
                topics=[FetchTopic(topic=self._topic, partitions=asked)],
            )
            response = await self._cluster.request(request, leader)
            check(response.error_code)
            for answer in (partition for topic in response.responses for partition in topic.partitions):
                if answer.error_code in _MOVED:
                    await trio.sleep(RETRY_S)
                    await self._find_leaders()
                    return found
                check(answer.error_code, self._why(answer))
                found += [(answer.partition_index, record) for record in self._records(answer)]
        return found

    def _records(self, answer: PartitionData) -> Iterator[Record]:
        """Yield the records at and behind the position; a batch without any moves the position itself."""
        position = self.positions[answer.partition_index]
        data = bytes(answer.records or b"")  # type: ignore[arg-type]
        try:
            for at, header in iter_headers(data):
                check_batch(data, at, header)
                if header.is_control:
                    self.positions[answer.partition_index] = max(position, header.next_offset)
                    continue
                for record in read_records(data, at, header, max_bytes=MAX_BATCH_BYTES):
                    if record.offset >= position:
                        yield record
        except TruncatedBatch:
            return  # the answer was cut where it was full
        except DecodeError as error:
            where = f"{self._topic}-{answer.partition_index}"
            raise click.ClickException(f"Partition {where} has a batch that cannot be read: {error}") from None

    async def _find_leaders(self) -> None:
        topic = await self._cluster.topic(self._topic)
        self._leaders = {partition.partition_index: partition.leader_id for partition in topic.partitions}

    def _why(self, answer: PartitionData) -> str | None:
        if answer.error_code != ErrorCode.OFFSET_OUT_OF_RANGE:
            return None
        where = f"{self._topic}-{answer.partition_index}"
        return f"offset {self.positions[answer.partition_index]} is not in the log of {where}"


def print_record(topic: str, partition: int, record: Record, printing: Printing) -> None:
    """Print one record: its value, or what else was asked for."""
    if printing.as_json:
        print_json(
            {
                "topic": topic,
                "partition": partition,
                "offset": record.offset,
                "timestamp": record.timestamp,
                "key": text_of(record.key),
                "value": text_of(record.value),
                "headers": [[name, text_of(value)] for name, value in record.headers],
            }
        )
        return
    columns = [str(record.timestamp).encode()] if printing.timestamps else []
    columns += [record.key or b""] if printing.keys else []
    click.echo(b"\t".join([*columns, record.value or b""]))
