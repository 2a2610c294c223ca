"""``kraft quorum``: who leads the metadata quorum, how far the others are, and why it came to that."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

import attrs
import click
import trio

from kraft.cli.client import RETRY_S, TIMEOUT_S, Cluster, bootstrap_option, check, controllers_option, run
from kraft.cli.output import print_tabs
from kraft.config.listeners import address
from kraft.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from kraft.messages.describe_quorum_response import DescribeQuorumResponse, Node, ReplicaState
from kraft.messages.describe_quorum_response import PartitionData as Quorum
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.uuids import ZERO_UUID, uuid_to_text

METADATA_TOPIC = "__cluster_metadata"

_NOT_YET = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.BROKER_NOT_AVAILABLE,
)
_UNKNOWN = -1


@click.group("quorum", short_help="Describe the metadata quorum, and explain its elections.")
def command() -> None:
    """Describe the metadata quorum, and explain its elections."""


@attrs.frozen
class Described:
    """What the leader says of the quorum, and who the cluster is."""

    cluster_id: str
    quorum: Quorum
    nodes: Sequence[Node]


@command.command("describe")
@bootstrap_option
@controllers_option
@click.option("--status", is_flag=True, help="A short summary: leader, epoch, high watermark, lag, members.")
@click.option("--replication", is_flag=True, help="Each member: how far it is, and when it last was caught up.")
@click.option("--human-readable", is_flag=True, help="With --replication: how long ago, instead of when.")
def describe_command(
    bootstrap: str, controllers: str | None, status: bool, replication: bool, human_readable: bool
) -> None:
    """Show the quorum as its leader sees it, with the fields and the layout of kafka-metadata-quorum."""
    if status == replication:
        raise click.UsageError("Give one of --status and --replication.")
    if human_readable and not replication:
        raise click.UsageError("--human-readable goes with --replication.")
    described = run(controllers or bootstrap, lambda cluster: ask(cluster, controllers=controllers is not None))
    if status:
        print_status(described)
    else:
        print_replication(described.quorum, time.time_ns() // 1_000_000 if human_readable else None)


async def ask(cluster: Cluster, *, controllers: bool) -> Described:
    """Ask any broker, which passes it on, or the active controller. Waits for a leader; KafkaError, TooSlowError."""
    topic = TopicData(METADATA_TOPIC, [PartitionData(0)])
    with trio.fail_after(TIMEOUT_S):
        while True:
            try:
                cluster_described = await cluster.describe(controllers=controllers)
                node_id = cluster_described.controller_id if controllers else None
                answer = await cluster.request(DescribeQuorumRequest(topics=[topic]), node_id)
                return Described(cluster_described.cluster_id, _quorum(answer), answer.nodes)
            except KafkaError as error:
                if error.code not in _NOT_YET:
                    raise
            await trio.sleep(RETRY_S)


def _quorum(answer: DescribeQuorumResponse) -> Quorum:
    """Raises KafkaError."""
    check(answer.error_code, answer.error_message)
    if [(topic.topic_name, len(topic.partitions)) for topic in answer.topics] != [(METADATA_TOPIC, 1)]:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the answer is not about the metadata quorum")
    (partition,) = answer.topics[0].partitions
    check(partition.error_code, partition.error_message)
    return partition


def print_status(described: Described) -> None:
    quorum = described.quorum
    leader = next((voter for voter in quorum.current_voters if voter.replica_id == quorum.leader_id), None)
    if leader is None:
        raise click.ClickException(f"The leader, {quorum.leader_id}, is none of the voters")
    # A tie with the leader is no lag, in time neither.
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
    """The leader first, then the voters, then the observers. ``now_ms``: show times as how long they are ago."""
    leader = next((voter for voter in quorum.current_voters if voter.replica_id == quorum.leader_id), None)
    if leader is None:
        raise click.ClickException(f"The leader, {quorum.leader_id}, is none of the voters")
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
