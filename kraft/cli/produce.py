"""``kraft produce``: each line of standard input becomes a record."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import AsyncIterator
from typing import cast

import click
import trio

from kraft.cli.options import bootstrap_option, run
from kraft.client.cluster import Cluster
from kraft.client.producer import ALL_REPLICAS, NO_ACKNOWLEDGEMENT, Producer
from kraft.records.compression import Compression

READ_BYTES = 64 * 1024
MAX_LINE_BYTES = 1_000_000
_ACKS = {"all": ALL_REPLICAS, "1": 1, "0": NO_ACKNOWLEDGEMENT}


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
    """Write each line of standard input to TOPIC, as soon as it is there; Ctrl-D or Ctrl-C ends it.

    While a leader moves, its records are sent again, for at most two minutes; --acks=all stores each of them once. The
    number of stored records is printed to standard error at the end, after a failure and Ctrl-C too.
    """
    separator = key_separator.encode() if key_separator else None
    started: list[Producer] = []

    async def operate(cluster: Cluster) -> None:
        producer = Producer(
            cluster, topic, partition=partition, acks=_ACKS[acks], compression=Compression[compression.upper()]
        )
        await producer.start()
        started.append(producer)
        async for lines in read_lines():
            await producer.send([split_line(line, separator) for line in lines])

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


def split_line(line: bytes, separator: bytes | None) -> tuple[bytes | None, bytes]:
    """Return key and value of a line; the key is None where there is no separator."""
    if separator is None or separator not in line:
        return None, line
    key, _, value = line.partition(separator)
    return key, value


async def read_lines() -> AsyncIterator[list[bytes]]:
    """Yield the lines of standard input, as many at a time as are there. The last may lack its newline."""
    if sys.stdin is None:  # it was closed before the interpreter began
        return
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
    """Return the bytes that are there, when there are some; b"" at the end.

    No thread waits for a terminal or a pipe: it could not be cancelled, and would hold the lock of ``stdin`` when the
    interpreter ends, which is fatal.
    """
    try:
        await trio.lowlevel.wait_readable(stdin.fileno())
    except OSError:  # epoll refuses a regular file, on which no read waits
        return await trio.to_thread.run_sync(stdin.read1, READ_BYTES)
    return os.read(stdin.fileno(), READ_BYTES)
