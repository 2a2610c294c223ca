"""The request log of real nodes: their requests, the events of their quorum, and no cost while it is off."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import trio

from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.metadata_request import MetadataRequest
from kraft.request_log.log import DIRECTORY
from kraft.rpc.trace import RequestSampled
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION
from tests.support.nodes import node_in

FILE = {"kraft.request.log": "file"}


def lines(directory: Path) -> list[dict[str, Any]]:
    """The lines of all complete files."""
    found = sorted((directory / CLUSTER_METADATA_PARTITION / DIRECTORY).glob("requests-*.jsonl"))
    return [json.loads(line) for path in found for line in path.read_text().splitlines()]


async def test_a_line_has_the_fields_of_a_request(tmp_path: Path) -> None:
    """With the times of Kafka's request log (``kafka.network.RequestChannel``)."""
    async with node_in(tmp_path, {**FILE, "kraft.request.log.sample": "1"}) as running:
        for _ in range(3):
            await running.broker.request(ListGroupsRequest())
    found = [line for line in lines(tmp_path) if line.get("api") == "ListGroups"]
    assert len(found) == 3
    (line, *_) = found
    assert (line["node"], line["kind"], line["plane"], line["listener"]) == (1, "request", "data", "PLAINTEXT")
    assert (line["apiKey"], line["client"], line["sample"]) == (16, "test", 1.0)
    assert line["peer"].startswith("127.0.0.1:")
    assert line["sizeBytes"] > 0
    phases = sum(line[name] for name in ("queueMs", "localMs", "responseQueueMs", "remoteMs", "sendMs"))
    assert line["totalMs"] == pytest.approx(phases, abs=0.01)
    assert [each["correlation"] for each in found] == sorted(each["correlation"] for each in found)


async def test_the_quorum_journal_is_in_the_same_stream(tmp_path: Path) -> None:
    """The kinds and fields of ``quorum-journal.jsonl``."""
    async with node_in(tmp_path, FILE):
        pass
    journal = [json.loads(line) for line in (tmp_path / "quorum-journal.jsonl").read_text().splitlines()]
    logged = lines(tmp_path)
    events = [{key: line[key] for key in line if key not in ("seq", "start")} for line in logged]
    assert [line for line in events if line["kind"] != "request"] == journal
    assert {"start", "transition", "stop"} <= {line["kind"] for line in journal}
    assert [line["seq"] for line in logged] == list(range(len(logged)))
    assert len({line["start"] for line in logged}) == 1


async def test_rare_apis_are_seen_at_any_fraction(tmp_path: Path) -> None:
    async with node_in(tmp_path, {**FILE, "kraft.request.log.sample": "0.000001"}) as running:
        for _ in range(200):
            await running.broker.request(MetadataRequest(topics=[]))
        await running.broker.request(ListGroupsRequest())
    data = [line for line in lines(tmp_path) if line.get("plane") == "data"]
    assert [(line["api"], line["sample"]) for line in data] == [("ApiVersions", 1), ("Metadata", 1), ("ListGroups", 1)]


async def test_a_killed_node_holds_neither_files_nor_the_lock(tmp_path: Path) -> None:
    """The next start, here in the same process, completes the file, and writes on."""
    settings = {**FILE, "kraft.request.log.sample": "1"}
    async with node_in(tmp_path, settings) as running:
        directory = tmp_path / CLUSTER_METADATA_PARTITION / DIRECTORY
        with trio.fail_after(10):
            while not any("ListGroups" in path.read_text() for path in directory.glob("*.open")):
                await running.broker.request(ListGroupsRequest())
        running.kill()
    assert lines(tmp_path) == []
    async with node_in(tmp_path, settings):
        pass
    found = lines(tmp_path)
    assert [line["kind"] for line in found if line["kind"] in ("start", "stop")] == ["start", "start", "stop"]
    assert "ListGroups" in {line.get("api") for line in found}
    assert not list(directory.glob("*.open"))


async def test_nothing_listens_while_it_is_off(tmp_path: Path) -> None:
    """ "It costs nothing measurable while nobody listens" (kraft.world.trace)."""
    async with node_in(tmp_path) as running:
        assert running.node.trace.of(RequestSampled).listeners == ()
        await running.broker.request(ListGroupsRequest())
    assert not (tmp_path / CLUSTER_METADATA_PARTITION / DIRECTORY).exists()


async def test_an_error_of_the_disk_ends_the_log_and_not_the_node(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a directory")
    settings = {**FILE, "kraft.request.log.dir": str(tmp_path / "file")}
    async with node_in(tmp_path / "data", settings) as running:
        with trio.fail_after(10):
            while running.node.trace.of(RequestSampled).listeners:
                await trio.testing.wait_all_tasks_blocked(0.01)
        await running.broker.request(ListGroupsRequest())
    warned = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert [text for text in warned if text.startswith("request log: ")] == [
        f"request log: {tmp_path / 'file'}: File exists; the log ends here, the node is not affected"
    ]
