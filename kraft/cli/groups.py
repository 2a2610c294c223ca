"""``kraft groups``: list, describe and delete the groups of any Kafka cluster, and reset their offsets."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import attrs
import click

from kraft.cli.options import bootstrap_option, json_option, report_refused, run
from kraft.cli.output import print_columns, print_json
from kraft.client.cluster import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TIMEOUT_S, Cluster, check
from kraft.client.groups import SHARE, GroupDescription, MemberDescription, describe_group, share_group_offsets
from kraft.client.offsets import commit_offsets, committed_offsets
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.records.batch import MAX_OFFSET
from kraft.wire.errors import ErrorCode, KafkaError


@click.group("groups", short_help="List, describe and delete groups of consumers; reset their offsets.")
def command() -> None:
    """List, describe and delete groups of consumers; reset their offsets."""


@command.command("list")
@bootstrap_option
@json_option
def list_command(bootstrap: str, as_json: bool) -> None:
    """Print all groups of the cluster, with their types and states."""

    async def attempt(cluster: Cluster) -> list[dict[str, str]]:
        groups = {}
        for broker in await cluster.brokers():
            response = await cluster.request(ListGroupsRequest(), broker)
            check(response.error_code)
            for group in response.groups:
                groups[group.group_id] = {
                    "group": group.group_id,
                    "type": group.group_type.lower(),
                    "state": group.group_state,
                    "protocol_type": group.protocol_type,
                }
        return [groups[name] for name in sorted(groups)]

    async def operate(cluster: Cluster) -> list[dict[str, str]]:
        # A coordinator may be loading.
        return await cluster.retried(partial(attempt, cluster), "the list of groups", TIMEOUT_S)

    groups = run(bootstrap, operate)
    if as_json:
        print_json(groups)
    else:
        rows = [(group["group"], group["type"] or "-", group["state"]) for group in groups]
        print_columns(("GROUP", "TYPE", "STATE"), rows)


@attrs.frozen
class PartitionLag:
    """The position of a group in one partition. ``committed`` is None if the group has not committed an offset. For a
    share group it is the start offset, below which all records are finished. ``end`` is None if the partition has no
    leader, or if its topic is deleted.
    """

    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    member: str | None = None
    client: str | None = None
    host: str | None = None


@command.command("describe")
@click.argument("group")
@bootstrap_option
@json_option
def describe_command(group: str, bootstrap: str, as_json: bool) -> None:
    """Show the offsets, lags and members of GROUP."""

    async def operate(cluster: Cluster) -> tuple[GroupDescription, list[PartitionLag]]:
        described = await describe_group(cluster, group)
        return described, await _lags(cluster, described)

    described, lags = run(bootstrap, operate)
    if as_json:
        print_json(
            {
                "group": described.group_id,
                "type": described.type,
                "state": described.state,
                "protocol": described.protocol,
                "members": len(described.members),
                "partitions": [attrs.asdict(lag) for lag in lags],
            }
        )
        return
    click.echo(
        f"Group: {described.group_id}  Type: {described.type}  State: {described.state}  "
        f"Members: {len(described.members)}"
    )
    offset = "START" if described.type == SHARE else "COMMITTED"
    heading = ("TOPIC", "PARTITION", offset, "END", "LAG", "MEMBER", "CLIENT", "HOST")
    rows = [
        (lag.topic, lag.partition, lag.committed, lag.end, lag.lag, lag.member, lag.client, lag.host) for lag in lags
    ]
    print_columns(heading, rows)


@command.command("delete")
@click.argument("groups", nargs=-1, required=True)
@bootstrap_option
def delete_command(groups: tuple[str, ...], bootstrap: str) -> None:
    """Delete groups without members, and their offsets."""

    async def operate(cluster: Cluster) -> list[KafkaError]:
        refused = []
        for group in groups:
            request = DeleteGroupsRequest(groups_names=[group])
            try:
                answer = await cluster.ask_coordinator(group, request, lambda answer: answer.results[0].error_code)
                code = answer.results[0].error_code
                check(code, f"group {group}: {ErrorCode(code).message}")
                click.echo(f"Deleted group {group}.")
            except KafkaError as error:
                refused.append(error)
        return refused

    report_refused(run(bootstrap, operate))


@command.command("reset-offsets")
@click.argument("group")
@bootstrap_option
@click.option("--topic", required=True, help="The topic whose offsets are reset.")
@click.option("--partition", type=click.IntRange(0), help="Only this partition.")
@click.option("--to-earliest", "target", flag_value=EARLIEST_TIMESTAMP, type=int, help="Read all records again.")
@click.option("--to-latest", "target", flag_value=LATEST_TIMESTAMP, type=int, help="Read only new records.")
@click.option(
    "--to-offset",
    "offset",
    type=click.IntRange(0, MAX_OFFSET),
    help="Continue at this offset; in a partition that does not have it, at the nearest one.",
)
@click.option("--execute/--dry-run", default=False, help="Commit the new offsets, or only show them (the default).")
def reset_offsets_command(
    group: str,
    bootstrap: str,
    topic: str,
    partition: int | None,
    target: int | None,
    offset: int | None,
    execute: bool,
) -> None:
    """Show new committed offsets of GROUP in a topic; set them with --execute. The group must have no members then."""
    if (target is None) == (offset is None):
        raise click.UsageError("Give one of --to-earliest, --to-latest and --to-offset.")

    async def operate(cluster: Cluster) -> dict[int, int]:
        described = await cluster.topic(topic)
        partitions = sorted(known.partition_index for known in described.partitions)
        if partition is not None and partition not in partitions:
            raise click.ClickException(f"Topic {topic} has no partition {partition}")
        chosen = partitions if partition is None else [partition]
        if target is not None:
            offsets = await cluster.offsets(topic, dict.fromkeys(chosen, target))
        else:
            assert offset is not None
            first = await cluster.offsets(topic, dict.fromkeys(chosen, EARLIEST_TIMESTAMP))
            last = await cluster.offsets(topic, dict.fromkeys(chosen, LATEST_TIMESTAMP))
            offsets = {index: min(max(offset, first[index]), last[index]) for index in chosen}
            for index in (index for index in chosen if offsets[index] != offset):
                text = f"Offset {offset} is not in {topic}-{index}, which has {first[index]} to {last[index]}."
                click.echo(f"{text} The new offset is {offsets[index]}.", err=True)
        if execute:
            await commit_offsets(cluster, group, topic, offsets)
        return offsets

    offsets = run(bootstrap, operate)
    rows = [(topic, index, new) for index, new in sorted(offsets.items())]
    print_columns(("TOPIC", "PARTITION", "NEW OFFSET"), rows)
    if not execute:
        click.echo("No offset is committed. Commit these offsets with --execute.", err=True)


async def _lags(cluster: Cluster, described: GroupDescription) -> list[PartitionLag]:
    """Return the partitions with a committed offset or an assigned member: one PartitionLag for each member, or one."""
    committed: dict[tuple[str, int], int] = {}
    reported: dict[tuple[str, int], int] = {}
    if described.type == SHARE:
        for place, (start, lag) in (await share_group_offsets(cluster, described.group_id)).items():
            committed[place] = start
            if lag is not None:
                reported[place] = lag
    else:
        for topic, offsets in (await committed_offsets(cluster, described.group_id)).items():
            committed |= {(topic, index): offset for index, offset in offsets.items()}
    readers: dict[tuple[str, int], list[MemberDescription]] = defaultdict(list)
    for member in described.members:
        for place in member.partitions:
            readers[place].append(member)
    places = committed.keys() | readers.keys()
    ends: dict[tuple[str, int], int] = {}
    for topic in {topic for topic, _ in places}:
        wanted = {index: LATEST_TIMESTAMP for other, index in places if other == topic}
        try:
            found_ends = await cluster.offsets(topic, wanted, skip_leaderless=True)
        except KafkaError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            continue  # it is deleted; members keep its partitions until the group rebalances
        ends |= {(topic, index): end for index, end in found_ends.items()}
    lags = []
    for place in sorted(places):
        offset, end = committed.get(place), ends.get(place)
        found = PartitionLag(*place, offset, end, reported.get(place, lag_of(offset, end)))
        members = readers.get(place, ())
        lags += [attrs.evolve(found, member=each.member_id, client=each.client_id, host=each.host) for each in members]
        if not members:
            lags.append(found)
    return lags


def lag_of(committed: int | None, end: int | None) -> int | None:
    """Return how far a group is behind the end of a partition; None if either offset is unknown."""
    return None if committed is None or end is None else max(0, end - committed)
