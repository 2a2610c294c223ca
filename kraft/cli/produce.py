"""``kraft produce``: write each line of standard input to a topic as a record."""

from __future__ import annotations

import io
import os
import random
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeAlias, cast

import click
import trio

from kraft.cli.options import bootstrap_option, run
from kraft.client.cluster import Cluster
from kraft.client.producer import ALL_REPLICAS, NO_ACKNOWLEDGEMENT, Producer
from kraft.records.compression import Compression

READ_BYTES = 64 * 1024
MAX_LINE_BYTES = 1_000_000
Record: TypeAlias = tuple[bytes | None, bytes]
_ACKS = {"all": ALL_REPLICAS, "1": 1, "0": NO_ACKNOWLEDGEMENT}


@click.command("produce", short_help="Write lines from standard input to a topic.")
@click.argument("topic")
@bootstrap_option
@click.option(
    "--key-separator",
    metavar="TEXT",
    help="Separates the key of a line from its value; a line without it ends the command.",
)
@click.option(
    "--partition",
    type=click.IntRange(0),
    help="Write to this partition. Default: by key, else another one for each batch.",
)
@click.option(
    "--acks",
    type=click.Choice(list(_ACKS)),
    default="all",
    show_default=True,
    help="Wait for all in-sync replicas, for the leader, or for no response.",
)
@click.option(
    "--compression",
    type=click.Choice([codec.name.lower() for codec in Compression]),
    default="none",
    show_default=True,
    help="The codec of the record batches.",
)
def command(
    topic: str, bootstrap: str, key_separator: str | None, partition: int | None, acks: str, compression: str
) -> None:
    """Write each line of standard input to TOPIC as one record. Ctrl-D or Ctrl-C ends the command.

    After a change of leader the records are sent again, for at most two minutes. With --acks=all each record is stored
    once. At the end, also after a failure or Ctrl-C, the command prints the number of stored records to standard error.
    """
    separator = os.fsencode(key_separator) if key_separator else None
    started: list[Producer] = []

    async def operate(cluster: Cluster) -> None:
        producer = Producer(
            cluster,
            topic,
            partition=partition,
            acks=_ACKS[acks],
            compression=Compression[compression.upper()],
            randrange=random.randrange,
        )
        await producer.start()
        started.append(producer)
        number = 0
        async with aclosing(read_lines()) as reads:
            async for lines in reads:
                records = split_lines(lines, separator)
                await producer.send(records)
                number += len(records)
                if len(records) < len(lines):
                    raise click.ClickException(f"Line {number + 1} has no key separator {key_separator!r}")

    try:
        run(bootstrap, operate)
    finally:
        for producer in started:
            click.echo(_summary(producer, topic), err=True)


def _summary(producer: Producer, topic: str) -> str:
    text = f"Produced {producer.stored} record{'' if producer.stored == 1 else 's'} to {topic}."
    if producer.uncertain:
        text += f" {producer.uncertain} more may be stored: no acknowledgement came."
    return text


def split_lines(lines: list[bytes], separator: bytes | None) -> list[Record]:
    """Return the records of the lines, up to the first that lacks the separator."""
    records = list[Record]()
    for line in lines:
        record = split_line(line, separator)
        if record is None:
            break
        records.append(record)
    return records


def split_line(line: bytes, separator: bytes | None) -> Record | None:
    """Return key and value of a line, or None if it lacks the separator. Without one, the line is the value."""
    if separator is None:
        return None, line
    key, found, value = line.partition(separator)
    return (key, value) if found else None


async def read_lines() -> AsyncGenerator[list[bytes], None]:
    """Yield the lines of standard input, as many at a time as one read returns. The last line may lack its newline."""
    stdin = cast(io.BufferedReader, sys.stdin.buffer)
    rest = b""
    while chunk := await _read(stdin):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise click.ClickException(f"A line is longer than {MAX_LINE_BYTES} bytes")
        if lines:
            yield lines
    if rest:
        yield [rest]


async def _read(stdin: io.BufferedReader) -> bytes:
    """Return the next bytes as soon as there are any; b"" at the end of the input.

    No thread reads a terminal or a pipe. Trio cannot cancel such a thread. It would hold the lock of ``stdin`` when the
    interpreter exits, which is a fatal error.
    """
    try:
        await trio.lowlevel.wait_readable(stdin.fileno())
    except OSError:  # epoll refuses a regular file, whose reads do not block
        return await trio.to_thread.run_sync(stdin.read1, READ_BYTES)
    return os.read(stdin.fileno(), READ_BYTES)
