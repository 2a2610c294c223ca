"""``kraft groups``: list, describe and delete the consumer groups of any Kafka cluster, and reset their offsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import click

from kraft.cli.options import bootstrap_option, json_option, run
from kraft.cli.output import print_columns, print_json
from kraft.client.cluster import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, Cluster, check
from kraft.client.offsets import commit_offsets, committed_offsets
from kraft.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.describe_groups_response import DescribedGroup, DescribedGroupMember
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.wire.codec import decode
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode


@click.group("groups", short_help="List, describe and delete consumer groups; reset their offsets.")
def command() -> None:
    """List, describe and delete consumer groups; reset their offsets."""


@command.command("list")
@bootstrap_option
@json_option
def list_command(bootstrap: str, as_json: bool) -> None:
    """Print all groups of the cluster, with their states."""

    async def operate(cluster: Cluster) -> list[dict[str, str]]:
        groups = {}
        for broker in await cluster.brokers():
            response = await cluster.request(ListGroupsRequest(), broker)
            check(response.error_code)
            for group in response.groups:
                groups[group.group_id] = {
                    "group": group.group_id,
                    "state": group.group_state,
                    "protocol_type": group.protocol_type,
                }
        return [groups[name] for name in sorted(groups)]

    groups = run(bootstrap, operate)
    if as_json:
        print_json(groups)
    else:
        print_columns(("GROUP", "STATE"), [(group["group"], group["state"]) for group in groups])


@attrs.frozen
class PartitionLag:
    """The position of a group in one partition. ``committed`` is None if the group has not committed an offset."""

    topic: str
    partition: int
    committed: int | None
    end: int | None
    member: str | None
    client: str | None
    host: str | None

    @property
    def lag(self) -> int | None:
        return None if self.committed is None or self.end is None else max(0, self.end - self.committed)


@command.command("describe")
@click.argument("group")
@bootstrap_option
@json_option
def describe_command(group: str, bootstrap: str, as_json: bool) -> None:
    """Show the offsets, lags and members of GROUP."""

    async def operate(cluster: Cluster) -> tuple[DescribedGroup, list[PartitionLag]]:
        request = DescribeGroupsRequest(groups=[group])
        answer = await cluster.ask_coordinator(group, request, lambda answer: answer.groups[0].error_code)
        described = answer.groups[0]
        check(described.error_code, described.error_message)
        if described.group_state == "Dead":
            raise click.ClickException(f"Group {group} does not exist")
        return described, await _lags(cluster, described)

    described, lags = run(bootstrap, operate)
    if as_json:
        print_json(
            {
                "group": described.group_id,
                "state": described.group_state,
                "protocol": described.protocol_data,
                "members": len(described.members),
                "partitions": [{**attrs.asdict(lag), "lag": lag.lag} for lag in lags],
            }
        )
        return
    click.echo(f"Group: {described.group_id}  State: {described.group_state}  Members: {len(described.members)}")
    heading = ("TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER", "CLIENT", "HOST")
    rows = [
        (lag.topic, lag.partition, lag.committed, lag.end, lag.lag, lag.member, lag.client, lag.host) for lag in lags
    ]
    print_columns(heading, rows)


@command.command("delete")
@click.argument("groups", nargs=-1, required=True)
@bootstrap_option
def delete_command(groups: tuple[str, ...], bootstrap: str) -> None:
    """Delete groups without members, and their offsets."""

    async def operate(cluster: Cluster) -> None:
        for group in groups:
            request = DeleteGroupsRequest(groups_names=[group])
            answer = await cluster.ask_coordinator(group, request, lambda answer: answer.results[0].error_code)
            code = answer.results[0].error_code
            check(code, f"group {group}: {ErrorCode(code).message}")
            click.echo(f"Deleted group {group}.")

    run(bootstrap, operate)


@command.command("reset-offsets")
@click.argument("group")
@bootstrap_option
@click.option("--topic", required=True, help="The topic whose offsets are reset.")
@click.option("--partition", type=click.IntRange(0), help="Only this partition.")
@click.option("--to-earliest", "target", flag_value=EARLIEST_TIMESTAMP, type=int, help="Read all records again.")
@click.option("--to-latest", "target", flag_value=LATEST_TIMESTAMP, type=int, help="Read only new records.")
@click.option("--to-offset", "offset", type=click.IntRange(0), help="Continue at this offset.")
@click.option("--dry-run", is_flag=True, help="Show the new offsets, and commit nothing.")
def reset_offsets_command(
    group: str,
    bootstrap: str,
    topic: str,
    partition: int | None,
    target: int | None,
    offset: int | None,
    dry_run: bool,
) -> None:
    """Set the committed offsets of GROUP in a topic. The group must have no members."""
    if (target is None) == (offset is None):
        raise click.UsageError("Give one of --to-earliest, --to-latest and --to-offset.")

    async def operate(cluster: Cluster) -> dict[int, int]:
        described = await cluster.topic(topic)
        partitions = sorted(known.partition_index for known in described.partitions)
        if partition is not None and partition not in partitions:
            raise click.ClickException(f"Topic {topic} has no partition {partition}")
        chosen = partitions if partition is None else [partition]
        if target is None:
            offsets = dict.fromkeys(chosen, offset or 0)
        else:
            offsets = await cluster.offsets(topic, dict.fromkeys(chosen, target))
        if not dry_run:
            await commit_offsets(cluster, group, topic, offsets)
        return offsets

    offsets = run(bootstrap, operate)
    rows = [(topic, index, new) for index, new in sorted(offsets.items())]
    print_columns(("TOPIC", "PARTITION", "NEW OFFSET"), rows)


async def _lags(cluster: Cluster, described: DescribedGroup) -> list[PartitionLag]:
    """Return one PartitionLag for each partition with a committed offset or an assigned member."""
    committed = await committed_offsets(cluster, described.group_id)
    readers = {place: member for member in described.members for place in assigned_partitions(member)}
    places = {(topic, index) for topic, offsets in committed.items() for index in offsets} | set(readers)
    ends: dict[tuple[str, int], int] = {}
    for topic in {topic for topic, _ in places}:
        wanted = {index: LATEST_TIMESTAMP for other, index in places if other == topic}
        ends |= {(topic, index): end for index, end in (await cluster.offsets(topic, wanted)).items()}
    return [_lag(place, committed, ends, readers) for place in sorted(places)]


def _lag(
    place: tuple[str, int],
    committed: Mapping[str, Mapping[int, int]],
    ends: Mapping[tuple[str, int], int],
    readers: Mapping[tuple[str, int], Any],
) -> PartitionLag:
    topic, index = place
    member = readers.get(place)
    return PartitionLag(
        topic=topic,
        partition=index,
        committed=committed.get(topic, {}).get(index),
        end=ends.get(place),
        member=member and member.member_id,
        client=member and member.client_id,
        host=member and member.client_host,
    )


def assigned_partitions(member: DescribedGroupMember) -> list[tuple[str, int]]:
    """Return the partitions assigned to a member; none if its assignment is not that of a consumer."""
    data = member.member_assignment
    if len(data) < 2:
        return []
    version = min(int.from_bytes(data[:2], "big", signed=True), ConsumerProtocolAssignment.VALID_VERSIONS[1])
    try:
        assignment, _ = decode(ConsumerProtocolAssignment, max(0, version), data, 2)
    except DecodeError:
        return []
    return [(entry.topic, index) for entry in assignment.assigned_partitions for index in entry.partitions]
