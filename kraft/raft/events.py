"""The events that a driver reports to the Raft core, and the effects that the driver performs for it."""

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
    """This leader's log was extended to ``end_offset`` (exclusive) in ``epoch``. The records need not be durable."""

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
    """A request came in. The driver chooses ``request_id``, and the Reply has the same."""

    request_id: int
    request: Request


@attrs.frozen
class ResponseReceived:
    """The response to a Send, with the ``number``, the receiver ``to`` and the ``request`` of that Send.

    ``payload`` is the records, or the chunk of a snapshot, in the response. The core passes it on in FetchedRecords or
    StoreChunk without reading it.
    """

    number: int
    to: int
    request: Request
    response: Response
    payload: Any = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class RequestFailed:
    """A Send got no response, or, if ``answered``, one that its driver could not use.

    ``unsupported``: the receiver does not support the request, so the driver did not send it.
    """

    number: int
    to: int
    request: Request
    unsupported: bool = False
    answered: bool = False


@attrs.frozen
class SnapshotStored:
    """A fetched snapshot is checked, and durable under its final name. The log is not changed yet."""

    snapshot: SnapshotId


@attrs.frozen
class SnapshotRejected:
    """A fetched snapshot was damaged, and is deleted."""

    snapshot: SnapshotId


@attrs.frozen
class SnapshotCreated:
    """This node wrote a snapshot of its own. It is durable."""

    snapshot: SnapshotId


@attrs.frozen
class LogTrimmed:
    """The driver has deleted, or will delete, what this snapshot covers from the start of the log."""

    snapshot: SnapshotId


@attrs.frozen
class Resign:
    """Resign the leadership of ``epoch``. Has no effect in any other epoch."""

    epoch: int


@attrs.frozen
class ShutDown:
    """The node is about to stop: resign, inform the other voters, and leave all elections."""


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
    """The control record that opens an epoch. It is the first record that the leader of the epoch appends."""

    epoch: int
    leader_id: int
    voters: tuple[int, ...]
    granting_voters: tuple[int, ...]


@attrs.frozen
class FetchedRecords:
    """Records from a leader. ``payload`` has the records, and ``records`` their offsets and epochs."""

    records: LogSlice
    payload: Any = attrs.field(default=None, eq=False, repr=False)


@attrs.define
class Reply:
    """The response to the request that was received as ``request_id``."""

    request_id: int
    response: Response


@attrs.define
class Send:
    """Send ``request`` to node ``to`` and report ResponseReceived or RequestFailed with the same ``number``.

    A driver keeps at most one waiting request of each kind for a node, the newest.
    """

    number: int
    to: int
    request: Request


@attrs.frozen
class StoreChunk:
    """Store ``payload`` at ``position`` of a snapshot.

    After the ``last`` chunk, check the snapshot, make it durable, and report SnapshotStored or SnapshotRejected.
    """

    snapshot: SnapshotId
    position: int
    last: bool
    payload: Any = attrs.field(default=None, eq=False, repr=False)


class Reason(Enum):
    """Why a request was granted or refused. Values are texts for people, names are the tags of the metrics."""

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
    """The decision on a request of ``peer``, and the reason."""

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
    """A change of state, and the reason."""

    before: str
    after: str
    epoch: int
    why: str

    def __str__(self) -> str:
        return f"{self.before} -> {self.after} in epoch {self.epoch}: {self.why}"


@attrs.define
class Effects:
    """What the driver must do, in the order of the fields: make durable, change the log, send, publish, sleep.

    The core collects the effects during a step and keeps no reference to them afterwards.

    - ``fatal``: going on would risk the log. Stop the node with this line, and do nothing else.
    - ``election``: write it durably and report ElectionStateWritten before any other effect.
    - ``truncate``: truncate the log to this end offset.
    - ``install``: drop the whole log. It begins at the end of this snapshot, which is stored.
    - ``append``: write it to the log. After a LeaderChange report LogAppended; the core has counted FetchedRecords.
    - ``flush``: make the log durable as it is now, or later, and report LogFlushed. Flushes may be merged.
    - ``store``: store this chunk of a fetched snapshot.
    - ``replies``, ``sends``: responses to peers, and requests of this node.
    - ``high_watermark``: everything below this offset is committed. It never decreases.
    - ``transitions``, ``verdicts``: what happened and why, for logs and metrics. Not compared.
    - ``deadline``: report Timeout when it passes, unless newer effects have another one. Seconds on the caller's
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
