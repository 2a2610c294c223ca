"""``kraft quorum``: describe the metadata quorum, and explain its changes of leader."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import attrs
import click

from kraft.cli.options import Servers, json_option, run, servers_options
from kraft.cli.output import print_columns, print_json, print_tabs
from kraft.cli.storage import load_config
from kraft.client.cluster import TIMEOUT_S, Cluster, check
from kraft.config.defaults import DEFAULT_PROPERTIES
from kraft.config.listeners import address
from kraft.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from kraft.messages.describe_quorum_response import DescribeQuorumResponse, Node, ReplicaState
from kraft.messages.describe_quorum_response import PartitionData as Quorum
from kraft.storage.errors import StorageError
from kraft.storage.meta_properties import read_meta_properties
from kraft.story.quorum_timeline import (
    JournalLine,
    LeaderTerm,
    leader_terms,
    lines_about,
    merged,
    read_journal,
    sentence,
)
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC
from kraft.wire.uuids import ZERO_UUID, uuid_to_text

_UNKNOWN = -1
_DEFAULT_DIRECTORY = DEFAULT_PROPERTIES["log.dirs"]
_AGO = re.compile(r"([0-9]{1,9})([smhd])")
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@click.group("quorum", short_help="Describe the metadata quorum, and explain its elections.")
@servers_options
@click.pass_context
def command(ctx: click.Context, servers: Servers) -> None:
    """Describe the metadata quorum, and explain its elections."""
    ctx.obj = servers


@attrs.frozen
class Described:
    """The leader's DescribeQuorum response, with the id of the cluster."""

    cluster_id: str
    quorum: Quorum
    nodes: Sequence[Node]


@command.command("describe")
@click.option("--status", is_flag=True, help="A summary: leader, epoch, high watermark, lag, voters, observers.")
@click.option("--replication", is_flag=True, help="Each replica: log end offset, lag, time of its last fetch.")
@click.option("--human-readable", is_flag=True, help="With --replication: print times as in '446 ms ago'.")
@servers_options
def describe_command(servers: Servers, status: bool, replication: bool, human_readable: bool) -> None:
    """Show the state of the metadata quorum, as its leader reports it.

    The fields and the layout are those of kafka-metadata-quorum.
    """
    if status == replication:
        raise click.UsageError("Give one of --status and --replication, as in: kraft quorum describe --status")
    if human_readable and not replication:
        raise click.UsageError("--human-readable goes with --replication.")
    described = run(servers.bootstrap, lambda cluster: ask(cluster, controllers=servers.are_controllers))
    if status:
        print_status(described)
    else:
        print_replication(described.quorum, time.time_ns() // 1_000_000 if human_readable else None)


async def ask(cluster: Cluster, *, controllers: bool) -> Described:
    """Send DescribeQuorum to any broker, which forwards it, or to the active controller. Waits for a leader.

    Raises:
        KafkaError: the cluster refused the request.
        GaveUp: no leader answered within ``TIMEOUT_S``.
    """
    topic = TopicData(CLUSTER_METADATA_TOPIC, [PartitionData(0)])

    async def attempt() -> Described:
        cluster_described = await cluster.describe(controllers=controllers)
        node_id = cluster_described.controller_id if controllers else None
        answer = await cluster.request(DescribeQuorumRequest(topics=[topic]), node_id)
        return Described(cluster_described.cluster_id, _quorum(answer), answer.nodes)

    return await cluster.retried(attempt, "the metadata quorum", TIMEOUT_S)


def _quorum(answer: DescribeQuorumResponse) -> Quorum:
    """Return the response's one partition. Raises KafkaError if the response holds an error or another partition."""
    check(answer.error_code, answer.error_message)
    if [(topic.topic_name, len(topic.partitions)) for topic in answer.topics] != [(CLUSTER_METADATA_TOPIC, 1)]:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the response is not about the metadata quorum")
    (partition,) = answer.topics[0].partitions
    check(partition.error_code, partition.error_message)
    return partition


def _leader_of(quorum: Quorum) -> ReplicaState:
    leader = next((voter for voter in quorum.current_voters if voter.replica_id == quorum.leader_id), None)
    if leader is None:
        raise click.ClickException(f"The leader, {quorum.leader_id}, is not one of the voters")
    return leader


def print_status(described: Described) -> None:
    quorum = described.quorum
    leader = _leader_of(quorum)
    # A follower with the leader's log end offset has no lag, in time either.
    behind = min(quorum.current_voters, key=lambda voter: (voter.log_end_offset, voter is not leader))
    fields = {
        "ClusterId": described.cluster_id,
        "LeaderId": quorum.leader_id,
        "LeaderEpoch": quorum.leader_epoch,
        "HighWatermark": quorum.high_watermark,
        "MaxFollowerLag": leader.log_end_offset - behind.log_end_offset,
        "MaxFollowerLagTimeMs": _lag_ms(leader, behind),
        "CurrentVoters": json.dumps([_member(voter, described.nodes) for voter in quorum.current_voters]),
        "CurrentObservers": json.dumps([_member(observer, described.nodes) for observer in quorum.observers]),
    }
    for name, value in fields.items():
        click.echo(f"{name + ':':<24}{value}")


def _lag_ms(leader: ReplicaState, behind: ReplicaState) -> int:
    if leader is behind:
        return 0
    if _UNKNOWN in (leader.last_caught_up_timestamp, behind.last_caught_up_timestamp):
        return _UNKNOWN
    return leader.last_caught_up_timestamp - behind.last_caught_up_timestamp


def _member(replica: ReplicaState, nodes: Sequence[Node]) -> dict[str, object]:
    member: dict[str, object] = {"id": replica.replica_id}
    if replica.replica_directory_id != ZERO_UUID:
        member["directoryId"] = uuid_to_text(replica.replica_directory_id)
    listeners = [listener for node in nodes if node.node_id == replica.replica_id for listener in node.listeners]
    if listeners:
        member["endpoints"] = [f"{listener.name}://{address(listener.host, listener.port)}" for listener in listeners]
    return member


def print_replication(quorum: Quorum, now_ms: int | None) -> None:
    """Print the leader first, then the other voters, then the observers. With ``now_ms``, times are printed as ages."""
    leader = _leader_of(quorum)
    followers = [voter for voter in quorum.current_voters if voter is not leader]
    members = [(leader, "Leader"), *((voter, "Follower") for voter in followers)]
    members += ((observer, "Observer") for observer in quorum.observers)

    def shown(timestamp: int) -> object:
        return timestamp if now_ms is None or timestamp == _UNKNOWN else f"{now_ms - timestamp} ms ago"

    rows = [
        (
            replica.replica_id,
            uuid_to_text(replica.replica_directory_id),
            replica.log_end_offset,
            leader.log_end_offset - replica.log_end_offset,
            shown(replica.last_fetch_timestamp),
            shown(replica.last_caught_up_timestamp),
            status,
        )
        for replica, status in members
    ]
    heading = (
        "NodeId",
        "DirectoryId",
        "LogEndOffset",
        "Lag",
        "LastFetchTimestamp",
        "LastCaughtUpTimestamp",
        "Status",
    )
    print_tabs(heading, rows)


@command.command("explain")
@click.argument("directories", nargs=-1, metavar="[DIRECTORY]...")
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="FILE",
    help="A node's server.properties, which names its directory.",
)
@click.option("--epoch", type=click.IntRange(0), help="Only this epoch: its election, and the end of its term.")
@click.option(
    "--since",
    metavar="WHEN",
    help="Only the time since 2026-11-21T14:22 (UTC), or the last 90s, 10m, 2h, 1d.",
)
@click.option("--all", "show_all", is_flag=True, help="Also each refused Fetch of a node that sought the leader.")
@click.option("--html", "page", metavar="FILE", help="Write a page with a plot of the elections; needs kraft[spark].")
@json_option
def explain_command(
    directories: tuple[str, ...],
    configs: tuple[str, ...],
    epoch: int | None,
    since: str | None,
    show_all: bool,
    page: str | None,
    as_json: bool,
) -> None:
    """Explain from the nodes' journals why the leader changed.

    Each DIRECTORY is the log directory of a node. The default is ./kraft-data, the directory of a node that was started
    without a configuration. Name as many voters as you can: each journal adds what its node did.

    The timeline says who stood for election, who voted for whom, and why. A star marks the start or the end of a
    leader's term. Times are UTC, by each node's own clock.
    """
    sources = [*directories, *(load_config(path).metadata_log_dir for path in configs)]
    if not sources and os.path.isdir(_DEFAULT_DIRECTORY):
        sources = [_DEFAULT_DIRECTORY]
    sources = list({os.path.realpath(source): source for source in sources}.values())
    if not sources:
        example = f"kraft quorum explain {_DEFAULT_DIRECTORY}"
        raise click.UsageError(f"Name the log directory of at least one node, or its --config, as in: {example}")
    try:
        journals = [read_journal(directory) for directory in sources]
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None
    except StorageError as error:
        raise click.ClickException(str(error)) from None
    unread = sum(count for _, count in journals)
    if unread:
        click.echo(f"Warning: skipped {unread} unreadable lines", err=True)
    lines = all_lines = merged(lines for lines, _ in journals)
    known = leader_terms(lines)
    if epoch is not None:
        lines, known = lines_about(lines, epoch), [term for term in known if term.epoch == epoch]
        if not lines and not known:
            raise click.ClickException(f"None of the journals has epoch {epoch}")
    if since is not None:
        start_ms = _moment(since, time.time_ns() // 1_000_000)
        lines = [line for line in lines if line.ms >= start_ms]
        known = [term for term in known if term.lasts_until(start_ms)]
    if page is not None:
        write_page(page, sources, all_lines, lines)
    elif as_json:
        events = [{**line.fields, "sentence": sentence(line)} for line in lines]
        print_json({"events": events, "leader_terms": [attrs.asdict(term) for term in known]})
    else:
        print_timeline(lines if show_all else [line for line in lines if not line.seeks_leader], known)


def write_page(
    path: str, sources: Sequence[str], all_lines: Sequence[JournalLine], chosen: Sequence[JournalLine]
) -> None:
    """Write the report page on the time of the chosen lines. Raises click.ClickException."""
    # Only this option needs the page: the other commands start sooner without it.
    from kraft.story.report.journals import journal_report
    from kraft.story.report.page import PlotlyMissing, render

    try:
        names = [meta.cluster_id for source in sources if (meta := read_meta_properties(source)) is not None]
        report = journal_report(all_lines, names[0] if names else "without a name")
        shown = attrs.evolve(
            report,
            start_ms=min((line.ms for line in chosen), default=report.end_ms),
            end_ms=max((line.ms for line in chosen), default=report.end_ms),
        )
        text = render(shown)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise click.ClickException(f"{error.filename or path}: {error.strerror}") from None
    except (PlotlyMissing, StorageError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"Wrote {path}")


def print_timeline(lines: Sequence[JournalLine], known: Sequence[LeaderTerm]) -> None:
    """Print the timeline, day by day, and then a table of the leaders' terms."""
    day = None
    for line in lines:
        moment = _utc(line.ms)
        if moment.date() != day:
            day = moment.date()
            click.echo(f"{day} (UTC)")
        star = "*" if line.begins_term or line.ends_term else " "
        click.echo(f"{_clock(moment)} {star} node {line.node} {sentence(line)}")
    if lines:
        click.echo("")
    rows = [
        (
            term.epoch,
            term.leader if term.leader is not None else "nobody",
            f"{_utc(term.start_ms).date()} {_clock(_utc(term.start_ms))}",
            _led_for(term),
            term.why_ended or "still leads, as far as is known",
        )
        for term in known
    ]
    print_columns(("EPOCH", "LEADER", "SINCE", "LED FOR", "UNTIL"), rows)


def _led_for(term: LeaderTerm) -> str | None:
    if term.end_ms is None:
        return None
    return f"{'at most ' if term.at_most else ''}{(term.end_ms - term.start_ms) / 1000:.1f} s"


def _utc(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _clock(moment: datetime) -> str:
    return moment.strftime("%H:%M:%S.") + f"{moment.microsecond // 1000:03d}"


def _moment(text: str, now_ms: int) -> int:
    """Return the time that ``--since`` names, in ms since 1970. Raises click.BadParameter if it names none."""
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now_ms - int(ago[1]) * _UNIT_MS[ago[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither a time like 2026-11-21T14:22 nor a span like 10m", param_hint="--since"
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
