"""Requests of peers that are refused without the core, which knows no cluster ids, directories or files.

They are logged, counted and journaled as the verdicts of the core are: a refusal that nobody can see is a riddle.
"""

from __future__ import annotations

from enum import Enum

import attrs

from kraft.quorum.wire import NOBODY
from kraft.raft import messages as raft
from kraft.raft.member import RESPONSES
from kraft.wire.errors import ErrorCode, KafkaError


class Doubt(Enum):
    """Why a request is refused though the core would not mind, in words; the names are what refusals are counted by."""

    OTHER_CLUSTER = "it is for another cluster"
    OTHER_LOG = "it is not about the metadata log alone"
    OTHER_VOTER = "it is for another voter, or for one with another directory"
    IMPOSSIBLE_WAIT = "it would wait for less than no time"
    SNAPSHOT_GONE = "the snapshot was there, and is no more"
    BEYOND_SNAPSHOT = "the snapshot ends before that position"


_CODES = {
    Doubt.OTHER_CLUSTER: ErrorCode.INCONSISTENT_CLUSTER_ID,
    Doubt.OTHER_LOG: ErrorCode.INVALID_REQUEST,
    Doubt.OTHER_VOTER: ErrorCode.INVALID_VOTER_KEY,
    Doubt.IMPOSSIBLE_WAIT: ErrorCode.INVALID_REQUEST,
}
_OF_THE_WHOLE = frozenset({Doubt.OTHER_CLUSTER, Doubt.OTHER_LOG})


@attrs.frozen
class Asked:
    """Who asked what, as it is logged and counted: ``request`` is the kind, as in ``Vote``. -1 stands for what is not
    said.
    """

    request: str
    peer: int
    epoch: int = NOBODY
    pre_vote: bool = False

    @classmethod
    def of(cls, request: raft.Request, peer: int) -> Asked:
        pre_vote = isinstance(request, raft.VoteRequest) and request.pre_vote
        return cls(kind_of(request), peer, request.epoch, pre_vote)


def kind_of(request: object) -> str:
    """What a request is called: Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch, FetchSnapshot."""
    return type(request).__name__.removesuffix("Request")


def asker(request: raft.Request) -> int:
    """The node id that a request gives as its own."""
    match request:
        case raft.VoteRequest():
            return request.candidate_id
        case raft.BeginQuorumEpochRequest() | raft.EndQuorumEpochRequest():
            return request.leader_id
    return request.replica_id


@attrs.frozen
class Refusal:
    """A request that was refused without the core."""

    asked: Asked
    doubt: Doubt

    def __str__(self) -> str:
        asked = self.asked
        whose = "" if asked.peer < 0 else f" of {asked.peer} in epoch {asked.epoch}"
        return f"{asked.request}{whose} refused: {self.doubt.value}"


class RefusedRequest(KafkaError):
    """Raised for a request that is refused: as a whole, or only what it says of the metadata log.

    ``message`` is the request as it came; ``request`` what it says, None if that could not be read.
    """

    def __init__(self, message: object, request: raft.Request | None, doubt: Doubt) -> None:
        super().__init__(_CODES[doubt])
        self.request = request
        asked = Asked(kind_of(message), NOBODY) if request is None else Asked.of(request, asker(request))
        self.refusal = Refusal(asked, doubt)

    def answer(self, epoch: int, leader_id: int | None) -> tuple[raft.Request, raft.Response]:
        """What was asked, and the answer, which tells the present epoch and its leader as every answer does.

        Raises itself if the whole request is refused.
        """
        if self.request is None or self.refusal.doubt in _OF_THE_WHOLE:
            raise self
        return self.request, RESPONSES[type(self.request)](self.code, epoch, leader_id)
