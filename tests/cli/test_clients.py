"""The commands that are clients, against a running cluster: that of ``--bootstrap-servers``, or a node of ours."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from click.testing import CliRunner, Result

from kraft.cli.main import cli
from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kraft.rpc.client import connect
from kraft.wire.schema import Message
from tests.support.node_process import free_ports, running_node

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    given_cluster: str | None = request.config.getoption("--bootstrap-servers")
    if given_cluster is not None:
        yield given_cluster
        return
    with running_node(tmp_path_factory.mktemp("node") / "1") as node:
        yield node.bootstrap_servers


@pytest.fixture
def run(cluster: str) -> Run:
    def invoke(*arguments: str, text: str | bytes | None = None) -> Result:
        return CliRunner(catch_exceptions=False).invoke(cli, [*arguments, "--bootstrap-server", cluster], input=text)

    return invoke


@pytest.fixture
def name() -> str:
    return f"cli-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def topic(run: Run, name: str) -> Iterator[str]:
    assert run("topics", "create", name, "--partitions", "2").exit_code == 0
    yield name
    run("topics", "delete", name)


def described(run: Run, name: str) -> dict[str, Any]:
    (entry,) = json.loads(run("topics", "describe", name, "--json").stdout)
    assert isinstance(entry, dict)
    return entry


def test_a_topic_from_creation_to_deletion(run: Run, name: str) -> None:
    created = run("topics", "create", name, "--partitions", "3", "--config", "retention.ms=5000")
    assert (created.exit_code, created.output) == (0, f"Created topic {name}.\n")
    assert name in run("topics", "list").output.splitlines()
    assert name in json.loads(run("topics", "list", "--json").output)
    entry = described(run, name)
    assert entry["configs"] == {"retention.ms": "5000"}
    assert [partition["partition"] for partition in entry["partitions"]] == [0, 1, 2]
    assert run("topics", "delete", name).output == f"Deleted topic {name}.\n"
    assert name not in run("topics", "list").output.splitlines()


def test_a_topic_that_exists(run: Run, topic: str) -> None:
    again = run("topics", "create", topic)
    assert again.exit_code == 1
    assert again.output.startswith("Error: TOPIC_ALREADY_EXISTS: ")
    assert run("topics", "create", topic, "--if-not-exists").exit_code == 0


def test_a_topic_is_altered(run: Run, topic: str) -> None:
    altered = run(
        "topics", "alter", topic, "--partitions", "4", "--config", "segment.ms=70000", "--config", "flush.ms=9"
    )
    assert (altered.exit_code, altered.output) == (0, f"Altered topic {topic}.\n")
    assert len(described(run, topic)["partitions"]) == 4
    run("topics", "alter", topic, "--delete-config", "flush.ms")
    assert described(run, topic)["configs"] == {"segment.ms": "70000"}


def test_describe_prints_columns(run: Run, topic: str) -> None:
    lines = run("topics", "describe", topic).output.splitlines()
    assert lines[0] == f"Topic: {topic}  Partitions: 2  Configs: -"
    assert lines[1].split("  ") == ["PARTITION", "LEADER", "REPLICAS", "IN SYNC"]
    assert len(lines) == 4


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_go_in_and_come_out(run: Run, topic: str, compression: str) -> None:
    lines = [f"line {number}" for number in range(50)]
    produced = run("produce", topic, "--partition", "0", "--compression", compression, text="\n".join(lines))
    assert (produced.exit_code, produced.stderr) == (0, f"Produced 50 records to {topic}.\n")
    consumed = run("consume", topic, "--from-beginning", "--max-messages", "50")
    assert consumed.output.splitlines() == lines


@pytest.mark.parametrize("acks", ["0", "1"])
def test_weaker_acknowledgements(run: Run, topic: str, acks: str) -> None:
    assert run("produce", topic, "--acks", acks, text="a\n").exit_code == 0
    assert run("consume", topic, "--from-beginning", "--max-messages", "1").output == "a\n"


def test_keys_timestamps_and_json(run: Run, topic: str) -> None:
    run("produce", topic, "--key-separator", ":", text="k:v:w\n")
    run("produce", topic, text="no key\n")
    keys = run("consume", topic, "--from-beginning", "--max-messages", "2", "--keys").output.splitlines()
    assert sorted(keys) == ["\tno key", "k\tv:w"]
    output = run("consume", topic, "--from-beginning", "--max-messages", "2", "--json").output
    records = {record["value"]: record for record in map(json.loads, output.splitlines())}
    assert records["v:w"]["key"] == "k"
    assert records["no key"]["key"] is None
    stamped = run("consume", topic, "--from-beginning", "--max-messages", "2", "--timestamps").output.splitlines()
    assert f"{records['v:w']['timestamp']}\tv:w" in stamped


def test_one_partition_from_an_offset(run: Run, topic: str) -> None:
    run("produce", topic, "--partition", "1", text="a\nb\nc\n")
    assert run("consume", topic, "--partition", "1", "--offset", "1", "--max-messages", "2").output == "b\nc\n"
    assert run("consume", topic, "--partition", "0", "--offset", "earliest", "--timeout", "0.1").output == ""


def test_an_offset_outside_the_log_is_one_line(run: Run, topic: str) -> None:
    result = run("consume", topic, "--partition", "0", "--offset", "99")
    assert result.exit_code == 1
    assert result.output == f"Error: OFFSET_OUT_OF_RANGE: offset 99 is not in the log of {topic}-0\n"


def test_a_group_is_resumed_described_moved_and_deleted(run: Run, topic: str, name: str) -> None:
    run("produce", topic, "--partition", "0", text="a\nb\nc\n")
    group = f"{name}-group"
    consume = ("consume", topic, "--group", group, "--from-beginning")
    assert run(*consume, "--max-messages", "2").output == "a\nb\n"
    entry = json.loads(run("groups", "describe", group, "--json").output)
    assert (entry["group"], entry["state"], entry["members"]) == (group, "Empty", 0)
    lags = {partition["partition"]: partition["lag"] for partition in entry["partitions"]}
    assert lags == {0: 1, 1: 0}
    assert run(*consume, "--max-messages", "1").output == "c\n"
    assert group in [listed["group"] for listed in json.loads(run("groups", "list", "--json").output)]
    reset = ("groups", "reset-offsets", group, "--topic", topic)
    for how in ((), ("--dry-run",)):  # without --execute, kafka-consumer-groups commits nothing, too
        dry = run(*reset, "--to-offset", "1", "--partition", "0", *how)
        assert dry.stdout.splitlines()[1].split() == [topic, "0", "1"]
        assert dry.stderr == "No offset is committed. Commit these offsets with --execute.\n"
        assert run(*consume, "--timeout", "0.1").output == ""
    beyond = run(*reset, "--to-offset", "2", "--execute")
    assert [line.split() for line in beyond.stdout.splitlines()[1:]] == [[topic, "0", "2"], [topic, "1", "0"]]
    assert f"Offset 2 is not in {topic}-1, which has 0 to 0. The new offset is 0." in beyond.stderr
    assert run(*reset, "--to-earliest", "--execute").stderr == ""
    assert run(*consume, "--max-messages", "3").output == "a\nb\nc\n"
    assert run("groups", "delete", group).output == f"Deleted group {group}.\n"
    gone = run("groups", "describe", group)
    assert gone.exit_code == 1
    assert "Error: " in gone.output


def test_a_group_continues_where_a_run_without_records_ended(run: Run, topic: str, name: str) -> None:
    """As console-consumer's, the first run commits its positions, although it printed nothing."""
    run("produce", topic, "--partition", "0", text="old\n")
    consume = ("consume", topic, "--group", f"{name}-group", "--timeout")
    assert run(*consume, "0.1").output == ""
    run("produce", topic, "--partition", "0", text="a\nb\n")
    assert run(*consume, "5", "--max-messages", "2").output == "a\nb\n"


@pytest.mark.parametrize(("offset", "expected"), [("1", "b\n"), ("earliest", "a\n")])
def test_an_offset_goes_before_that_of_the_group(run: Run, topic: str, name: str, offset: str, expected: str) -> None:
    """``--group``: "Begin at this group's committed offsets, unless --offset is given, and commit to it"."""
    run("produce", topic, "--partition", "0", text="a\nb\nc\n")
    consume = ("consume", topic, "--group", f"{name}-group", "--partition", "0", "--max-messages", "1")
    reset = ("groups", "reset-offsets", f"{name}-group", "--topic", topic, "--partition", "0")
    run(*reset, "--to-offset", "2", "--execute")
    assert run(*consume, "--offset", offset).output == expected
    after = 2 if offset == "1" else 1
    assert run(*consume).output == "abc"[after] + "\n", "the group continues after the record that was read"


def test_groups_of_the_newer_types(tmp_path: Path) -> None:
    """KIP-848 and KIP-932: DescribeGroups knows neither type."""
    with running_node(tmp_path / "1", share_coordinator_state_topic_replication_factor="1") as node:
        for command in (
            ["features", "upgrade", "--feature", "group.version=1", "--feature", "share.version=1"],
            ["topics", "create", "orders"],
        ):
            assert (
                CliRunner(catch_exceptions=False).invoke(cli, [*command, "-b", node.bootstrap_servers]).exit_code == 0
            )

        def described(group: str) -> dict[str, Any]:
            command = ["groups", "describe", group, "--json", "-b", node.bootstrap_servers]
            found: dict[str, Any] = json.loads(CliRunner(catch_exceptions=False).invoke(cli, command).output)
            return found

        trio.run(_join, node.bootstrap_servers)
        group = described("readers")
        assert (group["type"], group["state"], group["members"]) == ("consumer", "Stable", 1)
        assert [each["member"] for each in group["partitions"]] == ["reader"]
        group = described("sharers")
        assert (group["type"], group["state"], group["members"]) == ("share", "Stable", 2)
        assert {each["member"] for each in group["partitions"]} == {"one", "two"}
        listed = CliRunner().invoke(cli, ["groups", "list", "-b", node.bootstrap_servers]).output.splitlines()
        assert [line.split() for line in listed[1:]] == [
            ["readers", "consumer", "Stable"],
            ["sharers", "share", "Stable"],
        ]


async def _join(bootstrap_servers: str) -> None:
    """Send heartbeats of a member of ``readers`` and of two of ``sharers``, until each has the partition."""
    host, _, port = bootstrap_servers.rpartition(":")
    epochs, waiting = {"reader": 0, "one": 0, "two": 0}, {"reader", "one", "two"}
    async with connect(host, int(port), client_id="test") as connection:
        with trio.fail_after(120):
            await connection.request(FindCoordinatorRequest(coordinator_keys=["readers"]))  # creates __consumer_offsets
            while waiting:
                for member in sorted(waiting):
                    request: Message
                    common = {"member_id": member, "member_epoch": epochs[member], "subscribed_topic_names": ["orders"]}
                    if member == "reader":
                        request = ConsumerGroupHeartbeatRequest(
                            group_id="readers", rebalance_timeout_ms=60_000, topic_partitions=[], **common
                        )
                    else:
                        request = ShareGroupHeartbeatRequest(group_id="sharers", **common)
                    answer: Any = await connection.request(request)
                    if not answer.error_code:
                        epochs[member] = answer.member_epoch
                        if answer.assignment is not None and answer.assignment.topic_partitions:
                            waiting.remove(member)
                await trio.sleep(0.05)


def test_a_refused_part_hides_no_other(run: Run, topic: str) -> None:
    refused = run("topics", "delete", "no-such-topic", topic, "nor-this")
    assert refused.exit_code == 1
    assert refused.stdout == f"Deleted topic {topic}.\n"
    assert [line.split(": ")[2] for line in refused.stderr.splitlines()] == ["topic no-such-topic", "topic nor-this"]


def test_a_refused_setting_adds_no_partition(run: Run, topic: str) -> None:
    assert run("topics", "alter", topic, "--partitions", "4", "--config", "no.such=1").exit_code == 1
    assert len(described(run, topic)["partitions"]) == 2


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["topics", "describe", "no-such-topic"], "UNKNOWN_TOPIC_OR_PARTITION: topic no-such-topic does not exist"),
        (["topics", "delete", "no-such-topic"], "UNKNOWN_TOPIC_OR_PARTITION: topic no-such-topic: "),
        (["topics", "create", "bad", "--config", "no.such=1"], "INVALID_CONFIG: Unknown topic config name: no.such"),
        (["topics", "create", "a b"], "INVALID_TOPIC_EXCEPTION: "),
        (["consume", "no-such-topic"], "UNKNOWN_TOPIC_OR_PARTITION: topic no-such-topic does not exist"),
        (["groups", "delete", "no-such-group"], "GROUP_ID_NOT_FOUND: group no-such-group: "),
    ],
)
def test_a_refusal_of_the_cluster_is_one_line(run: Run, arguments: list[str], why: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {why}")
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["topics", "alter", "t"], "Nothing to alter"),
        (["topics", "create", "t", "--config", "novalue"], "Invalid override novalue: it must be key=value"),
        (["consume", "t", "--offset", "1"], "--offset needs --partition."),
        (["consume", "t", "--offset", "x", "--partition", "0"], "--offset must be a number, earliest or latest."),
        (["groups", "reset-offsets", "g", "--topic", "t"], "Give one of --to-earliest"),
        (["topics", "create", "t", "--partitions", "2147483648"], "2147483648 is not in the range"),
        (["topics", "create", "t", "--replication-factor", "32768"], "32768 is not in the range"),
        (["topics", "alter", "t", "--partitions", "2147483648"], "2147483648 is not in the range"),
        (["cluster", "unregister", "-i", "2147483648"], "2147483648 is not in the range"),
        (["consume", "t", "--partition", "0", "--offset", str(2**63)], f"--offset must be at most {2**63 - 1}."),
        (["consume", "t", "--partition", "0", "--offset", "9" * 5000], f"--offset must be at most {2**63 - 1}."),
        (["groups", "reset-offsets", "g", "--topic", "t", "--to-offset", str(2**63)], f"{2**63} is not in the range"),
        (["transactions", "list", "--duration-filter", str(2**63)], f"{2**63} is not in the range"),
        (["topics", "list", "-b", "nonsense"], "Value must be host:port"),
        (["topics", "list", "-b", " ,"], "Value must name a server, as host:port"),
    ],
)
def test_wrong_usage_is_reported_before_a_connection_is_opened(arguments: list[str], why: str) -> None:
    """docs/tools.md: "It never prints a traceback". The encoder raises struct.error for a number beyond its type."""
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code != 0
    assert why in result.output


def test_no_cluster_is_one_line() -> None:
    server = f"127.0.0.1:{free_ports(1)[0]}"
    result = CliRunner().invoke(cli, ["topics", "list", "-b", server])
    assert (result.exit_code, result.output) == (1, f"Error: Cannot connect to {server}: Connection refused\n")


def test_a_controllers_port_given_for_a_brokers(tmp_path_factory: pytest.TempPathFactory) -> None:
    with running_node(tmp_path_factory.mktemp("node") / "1") as node:
        topics, quorum = (
            CliRunner().invoke(cli, [*command, "-b", node.controller_address])
            for command in (["topics", "list"], ["quorum", "describe", "--status"])
        )
        controllers = CliRunner().invoke(cli, ["quorum", "-C", node.bootstrap_servers, "describe", "--status"])
    no_broker = "this is a controller's listener: give the address of a broker"
    assert (topics.exit_code, topics.output) == (1, f"Error: UNSUPPORTED_VERSION: {no_broker}\n")
    assert (quorum.exit_code, quorum.output) == (1, f"Error: MISMATCHED_ENDPOINT_TYPE: {no_broker}\n")
    assert controllers.output.endswith(": this is a broker's listener: give the address of a controller\n")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["cluster", "cluster-id"], "standard output: No space left on device"),
        (["topics", "describe", "\udcff"], r"b'\xff' is not UTF-8"),
        (["dump-log", "--files", "no-such.log"], "no-such.log: No such file or directory"),
        (["topics", "list", "--all"], "No such option '--all'. See kraft topics list --help."),
    ],
)
def test_a_failure_is_never_a_traceback(cluster: str, arguments: list[str], why: str) -> None:
    server = ["-b", cluster] if arguments[0] in ("topics", "cluster") else []
    command = [sys.executable, "-m", "kraft", *arguments, *server]
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (1, f"Error: {why}\n")


@pytest.mark.parametrize(
    ("arguments", "status", "errors"),
    [
        (["--version"], 0, ""),
        (["topics", "list"], 0, ""),
        (["dump-log", "--files", "no-such.log"], 1, "Error: no-such.log: No such file or directory\n"),
    ],
)
def test_a_closed_standard_output_discards_the_output(
    cluster: str, arguments: list[str], status: int, errors: str
) -> None:
    """``kraft topics list >&-``: Python has no ``sys.stdout`` then. Kafka's tools ignore a failed print, too."""
    server = ["-b", cluster] if arguments[0] == "topics" else []
    line = shlex.join([sys.executable, "-m", "kraft", *arguments, *server]) + " >&-"
    ended = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (status, errors)


def test_a_reader_that_goes_away_ends_the_consumer_quietly(cluster: str, run: Run, topic: str) -> None:
    run("produce", topic, text="a line\n" * 50_000)
    command = [sys.executable, "-m", "kraft", "consume", topic, "--from-beginning", "-b", cluster]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(7) == b"a line\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1
