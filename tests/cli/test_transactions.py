"""``kraft transactions`` on a node with an open, a committed and a hanging transaction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
import trio
from click.testing import CliRunner

from kraft.cli.main import cli
from kraft.client.cluster import open_cluster
from kraft.client.fetching import IsolationLevel
from kraft.client.transactions import TransactionalProducer
from kraft.rpc.client import connect
from kraft.wire.errors import ErrorCode
from tests.api.transactions import PRODUCER, UNVERIFIED, write
from tests.client.transactions import SINGLE, create
from tests.support.apache_tool import TRANSACTIONS, apache_tool
from tests.support.node_process import running_node

HANGING_EPOCH = 3
SETTINGS = {key.replace(".", "_"): value for key, value in {**SINGLE, **UNVERIFIED}.items()}


@attrs.frozen
class Prepared:
    """A node. Its topic ``t`` has a committed transaction in partition 0, an open one in both, and one of an unknown
    producer in partition 1, which hangs.
    """

    bootstrap_servers: str

    def run(self, *arguments: str, status: int = 0) -> str:
        result = CliRunner(catch_exceptions=False).invoke(
            cli, ["transactions", *arguments, "--bootstrap-server", self.bootstrap_servers]
        )
        assert result.exit_code == status, result.output
        return result.output

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))

    def stable(self, partition: int) -> int:
        """Return the last stable offset."""

        async def ask() -> int:
            async with open_cluster(self.bootstrap_servers) as client:
                level = IsolationLevel.READ_COMMITTED
                return (await client.offsets("t", {partition: -1}, isolation_level=level))[partition]

        return trio.run(ask)

    async def prepare(self) -> None:
        await create(self.bootstrap_servers, "t", 2)
        async with open_cluster(self.bootstrap_servers) as client:
            done = TransactionalProducer(client, "done")
            await done.start()
            await done.send("t", 0, [(None, b"committed", ())])
            await done.commit()
            begun = TransactionalProducer(client, "begun")
            await begun.start()
            for partition in (0, 1):
                await begun.send("t", partition, [(None, b"open", ())])
        host, _, port = self.bootstrap_servers.rpartition(":")
        async with connect(host, int(port)) as connection:
            assert (await write(connection, "t", b"hanging", partition=1)).error_code == ErrorCode.NONE


@pytest.fixture
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    with running_node(tmp_path_factory.mktemp("node") / "1", **SETTINGS) as node:
        made = Prepared(node.bootstrap_servers)
        trio.run(made.prepare)
        yield made


def test_transactions_are_listed_described_and_ended(prepared: Prepared) -> None:
    """KIP-664: a transaction hangs if its coordinator does not know its partition. An abort marker ends it."""
    listed = prepared.json("list")
    assert [(each["transactional_id"], each["state"]) for each in listed] == [
        ("begun", "Ongoing"),
        ("done", "CompleteCommit"),
    ]
    heading, first, _ = prepared.run("list").splitlines()
    assert heading.split() == ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"]
    assert first.split() == ["begun", "1", str(listed[0]["producer_id"]), "Ongoing"]
    assert prepared.json("list", "--duration-filter", "3600000") == []
    [matching] = prepared.json("list", "--transactional-id-pattern", "d.*")
    assert matching["transactional_id"] == "done"
    assert "pattern (: " in prepared.run("list", "--transactional-id-pattern", "(", status=1)

    described = prepared.json("describe", "--transactional-id", "begun")
    assert described["partitions"] == [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}]
    assert (described["state"], described["timeout_ms"], described["coordinator_id"]) == ("Ongoing", 60_000, 1)
    assert prepared.run("describe", "--transactional-id", "begun").split()[-1] == "t-0,t-1"
    missing = prepared.run("describe", "--transactional-id", "nobody", status=1)
    assert "transactional id nobody" in missing
    for topic, text in (("absent", "topic absent: "), ("t", "Topic t has no partition 7")):
        missing = prepared.run("describe-producers", "--topic", topic, "--partition", "7", status=1)
        assert text in missing
        assert len(missing.splitlines()) == 1

    producers = prepared.json("describe-producers", "--topic", "t", "--partition", "1", "--broker-id", "1")
    assert {each["producer_id"]: each["transaction_start_offset"] for each in producers} == {
        described["producer_id"]: 0,
        PRODUCER: 1,
    }
    shown = prepared.run("describe-producers", "--topic", "t", "--partition", "0").splitlines()
    assert any(line.split()[-1] == "None" for line in shown), "the committed one"

    search = ("find-hanging", "--max-transaction-timeout", "0")
    for scope in (("--topic", "t"), ("--topic", "t", "--partition", "1"), ("--broker-id", "1")):
        [hanging] = prepared.json(*search, *scope)
        assert (hanging["producer_id"], hanging["producer_epoch"]) == (PRODUCER, HANGING_EPOCH)
        assert (hanging["topic"], hanging["partition"], hanging["start_offset"]) == ("t", 1, 1)
    assert prepared.json("find-hanging", "--topic", "t") == [], "it had a batch less than 15 minutes ago"

    assert prepared.run("forceTerminateTransaction", "--transactionalId", "begun") == ""
    assert prepared.stable(1) == 1, "the hanging transaction holds it back"
    assert prepared.run("abort", "--topic", "t", "--partition", "1", "--start-offset", "1") == ""
    assert prepared.json(*search, "--topic", "t") == []
    assert prepared.stable(1) == 4, "two records and two markers"
    again = prepared.run("abort", "--topic", "t", "--partition", "1", "--start-offset", "1", status=1)
    assert "Could not find any open transactions starting at offset 1 on partition t-1" in again


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["find-hanging"], "Give --topic or --broker-id"),
        (["find-hanging", "--broker-id", "1", "--partition", "0"], "--partition needs --topic"),
        (["describe"], "Missing option '--transactional-id'"),
        (["abort", "--topic", "t", "--partition", "0"], "Missing option '--start-offset'"),
    ],
)
def test_wrong_usage(arguments: list[str], complaint: str) -> None:
    result = CliRunner(catch_exceptions=False).invoke(cli, ["transactions", *arguments])
    assert result.exit_code == 2
    assert complaint in result.output


@pytest.mark.interop
def test_the_output_is_that_of_apaches_tool(prepared: Prepared) -> None:
    """kafka-transactions.sh 4.3.1, on the same node. It finds the hanging transaction, and ends it."""

    def apache(*arguments: str) -> str:
        return apache_tool(TRANSACTIONS, "--bootstrap-server", prepared.bootstrap_servers, *arguments)

    place = ("--topic", "t", "--partition", "1")
    hanging = ("find-hanging", *place, "--max-transaction-timeout", "0")
    for arguments in (
        ("list",),
        ("list", "--transactional-id-pattern", ".*e"),
        ("describe-producers", *place),
        hanging,
    ):
        ours, theirs = prepared.run(*arguments), apache(*arguments)
        assert sorted(ours.splitlines()) == sorted(theirs.splitlines())
    described = ("describe", "--transactional-id", "begun")
    ours, theirs = prepared.run(*described), apache(*described)
    assert [line.split()[:7] for line in ours.splitlines()] == [line.split()[:7] for line in theirs.splitlines()]
    assert apache("abort", *place, "--start-offset", "1") == ""
    assert len(apache(*hanging).splitlines()) == 1
    assert apache("forceTerminateTransaction", "--transactionalId", "begun") == ""
    assert prepared.json("describe", "--transactional-id", "begun")["state"] == "Empty"
