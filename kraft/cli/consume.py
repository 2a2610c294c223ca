"""``kraft consume``: print the records of a topic."""

from __future__ import annotations

import math

import attrs
import click
import trio

from kraft.cli.options import bootstrap_option, run
from kraft.cli.output import json_field, print_json
from kraft.client.cluster import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, Cluster
from kraft.client.consumer import Consumer
from kraft.client.offsets import commit_offsets, committed_offsets
from kraft.records.batch import MAX_OFFSET
from kraft.records.record import Record

POLL_S = 0.5
_MAX_DIGITS = len(str(MAX_OFFSET))
_START = {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}


@click.command("consume", short_help="Print the records of a topic.")
@click.argument("topic")
@bootstrap_option
@click.option("--from-beginning", is_flag=True, help="Begin at the earliest record. Default: only new records.")
@click.option("--partition", type=click.IntRange(0), help="Only this partition.")
@click.option("--offset", metavar="NUMBER|earliest|latest", help="Begin at this offset; needs --partition.")
@click.option(
    "--group",
    help="Begin at this group's committed offsets, unless --offset is given, and commit to it. The group must have no "
    "members.",
)
@click.option("--max-messages", type=click.IntRange(1), help="Stop after this many records.")
@click.option("--timeout", type=click.FloatRange(0), metavar="SECONDS", help="Stop after this time without a record.")
@click.option("--keys", is_flag=True, help="Print key, tab, value.")
@click.option("--timestamps", is_flag=True, help="Print the timestamp in ms before the record.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print each record as a JSON object with all its fields. Bytes that are not UTF-8 are base64, in a field "
    "such as value_base64.",
)
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
    """Print the records of TOPIC as they arrive. Ctrl-C ends the command.

    After a change of leader the command looks for the new leader for at most a minute. If it gives up, or if Ctrl-C
    ends it, it prints the number of printed records to standard error.
    """
    start = _parse_start(offset, partition, from_beginning)
    printer = Printer(topic, as_json, keys, timestamps)
    left, idle_timeout_s = max_messages or math.inf, math.inf if timeout is None else timeout

    async def operate(cluster: Cluster) -> None:
        consumer = Consumer(cluster, topic)
        # An offset on the command line goes before that of the group: the user may want to read records again.
        resumed = group if offset is None else None
        committed = {} if resumed is None else (await committed_offsets(cluster, resumed)).get(topic, {})
        await consumer.start(start, partitions=None if partition is None else [partition], positions=committed)
        if group is not None:  # a position at the end counts as well: the next run continues there
            begun = {index: at for index, at in consumer.positions.items() if committed.get(index) != at}
            if begun:
                await commit_offsets(cluster, group, topic, begun)
        last_s = trio.current_time()
        while printer.count < left and (idle_s := trio.current_time() - last_s) < idle_timeout_s:
            found = await consumer.poll(min(POLL_S, idle_timeout_s - idle_s), left - printer.count)
            for index, record in found:
                printer.print(index, record)
            if found:
                last_s = trio.current_time()
                if group is not None:
                    await commit_offsets(cluster, group, topic, consumer.positions)

    try:
        run(bootstrap, operate)
    except (click.ClickException, click.Abort):
        if printer.count:
            click.echo(f"Printed {printer.count} record{'' if printer.count == 1 else 's'} of {topic}.", err=True)
        raise


def _parse_start(offset: str | None, partition: int | None, from_beginning: bool) -> int:
    """Return an offset, or the negative timestamp that Kafka uses for the earliest or the latest offset."""
    if offset is None:
        return EARLIEST_TIMESTAMP if from_beginning else LATEST_TIMESTAMP
    if partition is None:
        raise click.UsageError("--offset needs --partition.")
    if offset in _START:
        return _START[offset]
    if not (offset.isascii() and offset.isdigit()):
        raise click.UsageError("--offset must be a number, earliest or latest.")
    if len(offset) > _MAX_DIGITS or int(offset) > MAX_OFFSET:
        raise click.UsageError(f"--offset must be at most {MAX_OFFSET}.")
    return int(offset)


@attrs.define
class Printer:
    """Prints records and counts them."""

    topic: str
    as_json: bool
    keys: bool
    timestamps: bool
    count: int = 0

    def print(self, partition: int, record: Record) -> None:
        """Print one record: its value, or the columns or the JSON object that the options select."""
        self.count += 1  # before printing: Ctrl-C may interrupt it, and a record that was printed counts
        if self.as_json:
            print_json(
                {
                    "topic": self.topic,
                    "partition": partition,
                    "offset": record.offset,
                    "timestamp": record.timestamp,
                    **json_field("key", record.key),
                    **json_field("value", record.value),
                    "headers": [
                        json_field("key", name.encode(errors="surrogateescape")) | json_field("value", value)
                        for name, value in record.headers
                    ],
                }
            )
        else:
            columns = [str(record.timestamp).encode()] if self.timestamps else []
            columns += [record.key or b""] if self.keys else []
            click.echo(b"\t".join([*columns, record.value or b""]))
