"""Requests of peers that wait for a reply of the core."""

from __future__ import annotations

from pathlib import Path

import trio
import trio.testing

from kraft.quorum.pending import MAX_SENT_BYTES, PendingRequest, PendingRequests
from kraft.raft.events import Reply
from kraft.raft.messages import EpochEnd, FetchResponse, LogSlice, Response, VoteResponse
from kraft.wire.errors import ErrorCode
from tests.support.metadata_logs import append_records, open_log, topic

VOTE = VoteResponse(ErrorCode.NONE, 3, None, granted=True)


async def test_a_reply_wakes_the_one_that_waits_for_it(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    pending = PendingRequests(log)
    requests = [pending.add(0) for _ in range(2)]
    woken: list[tuple[int, Response]] = []

    async def wait(request: PendingRequest) -> None:
        response, _ = await request.response()
        woken.append((request.request_id, response))

    async with trio.open_nursery() as nursery:
        for request in requests:
            nursery.start_soon(wait, request)
        await trio.testing.wait_all_tasks_blocked()
        pending.complete([Reply(requests[1].request_id, VOTE)])
        await trio.testing.wait_all_tasks_blocked()
        assert woken == [(requests[1].request_id, VOTE)]
        nursery.cancel_scope.cancel()
    log.abandon()


async def test_the_records_that_a_response_names_are_read_when_the_core_replies(tmp_path: Path) -> None:
    """Later the log may be another one. A core names all its records; the response has as many as the request
    allows.
    """
    log = open_log(tmp_path)
    for number in range(3):
        append_records(log, [topic(number)], 1, 0)
    pending = PendingRequests(log)
    request = pending.add(1)
    everything = LogSlice(0, (EpochEnd(1, 3),))
    pending.complete([Reply(request.request_id, FetchResponse(ErrorCode.NONE, 1, 1, 0, everything))])
    log.truncate(1)
    response, data = await request.response()
    assert isinstance(response, FetchResponse)
    assert response.records == LogSlice(0, (EpochEnd(1, 1),)), "one batch at least"
    assert data == log.read(0, 1)[0]
    log.abandon()


def test_no_request_gets_more_than_a_leader_sends_at_once(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert PendingRequests(log).add(2**31 - 1).max_bytes == MAX_SENT_BYTES
    log.abandon()
