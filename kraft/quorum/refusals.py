"""Requests of peers that this node refuses before they reach the Raft core.

The core knows no cluster ids, directories or files, so it cannot make these checks. Refusals are logged, counted and
written to the journal like the verdicts of the core.
"""

from __future__ import annotations

from enum import Enum

import attrs

from kraft.quorum.rpcs import NOBODY
from kraft.raft import messages as raft
from kraft.raft.member import RESPONSES
from kraft.wire.errors import ErrorCode, KafkaError


class RefusalReason(Enum):
    """Why this node refused a request before the core. Logs have the values, metrics have the names as tags."""

    OTHER_CLUSTER = "it is for another cluster"
    OTHER_LOG = "it does not name the metadata partition alone"
    OTHER_VOTER = "it is for another voter, or for a voter with another directory id"
    IMPOSSIBLE_WAIT = "its maximum wait is negative"
    SNAPSHOT_GONE = "I have deleted the snapshot"
    BEYOND_SNAPSHOT = "its position is beyond the end of the snapshot"


_CODES = {
    RefusalReason.OTHER_CLUSTER: ErrorCode.INCONSISTENT_CLUSTER_ID,
    RefusalReason.OTHER_LOG: ErrorCode.INVALID_REQUEST,
    RefusalReason.OTHER_VOTER: ErrorCode.INVALID_VOTER_KEY,
    RefusalReason.IMPOSSIBLE_WAIT: ErrorCode.INVALID_REQUEST,
}
_OF_THE_WHOLE = frozenset({RefusalReason.OTHER_CLUSTER, RefusalReason.OTHER_LOG})


@attrs.frozen
class RequestSummary:
    """The fields of a request that are logged and counted. ``kind`` is its API, such as ``Vote``.

    A ``peer`` or an ``epoch`` of -1 is unknown.
    """

    kind: str
    peer: int
    epoch: int = NOBODY
    pre_vote: bool = False

    @classmethod
    def of(cls, request: raft.Request, peer: int) -> RequestSummary:
        pre_vote = isinstance(request, raft.VoteRequest) and request.pre_vote
        return cls(kind_of(request), peer, request.epoch, pre_vote)


def kind_of(request: object) -> str:
    """Return the API of a request: Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch or FetchSnapshot."""
    return type(request).__name__.removesuffix("Request")


def sender_of(request: raft.Request) -> int:
    """Return the node id that the sender of a request gives as its own."""
    match request:
        case raft.VoteRequest():
            return request.candidate_id
        case raft.BeginQuorumEpochRequest() | raft.EndQuorumEpochRequest():
            return request.leader_id
    return request.replica_id


@attrs.frozen
class Refusal:
    """A request that was refused before the core, and why."""

    request: RequestSummary
    reason: RefusalReason

    def __str__(self) -> str:
        request = self.request
        sender = "" if request.peer < 0 else f" of {request.peer} in epoch {request.epoch}"
        return f"{request.kind}{sender} refused: {self.reason.value}"


class RefusedRequest(KafkaError):
    """Raised for a request that is refused, either as a whole or only for its partition of the metadata log.

    ``message`` is the request as received. ``request`` is its content, None if that could not be read.
    """

    def __init__(self, message: object, request: raft.Request | None, reason: RefusalReason) -> None:
        super().__init__(_CODES[reason])
        self.request = request
        unknown = RequestSummary(kind_of(message), NOBODY)
        summary = unknown if request is None else RequestSummary.of(request, sender_of(request))
        self.refusal = Refusal(summary, reason)

    def response(self, epoch: int, leader_id: int | None) -> tuple[raft.Request, raft.Response]:
        """Return the request and its response, which has the current epoch and its leader like any response.

        Raises KafkaError with this error if the request is refused as a whole.
        """
        if self.request is None or self.refusal.reason in _OF_THE_WHOLE:
            raise self.anew()
        return self.request, RESPONSES[type(self.request)](self.code, epoch, leader_id)
