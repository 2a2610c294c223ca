"""``kraft transactions``: the transactions of any Kafka cluster, and the end of those that hang (KIP-664).

Commands and options have the names of ``kafka-transactions.sh``.
"""

from __future__ import annotations

import time

import attrs
import click

from kraft.cli.options import bootstrap_option, json_option, run
from kraft.cli.output import print_json, print_tabs
from kraft.client.cluster import TIMEOUT_MS, Cluster
from kraft.client.transaction_admin import (
    ListedTransaction,
    OpenTransaction,
    Place,
    abort_transaction,
    describe_producers,
    describe_transaction,
    find_hanging,
    list_transactions,
    open_transactions,
    replicated_places,
)
from kraft.client.transactions import TransactionalProducer
from kraft.config.setting import LONG_MAX
from kraft.messages.describe_producers_response import ProducerState

_MINUTE_MS = 60_000

_topic_option = click.option("--topic", required=True, help="The name of the topic.")
_partition_option = click.option(
    "--partition", type=click.IntRange(0), required=True, help="The number of the partition."
)


@click.group("transactions", short_help="List and describe transactions; end those that hang.")
def command() -> None:
    """List and describe transactions; end those that hang."""


@command.command("list")
@bootstrap_option
@click.option(
    "--duration-filter",
    type=click.IntRange(-1, LONG_MAX),
    default=-1,
    help="Only transactions open for more milliseconds than this.",
)
@click.option("--transactional-id-pattern", metavar="REGEX", help="Only transactional ids that match.")
@json_option
def list_command(bootstrap: str, duration_filter: int, transactional_id_pattern: str | None, as_json: bool) -> None:
    """Print the transactional ids of the cluster."""

    async def operate(cluster: Cluster) -> list[ListedTransaction]:
        return await list_transactions(cluster, duration_ms=duration_filter, pattern=transactional_id_pattern)

    listed = run(bootstrap, operate)
    if as_json:
        print_json([attrs.asdict(each) for each in listed])
        return
    heading = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
    print_tabs(heading, [(each.transactional_id, each.coordinator_id, each.producer_id, each.state) for each in listed])


@command.command("describe")
@bootstrap_option
@click.option("--transactional-id", required=True, help="The transactional id.")
@json_option
def describe_command(bootstrap: str, transactional_id: str, as_json: bool) -> None:
    """Show the state of a transactional id."""
    found = run(bootstrap, lambda cluster: describe_transaction(cluster, transactional_id))
    if as_json:
        partitions = [{"topic": topic, "partition": index} for topic, index in found.partitions]
        print_json({**attrs.asdict(found), "partitions": partitions})
        return
    age_ms = None if found.started_ms is None else _now_ms() - found.started_ms
    heading = (
        "CoordinatorId",
        "TransactionalId",
        "ProducerId",
        "ProducerEpoch",
        "TransactionState",
        "TransactionTimeoutMs",
        "CurrentTransactionStartTimeMs",
        "TransactionDurationMs",
        "TopicPartitions",
    )
    row = (
        found.coordinator_id,
        found.transactional_id,
        found.producer_id,
        found.producer_epoch,
        found.state,
        found.timeout_ms,
        found.started_ms,
        age_ms,
        ",".join(f"{topic}-{index}" for topic, index in found.partitions),
    )
    print_tabs(heading, [row])


@command.command("describe-producers")
@bootstrap_option
@click.option("--broker-id", type=int, help="Describe the replica of this broker, instead of the leader.")
@_topic_option
@_partition_option
@json_option
def describe_producers_command(
    bootstrap: str, broker_id: int | None, topic: str, partition: int, as_json: bool
) -> None:
    """Show the producers that a partition remembers."""

    async def operate(cluster: Cluster) -> list[ProducerState]:
        place = await _existing(cluster, topic, partition)
        return (await describe_producers(cluster, [place], broker_id))[place]

    producers = run(bootstrap, operate)
    if as_json:
        print_json([_producer(each) for each in producers])
        return
    heading = (
        "ProducerId",
        "ProducerEpoch",
        "LatestCoordinatorEpoch",
        "LastSequence",
        "LastTimestamp",
        "CurrentTransactionStartOffset",
    )
    print_tabs(heading, [tuple(_producer(each).values()) for each in producers])


@command.command("abort", short_help="End a hanging transaction.")
@bootstrap_option
@_topic_option
@_partition_option
@click.option(
    "--start-offset",
    type=click.IntRange(0),
    required=True,
    help="The first offset of the transaction.",
)
def abort_command(bootstrap: str, topic: str, partition: int, start_offset: int) -> None:
    """End a hanging transaction in one partition: its records are aborted."""

    async def operate(cluster: Cluster) -> None:
        place = await _existing(cluster, topic, partition)
        chosen = [each for each in await open_transactions(cluster, [place]) if each.start_offset == start_offset]
        if not chosen:
            where = f"offset {start_offset} on partition {topic}-{partition}"
            raise click.ClickException(f"Could not find any open transactions starting at {where}")
        await abort_transaction(cluster, chosen[0])

    run(bootstrap, operate)


@command.command("find-hanging", short_help="Find hanging transactions.")
@bootstrap_option
@click.option("--broker-id", type=int, help="Search the partitions of this broker.")
@click.option(
    "--max-transaction-timeout",
    type=click.IntRange(0),
    default=15,
    show_default=True,
    help="Ignore transactions whose last batch is younger than this many minutes.",
)
@click.option("--topic", help="Search this topic.")
@click.option("--partition", type=click.IntRange(0), help="Search this partition of the topic.")
@json_option
def find_hanging_command(
    bootstrap: str,
    broker_id: int | None,
    max_transaction_timeout: int,
    topic: str | None,
    partition: int | None,
    as_json: bool,
) -> None:
    """Find the transactions that no coordinator will end."""
    if topic is None and broker_id is None:
        raise click.UsageError("Give --topic or --broker-id, to limit the search.")
    if topic is None and partition is not None:
        raise click.UsageError("--partition needs --topic.")

    async def operate(cluster: Cluster) -> list[OpenTransaction]:
        if topic is not None and partition is not None:
            places = [await _existing(cluster, topic, partition)]
        else:
            places = await replicated_places(cluster, None if topic is None else [topic], broker_id)
        found = await open_transactions(cluster, places, broker_id)
        quiet_since_ms = _now_ms() - max_transaction_timeout * _MINUTE_MS
        return await find_hanging(cluster, [each for each in found if each.last_timestamp_ms < quiet_since_ms])

    hanging = run(bootstrap, operate)
    if as_json:
        print_json([attrs.asdict(each) for each in hanging])
        return
    heading = (
        "Topic",
        "Partition",
        "ProducerId",
        "ProducerEpoch",
        "CoordinatorEpoch",
        "StartOffset",
        "LastTimestamp",
        "Duration(min)",
    )
    now_ms = _now_ms()
    ages = [(now_ms - each.last_timestamp_ms) // _MINUTE_MS for each in hanging]
    print_tabs(heading, [(*attrs.astuple(each), age) for each, age in zip(hanging, ages, strict=True)])


@command.command("forceTerminateTransaction", short_help="Abort a transaction.")
@bootstrap_option
@click.option("--transactionalId", "transactional_id", required=True, help="The transactional id.")
def force_terminate_command(bootstrap: str, transactional_id: str) -> None:
    """Abort the transaction of a transactional id, and fence its producer."""

    async def operate(cluster: Cluster) -> None:
        await TransactionalProducer(cluster, transactional_id, transaction_timeout_ms=TIMEOUT_MS).start()

    run(bootstrap, operate)


async def _existing(cluster: Cluster, topic: str, partition: int) -> Place:
    if (topic, partition) not in await replicated_places(cluster, [topic], None):
        raise click.ClickException(f"Topic {topic} has no partition {partition}")
    return topic, partition


def _producer(state: ProducerState) -> dict[str, int | None]:
    start = state.current_txn_start_offset
    return {
        "producer_id": state.producer_id,
        "producer_epoch": state.producer_epoch,
        "coordinator_epoch": state.coordinator_epoch,
        "last_sequence": state.last_sequence,
        "last_timestamp_ms": state.last_timestamp,
        "transaction_start_offset": None if start < 0 else start,
    }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
