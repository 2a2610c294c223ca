"""The quorum's requests and responses as short sentences, for transcripts and examples."""

from __future__ import annotations

from collections.abc import Iterable

from kraft.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from kraft.raft.state import ElectionState
from kraft.wire.errors import ErrorCode


def name_of(request: Request) -> str:
    """Return the name of the API. A Vote request with ``pre_vote`` is called PreVote."""
    if isinstance(request, VoteRequest) and request.pre_vote:
        return "PreVote"
    return type(request).__name__.removesuffix("Request")


def in_words(message: Request | Response) -> str:
    """Return a request with its name, or a response without: ``Vote in epoch 3: my log ends at 7, in epoch 2``."""
    if isinstance(message, Request):
        return f"{name_of(message)} in epoch {message.epoch}: {_asked(message)}"
    if message.error is not ErrorCode.NONE:
        return f"{message.error.name}, {_standing(message)}"
    return _answered(message)


def _asked(request: Request) -> str:
    match request:
        case VoteRequest(last_offset=0):
            return "my log is empty"
        case VoteRequest(last_offset=offset, last_epoch=epoch):
            return f"my log ends at {offset}, in epoch {epoch}"
        case BeginQuorumEpochRequest():
            return "I am the leader"
        case EndQuorumEpochRequest(preferred_successors=successors):
            return f"I resign, preferred successors {' and '.join(map(str, successors))}"
        case FetchRequest(fetch_offset=0):
            return "from offset 0"
        case FetchRequest(fetch_offset=offset, last_fetched_epoch=epoch):
            return f"from offset {offset}, last fetched epoch {epoch}"
        case FetchSnapshotRequest(snapshot=snapshot, position=position):
            return f"the snapshot to offset {snapshot.end_offset}, from byte {position}"


def _answered(response: Response) -> str:
    match response:
        case VoteResponse(granted=granted):
            return f"{'granted' if granted else 'refused'}, {_standing(response)}"
        case FetchResponse(diverging=None, snapshot=None, records=None):
            return f"no records, {_committed(response)}"
        case FetchResponse(records=records) if records is not None:
            return f"{span('record', records.base_offset, records.end_offset)}, {_committed(response)}"
        case FetchResponse(diverging=diverging) if diverging is not None:
            return f"diverging epoch: my epoch {diverging.epoch} ends at {diverging.end_offset}"
        case FetchResponse(snapshot=snapshot) if snapshot is not None:
            return f"fetch the snapshot to offset {snapshot.end_offset} first"
        case FetchSnapshotResponse(position=position, length=length, size=size):
            return f"{span('byte', position, position + length)} of {size}"
    return f"ok, {_standing(response)}"


def _standing(response: Response) -> str:
    leader = "no leader" if response.leader_id is None else f"leader {response.leader_id}"
    return f"epoch {response.epoch}, {leader}"


def _committed(response: FetchResponse) -> str:
    return f"high watermark {response.high_watermark}" if response.high_watermark >= 0 else "high watermark unknown"


def span(noun: str, start: int, end: int) -> str:
    """Return ``record 3``, or ``records 3 to 5``, for the range from ``start`` to ``end``, exclusive."""
    return f"{noun} {start}" if end == start + 1 else f"{noun}s {start} to {end - 1}"


def names(nodes: Iterable[int]) -> str:
    """Return ``2``, ``2 and 3``, ``2, 3 and 4``."""
    *others, last = map(str, nodes)
    return f"{', '.join(others)} and {last}" if others else last


def election_in_words(election: ElectionState) -> str:
    """Return the election state in the ``quorum-state`` file as text."""
    words = [f"epoch {election.epoch}"]
    if election.leader_id is not None:
        words.append(f"leader {election.leader_id}")
    if election.voted_for is not None:
        words.append(f"voted for {election.voted_for}")
    return ", ".join(words)
