"""The events of the quorum's core, and the effects that its driver must perform."""

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
    """This leader appended to its log, up to ``end_offset`` (exclusive), in ``epoch``. The records may not be durable
    yet.
    """

    end_offset: int
    epoch: int


@attrs.frozen
class LogFlushed:
    """Everything below ``end_offset`` is durable. The log may be longer by now.

    ``truncations`` is the value of ``core.log.truncations`` when the flush began.
    """

    end_offset: int
    truncations: int


@attrs.frozen
class RequestReceived:
    """A request arrived. The driver chose ``request_id``, and the Reply has the same one."""

    request_id: int
    request: Request


@attrs.frozen
class ResponseReceived:
    """The response to a Send, with the ``number``, receiver (``to``) and ``request`` of that Send.

    ``payload`` is the records, or the piece of a snapshot, of the response. The core passes it on in FetchedRecords or
    StoreChunk, and never reads it.
    """

    number: int
    to: int
    request: Request
    response: Response
    payload: Any = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class RequestFailed:
    """A Send got no usable response: none at all, or, if ``answered``, one that its driver could not decode.

    ``unsupported``: the receiver does not support the request, so the driver did not send it.
    """

    number: int
    to: int
    request: Request
    unsupported: bool = False
    answered: bool = False


@attrs.frozen
class SnapshotStored:
    """A fetched snapshot is checked and durable, under its own name. The log is unchanged so far."""

    snapshot: SnapshotId


@attrs.frozen
class SnapshotRejected:
    """A fetched snapshot was damaged, and is deleted."""

    snapshot: SnapshotId


@attrs.frozen
class SnapshotCreated:
    """This node created a snapshot. It is durable."""

    snapshot: SnapshotId


@attrs.frozen
class LogTrimmed:
    """The part of the log that this snapshot covers was deleted, or is about to be."""

    snapshot: SnapshotId


@attrs.frozen
class Resign:
    """Give up the leadership of ``epoch``. It has no effect in another epoch."""

    epoch: int


@attrs.frozen
class ShutDown:
    """The node is about to stop. The core resigns, sends EndQuorumEpoch, and takes no further part in elections."""


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
    """The control record that opens an epoch. Its leader appends it first."""

    epoch: int
    leader_id: int
    voters: tuple[int, ...]
    granting_voters: tuple[int, ...]


@attrs.frozen
class FetchedRecords:
    """Records of a leader. ``payload`` contains them, and ``records`` gives their place in the log."""

    records: LogSlice
    payload: Any = attrs.field(default=None, eq=False, repr=False)


@attrs.define
class Reply:
    """The response to the request with this ``request_id``."""

    request_id: int
    response: Response


@attrs.define
class Send:
    """Send ``request`` to node ``to`` and report ResponseReceived or RequestFailed with the same ``number``.

    For each node a driver keeps only the newest request of a kind.
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
    """Why this member granted or refused a request: "I" is this member, "it" the sender or its request.

    Logs, the journal and transcripts have the texts. Metrics count the names.
    """

    GRANTED = "its log is at least as long as mine"
    GRANTED_AGAIN = "I already voted for it in this epoch"
    STALE_EPOCH = "its epoch is older than mine"
    IMPLAUSIBLE_EPOCH = "its epoch is implausibly far ahead of mine"
    UNKNOWN_EPOCH = "its epoch is newer than mine, so I cannot be its leader"
    NOT_LEADER = "I am not the leader"
    SHUTTING_DOWN = "I am shutting down"
    SHORTER_LOG = "its log is shorter than mine"
    VOTED_FOR_ANOTHER = "I voted for another candidate in this epoch"
    VOTED_FOR_MYSELF = "I am a candidate in this epoch myself"
    LEADER_KNOWN = "I know the leader of this epoch"
    FROM_LEADER = "it is or was the leader of this epoch"
    LEADER_ALIVE = "my leader responds to my Fetch requests"
    I_LEAD = "I am the leader"
    I_RESIGNED = "I resigned as the leader of this epoch"
    NOT_A_VOTER = "it is not a voter"
    I_AM_NO_VOTER = "I am not a voter"
    IMPOSSIBLE_LOG = "its log end offset or last epoch is invalid"
    IMPOSSIBLE_OFFSET = "its fetch offset or last fetched epoch is invalid"
    OTHER_LEADER = "this epoch has another leader"
    FROM_MYSELF = "it has my node id"
    FROM_NOBODY = "it has no node id"
    TOO_MANY_OBSERVERS = "I already track the maximum number of observers"
    NO_SUCH_SNAPSHOT = "I have no such snapshot"


@attrs.frozen
class Verdict:
    """The decision on a request of ``peer``, with its reason."""

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
    """A change of state, with its cause."""

    before: str
    after: str
    epoch: int
    why: str

    def __str__(self) -> str:
        return f"{self.before} -> {self.after} in epoch {self.epoch}: {self.why}"


@attrs.define
class Effects:
    """The effects of a step. The driver performs them in field order: disk first, then messages, then the deadline.

    The core collects them during a step and keeps no reference after it.

    - ``fatal``: to continue would risk the log. Stop the node with this line, and do nothing else.
    - ``election``: write it durably and report ElectionStateWritten before anything else is done.
    - ``truncate``: truncate the log to this end offset.
    - ``install``: drop the whole log; it now begins behind this stored snapshot.
    - ``append``: write it to the log. Report LogAppended after a LeaderChange; the core has counted FetchedRecords.
    - ``flush``: make the log durable to at least its present end; report LogFlushed. Flushes may be merged.
    - ``store``: a piece of a snapshot that arrived.
    - ``replies``, ``sends``: responses to peers, and our own requests.
    - ``high_watermark``: everything below this offset is committed. It never goes back.
    - ``transitions``, ``verdicts``: changes of state and decisions, to be logged and counted. Not compared.
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
