"""The lines of the request log: their fields, their numbers, and the bound of their queue."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kraft.request_log import lines as request_lines
from kraft.request_log.lines import RequestLines
from kraft.rpc.trace import RequestCompleted, RequestHead, RequestSampled

NODE = 4


@pytest.fixture
def queue() -> RequestLines:
    return RequestLines(NODE, lambda: 1_700_000_000_123)


def decoded(lines: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def sampled(client: str | None = "c") -> RequestSampled:
    head = RequestHead("data", "PLAINTEXT", "10.0.0.7:5", 0, 9, 17, client, 250)
    completed = RequestCompleted(1_700_000_001.5, NODE, head, 0.001, 0.0020004, 0.0, 0.25, 0.0005, 0.2535004)
    return RequestSampled(completed.time_s, NODE, completed, 0.25)


def test_a_request_is_one_object(queue: RequestLines) -> None:
    queue.add_request(sampled())
    assert decoded(queue.take().lines) == [
        {
            "ms": 1_700_000_000_123,
            "node": 4,
            "kind": "request",
            "plane": "data",
            "listener": "PLAINTEXT",
            "peer": "10.0.0.7:5",
            "api": "Produce",
            "apiKey": 0,
            "version": 9,
            "client": "c",
            "correlation": 17,
            "sizeBytes": 250,
            "queueMs": 1.0,
            "localMs": 2.0,
            "responseQueueMs": 0.0,
            "remoteMs": 250.0,
            "sendMs": 0.5,
            "totalMs": 253.5,
            "sample": 0.25,
            "seq": 0,
            "start": 1_700_000_000_123,
        }
    ]


@pytest.mark.parametrize("client", [None, "", "a\nb\x00", '"}{', "Straße 語", "\ud800"])
def test_a_client_id_cannot_break_a_line(queue: RequestLines, client: str | None) -> None:
    """A client chooses its id: any string of up to 32,767 bytes."""
    queue.add_request(sampled(client))
    (line,) = queue.take().lines
    assert b"\n" not in line
    assert json.loads(line)["client"] == client


def test_a_full_queue_counts_what_it_drops(queue: RequestLines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_lines, "MAX_QUEUED_BYTES", 1000)
    for _ in range(100):
        queue.add({"kind": "verdict"})
    taken = queue.take()
    assert 1000 <= sum(map(len, taken.lines[:-1])) < 1100
    *kept, report = decoded(taken.lines)
    assert (report["kind"], report["count"]) == ("dropped", 100 - len(kept))
    queue.written(taken, len(taken.lines))
    queue.add({"kind": "verdict"})
    assert [line["seq"] for line in decoded(queue.take().lines)] == [101]


@pytest.mark.parametrize("written", [0, 2, 3])
def test_counts_of_lost_lines_survive_until_they_are_written(queue: RequestLines, written: int) -> None:
    """The counts together are the numbers that are missing from ``seq``."""
    for _ in range(3):
        queue.add({"kind": "verdict"})
    first = queue.take()
    queue.written(first, written)
    second = queue.take()
    queue.written(second, 0)
    queue.add({"kind": "verdict"})
    *_, last = lines = decoded(queue.take().lines)
    present = written + len(lines)
    assert (last["count"] if last["kind"] == "dropped" else 0) == last["seq"] + 1 - present
