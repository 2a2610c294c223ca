"""The states of a member of the quorum, and the transitions between them.

A state is a value that holds what is true only while the member is in it. ElectionState must survive a restart. It is
durable before the member sends a message that depends on it. Observers, which may not vote, are only Unattached or
Follower. All times are in seconds on the member's own clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs

from kraft.raft.messages import FetchRequest, SnapshotId


@attrs.frozen
class ElectionState:
    """The content of the ``quorum-state`` file: the epoch, and its leader and vote, if any."""

    epoch: int = 0
    leader_id: int | None = None
    voted_for: int | None = None


@attrs.frozen
class Unattached:
    """The member follows no leader in ``epoch``. It sends Fetches to voters; a voter seeks votes at
    ``election_deadline``.

    ``former_leader_id``: the leader of ``epoch``, if the voter knew it and gave it up. The voter then grants no vote in
    that epoch, although its own vote may be forgotten. ``pending_request`` is the number of the pending Fetch,
    ``request_at`` the time of the next one.
    """

    epoch: int
    election_deadline: float
    voted_for: int | None = None
    former_leader_id: int | None = None
    request_at: float = math.inf
    pending_request: int | None = None

    @property
    def leader_id(self) -> int | None:
        return None

    @property
    def deadline(self) -> float:
        return min(self.election_deadline, self.request_at)


@attrs.frozen
class Prospective:
    """Seeks pre-votes, to learn whether it could win, before it enters a new epoch (KIP-996). It may know the leader of
    ``epoch``.

    ``former_leader_id`` is as in Unattached. ``resigned``: the leader resigned. ``unreached`` are the voters whose
    request failed; they get another one at ``request_at``.
    """

    epoch: int
    election_deadline: float
    leader_id: int | None = None
    voted_for: int | None = None
    former_leader_id: int | None = None
    resigned: bool = False
    granted: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()
    retries: int = 0
    unreached: frozenset[int] = frozenset()
    request_at: float = math.inf

    @property
    def deadline(self) -> float:
        return min(self.election_deadline, self.request_at)


@attrs.frozen
class Candidate:
    """Seeks votes in ``epoch``. ``granted`` are its voters; its own vote counts once it is durable.

    After the refusal of a majority it waits until ``election_deadline``; ``retries`` counts the lost elections. The
    voters of ``unreached`` get another request at ``request_at``.
    """

    epoch: int
    election_deadline: float = math.inf
    voted_for: int | None = None
    granted: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()
    retries: int = 0
    backing_off: bool = False
    unreached: frozenset[int] = frozenset()
    request_at: float = math.inf

    @property
    def leader_id(self) -> int | None:
        return None

    @property
    def deadline(self) -> float:
        return min(self.election_deadline, self.request_at)


@attrs.define
class Progress:
    """A leader's record of a replica: its durable end offset, and the time (s) of its last Fetch.

    ``end_offset`` is -1 before the first Fetch. An acknowledged epoch does not set it.
    """

    end_offset: int = -1
    fetched_at: float = -math.inf
    caught_up_at: float = -math.inf
    acknowledged: bool = False


@attrs.define
class ParkedFetch:
    """A Fetch that waits for new records, at most until ``deadline``."""

    request_id: int
    request: FetchRequest
    deadline: float


@attrs.define
class Leader:
    """Leads ``epoch``, whose first record (its LeaderChange) is at ``epoch_start``.

    The only mutable state, because each Fetch changes it. ``progress`` has every voter, including the leader.
    ``observers`` has the observers that fetched lately. ``parked`` has at most one Fetch per replica. Replicas without
    an id, such as consumers, get a key below -1 there.
    """

    epoch: int
    epoch_start: int
    leader_id: int
    granted: frozenset[int]
    progress: dict[int, Progress]
    check_quorum_at: float = math.inf
    begin_at: float = math.inf
    observers: dict[int, Progress] = attrs.field(factory=dict)
    parked: dict[int, ParkedFetch] = attrs.field(factory=dict)

    @property
    def voted_for(self) -> int | None:
        return None

    @property
    def deadline(self) -> float:
        first = min(self.check_quorum_at, self.begin_at)
        for parked in self.parked.values():
            if parked.deadline < first:
                first = parked.deadline
        return first


@attrs.frozen
class SnapshotDownload:
    """A snapshot that is being fetched. ``position`` is the number of stored bytes; ``complete`` is true during its
    check.
    """

    snapshot: SnapshotId
    position: int = 0
    complete: bool = False


@attrs.frozen
class Follower:
    """Fetches the log of ``leader_id``. A voter without a good response by ``fetch_deadline`` seeks votes.

    Only one request is pending: ``pending_request`` is its number, and ``request_at`` the time of the next one.
    ``has_fetched``: this leader has responded, so the voter grants no pre-vote (KIP-996). ``resigned``: the leader
    resigned. ``had_bad_response``: the leader responded since its last good response, but unusably.
    """

    epoch: int
    leader_id: int
    fetch_deadline: float
    voted_for: int | None = None
    has_fetched: bool = False
    resigned: bool = False
    had_bad_response: bool = False
    pending_request: int | None = None
    request_at: float = math.inf
    download: SnapshotDownload | None = None

    @property
    def deadline(self) -> float:
        return min(self.fetch_deadline, self.request_at)

    def requesting(self, number: int, again_at: float) -> Follower:
        """Return this state with another pending request. Each commit calls it; ``attrs.evolve`` would take much
        longer.
        """
        return Follower(
            self.epoch,
            self.leader_id,
            self.fetch_deadline,
            self.voted_for,
            self.has_fetched,
            self.resigned,
            self.had_bad_response,
            pending_request=number,
            request_at=again_at,
            download=self.download,
        )

    def fetched(self, now: float, fetch_deadline: float) -> Follower:
        """Return this state after a good response: the leader is alive, and the next request is due at once."""
        return Follower(
            self.epoch,
            self.leader_id,
            fetch_deadline,
            self.voted_for,
            has_fetched=True,
            resigned=self.resigned,
            request_at=now,
            download=self.download,
        )


@attrs.frozen
class Resigned:
    """Led ``epoch`` and resigned or restarted. Sends EndQuorumEpoch until ``election_deadline`` and grants no vote."""

    epoch: int
    leader_id: int
    election_deadline: float
    successors: tuple[int, ...] = ()
    unacknowledged: frozenset[int] = frozenset()
    end_at: float = math.inf

    @property
    def voted_for(self) -> int | None:
        return None

    @property
    def deadline(self) -> float:
        return min(self.election_deadline, self.end_at)


State = Unattached | Prospective | Candidate | Leader | Follower | Resigned

#: Every legal transition and its cause, including those into a newer epoch of the same state.
TRANSITIONS: Mapping[tuple[type[State], type[State]], str] = {
    (Unattached, Unattached): "a newer epoch",
    (Unattached, Prospective): "the election timeout expired",
    (Unattached, Follower): "a peer named the leader, or the leader sent BeginQuorumEpoch or EndQuorumEpoch",
    (Prospective, Candidate): "a majority granted its pre-votes, or a voter does not support them",
    (
        Prospective,
        Follower,
    ): "no majority granted its pre-votes, and its leader has not resigned; or a peer named the leader, "
    "or the leader sent BeginQuorumEpoch or EndQuorumEpoch",
    (Prospective, Unattached): "no majority granted its pre-votes; or a newer epoch",
    (Candidate, Leader): "a majority granted its votes",
    (Candidate, Prospective): "the candidate lost the election",
    (Candidate, Follower): "another voter is the leader",
    (Candidate, Unattached): "a newer epoch",
    (
        Leader,
        Resigned,
    ): "the node is shutting down, or the controller requested it, or no majority fetched for the check-quorum timeout",
    (Leader, Unattached): "a newer epoch",
    (Leader, Follower): "a newer epoch with a leader",
    (Follower, Prospective): "the leader sent no usable response within the fetch timeout, or resigned",
    (Follower, Unattached): "a newer epoch, or the leader of an observer, or of a voter that is shutting down, "
    "sent no response within the fetch timeout",
    (Follower, Follower): "a newer epoch with a leader",
    (Resigned, Unattached): "the election timeout expired, or a newer epoch",
    (Resigned, Follower): "a newer epoch with a leader",
}
