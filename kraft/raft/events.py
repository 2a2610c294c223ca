"""What can happen to the core of the quorum, and what its driver must do about it."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import attrs

from kraft.raft.messages import LogSlice, Request, Response, SnapshotId
from kraft.raft.state import ElectionState


@attrs.frozen
class Timeout:
    """The deadline of the last effects has passed."""


@attrs.frozen
class ElectionStateWritten:
    """This election state is durable."""

    election: ElectionState


@attrs.frozen
class LogAppended:
    """This leader's log was extended to ``end_offset`` (exclusive) in ``epoch``; nothing is said of durability."""

    end_offset: int
    epoch: int


@attrs.frozen
class LogFlushed:
    """Everything below ``end_offset`` is durable. It may be less than the log holds by now.

    ``truncations`` is ``core.log.truncations`` as it was when the flush began.
    """

    end_offset: int
    truncations: int


@attrs.frozen
class RequestReceived:
    """A request came in. ``request_id`` is the driver's, and comes back in the Reply."""

    request_id: int
    request: Request


@attrs.frozen
class ResponseReceived:
    """The answer to a Send: its ``number``, whom it was sent ``to``, and what was asked, come back with it.

    ``payload`` is the records, or the piece of a snapshot, that the response brought. The core hands it on in
    FetchedRecords or StoreChunk, and never looks at it.
    """

    number: int
    to: int
    request: Request
    response: Response
    payload: Any = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class RequestFailed:
    """A Send got no answer that is one: nothing at all, or, if ``answered``, what its driver could not make sense of.

    ``unsupported``: its receiver is too old for it, so it was not even sent.
    """

    number: int
    to: int
    request: Request
    unsupported: bool = False
    answered: bool = False


@attrs.frozen
class SnapshotStored:
    """A snapshot that was fetched is checked and durable, under its own name. The log is not yet changed."""

    snapshot: SnapshotId


@attrs.frozen
class SnapshotRejected:
    """A snapshot that was fetched turned out to be damaged, and is gone."""

    snapshot: SnapshotId


@attrs.frozen
class SnapshotCreated:
    """This node wrote a snapshot of its own; it is durable."""

    snapshot: SnapshotId


@attrs.frozen
class LogTrimmed:
    """What this snapshot covers was, or is about to be, deleted from the start of the log."""

    snapshot: SnapshotId


@attrs.frozen
class Resign:
    """Give up leadership of ``epoch``; of any other epoch it means nothing."""

    epoch: int


@attrs.frozen
class ShutDown:
    """The node is about to stop: resign, tell the others, and take no part in elections any more."""


Event = (
    Timeout
    | ElectionStateWritten
    | LogAppended
    | LogFlushed
    | RequestReceived
    | ResponseReceived
    | RequestFailed
    | SnapshotStored
    | SnapshotRejected
    | SnapshotCreated
    | LogTrimmed
    | Resign
    | ShutDown
)


@attrs.frozen
class LeaderChange:
    """The control record that opens an epoch: the first thing that its leader appends."""

    epoch: int
    leader_id: int
    voters: tuple[int, ...]
    granting_voters: tuple[int, ...]


@attrs.frozen
class FetchedRecords:
    """Records that a leader sent: ``payload`` holds them, and ``records`` says where they belong in the log."""

    records: LogSlice
    payload: Any = attrs.field(default=None, eq=False, repr=False)


@attrs.define
class Reply:
    """The answer to the request that came in as ``request_id``."""

    request_id: int
    response: Response


@attrs.define
class Send:
    """Send ``request`` to node ``to`` and report ResponseReceived or RequestFailed with the same ``number``.

    A driver keeps at most one of a kind for a node: the newest.
    """

    number: int
    to: int
    request: Request


@attrs.frozen
class StoreChunk:
    """Write ``payload`` at ``position``; if it is the ``last`` piece, check the snapshot, make it durable and report
    SnapshotStored or SnapshotRejected."""

    snapshot: SnapshotId
    position: int
    last: bool
    payload: Any = attrs.field(default=None, eq=False, repr=False)


class Reason(Enum):
    """Why a request was granted or refused, in words; the names are what refusals are counted by."""

    GRANTED = "its log is at least as long as mine"
    GRANTED_AGAIN = "I voted for it in this epoch already"
    STALE_EPOCH = "a newer epoch is known"
    IMPLAUSIBLE_EPOCH = "its epoch is too far ahead of mine to be true"
    UNKNOWN_EPOCH = "its epoch is newer than mine, and only a leader may be asked this"
    NOT_LEADER = "I do not lead"
    SHUTTING_DOWN = "I am about to stop"
    SHORTER_LOG = "its log is shorter than mine"
    VOTED_FOR_ANOTHER = "I voted for another in this epoch"
    VOTED_FOR_MYSELF = "I stand for election myself"
    LEADER_KNOWN = "the leader of this epoch is known"
    FROM_LEADER = "it leads this epoch, or did"
    LEADER_ALIVE = "my leader answers me"
    I_LEAD = "I lead"
    I_RESIGNED = "I led this epoch, and resigned"
    NOT_A_VOTER = "it is not a voter"
    I_AM_NO_VOTER = "I am not a voter"
    IMPOSSIBLE_LOG = "its log cannot be as it says"
    IMPOSSIBLE_OFFSET = "the offset cannot be"
    OTHER_LEADER = "this epoch has another leader"
    FROM_MYSELF = "it claims to be from me"
    FROM_NOBODY = "it does not say who it is from"
    TOO_MANY_OBSERVERS = "too many observers fetch already"
    NO_SUCH_SNAPSHOT = "there is no such snapshot"


@attrs.frozen
class Verdict:
    """What was decided on a request of ``peer``, and why."""

    request: Request
    peer: int
    granted: bool
    reason: Reason

    def __str__(self) -> str:
        kind = type(self.request).__name__.removesuffix("Request")
        outcome = "granted" if self.granted else "refused"
        return f"{kind} of {self.peer} in epoch {self.request.epoch} {outcome}: {self.reason.value}"


@attrs.frozen
class Transition:
    """A change of state, and why."""

    before: str
    after: str
    epoch: int
    why: str

    def __str__(self) -> str:
        return f"{self.before} -> {self.after} in epoch {self.epoch}: {self.why}"


@attrs.define
class Effects:
    """What the driver must do, in field order: make durable, change the log, then speak, publish and sleep.

    The core collects them during a step, and lets go of them at its end.

    - ``fatal``: going on would risk the log: stop the node with this line, and do nothing else.
    - ``election``: write it durably and report ElectionStateWritten before anything else is done.
    - ``truncate``: cut the log to this end offset.
    - ``install``: forget the whole log; it begins behind this snapshot, which is stored.
    - ``append``: write it to the log. After a LeaderChange report LogAppended; the core has counted FetchedRecords.
    - ``flush``: make the log durable as it is now, or later; report LogFlushed. Flushes may be merged.
    - ``store``: a piece of a snapshot that came in.
    - ``replies``, ``sends``: answers to others, and requests of our own.
    - ``high_watermark``: everything below this offset is committed. It never goes back.
    - ``transitions``, ``verdicts``: what happened and why, to be logged and counted. Not compared.
    - ``deadline``: report Timeout when it passes, unless newer effects named another one. Seconds, on the caller's
      clock.
    """

    fatal: str | None = None
    election: ElectionState | None = None
    truncate: int | None = None
    install: SnapshotId | None = None
    append: LeaderChange | FetchedRecords | None = None
    flush: bool = False
    store: StoreChunk | None = None
    replies: list[Reply] = attrs.field(factory=list)
    sends: list[Send] = attrs.field(factory=list)
    high_watermark: int | None = None
    transitions: list[Transition] = attrs.field(factory=list, eq=False)
    verdicts: list[Verdict] = attrs.field(factory=list, eq=False)
    deadline: float = math.inf
