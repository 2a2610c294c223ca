"""The states of a member of the quorum, and the only ways from one to another.

A state is a value: it holds what is true only while the member is in it. What a restart must not forget is
ElectionState, which is durable before anyone hears of what rests on it. Observers, which may not vote, are only ever
Unattached or Follower. All times are in seconds on the member's own clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs

from kraft.raft.messages import FetchRequest, SnapshotId


@attrs.frozen
class ElectionState:
    """What the ``quorum-state`` file holds: the epoch, and in it the leader and the vote, where there is one."""

    epoch: int = 0
    leader_id: int | None = None
    voted_for: int | None = None


@attrs.frozen
class Unattached:
    """No leader is known in ``epoch``: the member asks voters for one, and a voter stands from ``election_deadline``.

    ``asked`` is the number of the Fetch that asks, and ``ask_at`` when to ask again.
    """

    epoch: int
    election_deadline: float
    voted_for: int | None = None
    ask_at: float = math.inf
    asked: int | None = None

    @property
    def leader_id(self) -> int | None:
        return None

    @property
    def deadline(self) -> float:
        return min(self.election_deadline, self.ask_at)


@attrs.frozen
class Prospective:
    """Asks whether it could win before it takes a new epoch (KIP-996); the leader of ``epoch`` may still be known.

    ``resigned``: that leader gave the epoch up. The voters of ``unheard`` got no question, or gave no answer: they are
    asked again at ``ask_at``.
    """

    epoch: int
    election_deadline: float
    leader_id: int | None = None
    voted_for: int | None = None
    resigned: bool = False
    granted: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()
    retries: int = 0
    unheard: frozenset[int] = frozenset()
    ask_at: float = math.inf

    @property
    def deadline(self) -> float:
        return min(self.election_deadline, self.ask_at)


@attrs.frozen
class Candidate:
    """Stands for election in ``epoch``, with the votes of ``granted``; its own counts once it is durable.

    After ``retries`` lost elections it waits, from the refusal of a majority on, until ``election_deadline``. Those of
    ``unheard`` are asked again at ``ask_at``.
    """

    epoch: int
    election_deadline: float = math.inf
    voted_for: int | None = None
    granted: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()
    retries: int = 0
    backing_off: bool = False
    unheard: frozenset[int] = frozenset()
    ask_at: float = math.inf

    @property
    def leader_id(self) -> int | None:
        return None

    @property
    def deadline(self) -> float:
        return min(self.election_deadline, self.ask_at)


@attrs.define
class Progress:
    """What a leader knows of a replica: how far it holds the log durably, and when it was last heard of.

    ``end_offset`` is -1 until a Fetch told it; to have acknowledged the epoch tells nothing of the log.
    """

    end_offset: int = -1
    fetched_at: float = -math.inf
    caught_up_at: float = -math.inf
    acknowledged: bool = False


@attrs.define
class ParkedFetch:
    """A Fetch that waits for the log to grow, at most until ``deadline``."""

    request_id: int
    request: FetchRequest
    deadline: float


@attrs.define
class Leader:
    """Leads ``epoch``, whose first record (its LeaderChange) is at ``epoch_start``.

    The one state that is changed in place, being a ledger: ``progress`` has every voter, the leader included,
    ``observers`` those that fetched of late, ``parked`` at most one Fetch of each. Who has no id, as consumers have
    none, is there under a number below -1.
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
    """A snapshot on its way from the leader: ``position`` bytes are here; ``complete`` while it is being checked."""

    snapshot: SnapshotId
    position: int = 0
    complete: bool = False


@attrs.frozen
class Follower:
    """Fetches the log of ``leader_id``. A voter that had no answer by ``fetch_deadline`` stands for election.

    One request is under way at a time: ``asked`` is its number, and ``ask_at`` when to ask (again). ``has_fetched``:
    this leader has answered, so the voter would not vote another in (KIP-996). ``resigned``: it gave the epoch up.
    ``answered_badly``: what it said since its last good answer was of no use.
    """

    epoch: int
    leader_id: int
    fetch_deadline: float
    voted_for: int | None = None
    has_fetched: bool = False
    resigned: bool = False
    answered_badly: bool = False
    asked: int | None = None
    ask_at: float = math.inf
    download: SnapshotDownload | None = None

    @property
    def deadline(self) -> float:
        return min(self.fetch_deadline, self.ask_at)

    def asking(self, number: int, again_at: float) -> Follower:
        """With another request under way. Each commit comes by here, and ``attrs.evolve`` would take much longer."""
        return Follower(
            self.epoch,
            self.leader_id,
            self.fetch_deadline,
            self.voted_for,
            self.has_fetched,
            self.resigned,
            self.answered_badly,
            asked=number,
            ask_at=again_at,
            download=self.download,
        )

    def heard(self, now: float, fetch_deadline: float) -> Follower:
        """With a good answer to what was asked: the leader is alive, and is asked on at once."""
        return Follower(
            self.epoch,
            self.leader_id,
            fetch_deadline,
            self.voted_for,
            has_fetched=True,
            resigned=self.resigned,
            ask_at=now,
            download=self.download,
        )


@attrs.frozen
class Resigned:
    """Led ``epoch`` and gave it up, or was restarted: tells the others until ``election_deadline``, votes for none."""

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

#: Every legal change of state, and what brings it about. The ways into a newer epoch of the same state are here too.
TRANSITIONS: Mapping[tuple[type[State], type[State]], str] = {
    (Unattached, Unattached): "a newer epoch",
    (Unattached, Prospective): "the election timeout passed",
    (Unattached, Follower): "a leader was found",
    (Prospective, Candidate): "a majority would grant its vote, or a voter knows no pre-vote",
    (Prospective, Follower): "no majority would, and the leader is known; or a leader was found",
    (Prospective, Unattached): "no majority would; or a newer epoch",
    (Candidate, Leader): "a majority granted its vote",
    (Candidate, Prospective): "the election was lost",
    (Candidate, Follower): "another voter leads",
    (Candidate, Unattached): "a newer epoch",
    (Leader, Resigned): "asked to stop, or no majority fetched for too long",
    (Leader, Unattached): "a newer epoch",
    (Leader, Follower): "a newer epoch with a leader",
    (Follower, Prospective): "the leader gave no good answer in time, or resigned",
    (Follower, Unattached): "a newer epoch, or an observer lost its leader",
    (Follower, Follower): "a newer epoch with a leader",
    (Resigned, Unattached): "the election timeout passed, or a newer epoch",
    (Resigned, Follower): "a newer epoch with a leader",
}
