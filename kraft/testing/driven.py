"""A Raft core driven step by step, with a disk that makes nothing durable while it is held.

It performs effects with :func:`kraft.raft.perform.perform`, like the driver of a node and the simulation. It reports
each event as a text to its host.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Protocol

import attrs

from kraft.raft.core import RaftCore
from kraft.raft.events import (
    Effects,
    ElectionStateWritten,
    Event,
    FetchedRecords,
    LeaderChange,
    LogAppended,
    LogFlushed,
    LogTrimmed,
    Reply,
    RequestFailed,
    ResponseReceived,
    Send,
    SnapshotCreated,
    SnapshotStored,
    StoreChunk,
    Timeout,
)
from kraft.raft.messages import (
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Request,
    SnapshotId,
    VoteRequest,
)
from kraft.raft.perform import perform
from kraft.raft.state import ElectionState, Leader
from kraft.raft.timing import Timing
from kraft.simulation.disk import Append, Cut, Disk, Entry, Reset
from kraft.simulation.machine import EMPTY_STATE, replay
from kraft.testing.words import election_in_words, in_words, name_of, names, span

#: The size of every snapshot, and of a chunk in one response, in bytes.
SNAPSHOT_SIZE, CHUNK_SIZE = 20, 10


class Line(Enum):
    """The subject of a line in a report."""

    ARRIVAL = "a message arrives"
    NEWS = "a state or a log changes for good"
    DETAIL = "what a node does"


@attrs.frozen
class InFlight:
    """A message in flight: a request (Send), or the response to one.

    ``life`` counts the starts of the node that sent the request. After a restart that node no longer knows the request.
    """

    source: int
    target: int
    life: int
    message: Send | ResponseReceived

    def __str__(self) -> str:
        message = self.message
        if isinstance(message, Send):
            return f"{self.source}->{self.target} {in_words(message.request)}"
        return f"{self.source}->{self.target} {name_of(message.request)} response: {in_words(message.response)}"


@attrs.frozen
class UnfinishedFlush:
    """A flush that has begun, and the extent of the log that it covers."""

    written: int
    end_offset: int
    truncations: int


@attrs.frozen
class Snapshot:
    """A fetched snapshot that is not durable yet."""

    snapshot: SnapshotId
    state: int


class CoreHost(Protocol):
    """The clock, voters and network of a driven core, and the receiver of its reports."""

    voters: tuple[int, ...]
    old: set[int]
    timing: Timing
    now: float

    def say(self, text: str, kind: Line, about: Request | None, /) -> None: ...

    def stepped(self, node: DrivenCore, effects: Effects) -> None: ...

    def post(self, in_flight: InFlight) -> bool: ...


class DrivenCore:
    """A core, its disk, and its unfinished writes.

    While the disk writes the election state (``writing``), the core gets no event except the end of that write.
    ``unfinished`` are the flushes of a ``held`` disk, oldest first. ``callers`` are the requests without a reply.
    """

    def __init__(self, around: CoreHost, node_id: int) -> None:
        self.around = around
        self.node_id = node_id
        self.disk = Disk()
        self.held = False
        self.life = 0
        self.up = False
        self._forget()

    def _forget(self) -> None:
        self.deadline = math.inf
        self.writing: ElectionState | None = None
        self.unfinished: deque[UnfinishedFlush | Snapshot] = deque()
        self.callers: dict[int, InFlight] = {}
        self._performances: deque[Iterator[ElectionState]] = deque()
        self._performing = False

    @property
    def free(self) -> bool:
        """Whether the core may be stepped."""
        return self.up and self.writing is None

    def _say(self, text: str, kind: Line = Line.DETAIL, about: Request | None = None) -> None:
        self.around.say(f"{self.node_id} {text}", kind, about)

    # Start and crash.

    def start(self) -> None:
        """Start from the disk."""
        self._forget()
        self.up, self.held, self.life = True, False, self.life + 1
        # Deterministic, but different for each node: a timer of node 1 is shorter than the same timer of node 2.
        jitter = itertools.cycle([((self.node_id - 1 + 2 * turn) % 9 + 1) / 10 for turn in range(9)])
        self.core = RaftCore(
            self.node_id,
            self.around.voters,
            self.disk.election,
            self.disk.recover(),
            self.around.now,
            jitter=jitter.__next__,
            timing=self.around.timing,
        )
        self.step(Timeout())

    def crash(self, *, kept: int = 0) -> None:
        """Crash as in a power failure: unsynced writes are lost, except the first ``kept`` writes to the log."""
        self.disk.sync(self.disk.synced + kept)
        self.disk.forget_unsynced()
        self.up = False
        self._forget()

    # Events and effects.

    def step(self, event: Event) -> None:
        """Step the core with an event, and perform the effects."""
        effects = self.core.step(self.around.now, event)
        self.deadline = effects.deadline
        for transition in effects.transitions:
            self.around.say(f"{self.node_id}: {transition}", Line.NEWS, None)
        for verdict in effects.verdicts:
            vote = isinstance(verdict.request, VoteRequest)
            word = "refuses" if not verdict.granted else "grants" if vote else "accepts"
            request = verdict.request
            self._say(f"{word} the {name_of(request)} of {verdict.peer}: {verdict.reason.value}", about=request)
        self.around.stepped(self, effects)
        self._performances.append(perform(effects, self))
        if not self._performing:
            self._perform()

    def _perform(self) -> None:
        self._performing = True
        while self._performances and self.free:
            performance = self._performances.popleft()
            election = next(performance, None)
            if election is not None:
                self._performances.appendleft(performance)
                self._write_election(election)
        self._performing = False

    def _write_election(self, election: ElectionState) -> None:
        self.writing = election
        self._say(f"writes {election_in_words(election)}{' …' if self.held else ''}")
        if not self.held:
            self.finish_writing()

    def finish_writing(self) -> None:
        """Finish the write of the election state: it is durable."""
        assert self.writing is not None
        self.disk.election, self.writing = self.writing, None
        self.step(ElectionStateWritten(self.disk.election))

    # The world that the core's effects change: ``kraft.raft.perform.EffectsWorld``.

    def stop(self, why: str) -> None:
        self._say(f"stops: {why}", Line.NEWS)
        self.crash()

    def truncate(self, end_offset: int) -> None:
        self._say(f"truncates its log to {end_offset}", Line.NEWS)
        self.disk.write(Cut(end_offset))

    def install(self, snapshot: SnapshotId) -> None:
        self._say(f"replaces its log with the snapshot to offset {snapshot.end_offset}", Line.NEWS)
        self.disk.write(Reset(snapshot))
        self.flush()

    def append(self, batches: LeaderChange | FetchedRecords) -> None:
        match batches:
            case LeaderChange(epoch=epoch):
                self._append((Entry(epoch, -epoch),))
            case FetchedRecords(records, entries):
                self._say(f"appends {span('record', records.base_offset, records.end_offset)}")
                self.disk.write(Append(entries))

    def flush(self) -> None:
        self.unfinished.append(UnfinishedFlush(self.disk.written(), self.disk.log.end, self.core.log.truncations))
        self.work()

    def store(self, chunk: StoreChunk) -> None:
        self._say(f"stores the snapshot from byte {chunk.position}{' to its end' if chunk.last else ''}")
        if chunk.last:
            self.unfinished.append(Snapshot(chunk.snapshot, chunk.payload))
            self.work()

    def reply(self, replies: list[Reply]) -> None:
        for reply in replies:
            self._reply(reply)

    def send(self, sends: list[Send]) -> None:
        for request, group in itertools.groupby(sends, key=lambda send: send.request):
            alike = tuple(group)
            old = [send for send in alike if name_of(request) == "PreVote" and send.to in self.around.old]
            posted = [send for send in alike if send not in old]
            lost = [
                send.to for send in posted if not self.around.post(InFlight(self.node_id, send.to, self.life, send))
            ]
            remarks = f" (lost on the way to {names(lost)})" if lost else ""
            if old:
                remarks += f" (not supported by {names(send.to for send in old)})"
            self._say(f"sends {names(send.to for send in alike)}: {in_words(request)}{remarks}", about=request)
            for send in old:
                self.step(RequestFailed(send.number, send.to, request, unsupported=True))

    def commit(self, high_watermark: int) -> None:
        self._say(f"advances its high watermark to {high_watermark}", Line.NEWS)

    # The log and its snapshots.

    def propose(self, values: Iterable[int]) -> bool:
        """Append records with these values as one batch, if this node leads. Return whether it leads."""
        if not self.free or not isinstance(self.core.state, Leader):
            return False
        self._append(tuple(Entry(self.core.epoch, value) for value in values))
        return True

    def _append(self, entries: tuple[Entry, ...]) -> None:
        base = self.disk.log.end
        opening = " (the LeaderChange)" if entries[0].value < 0 else ""
        self._say(f"appends {span('record', base, base + len(entries))}{opening}")
        self.disk.write(Append(entries))
        self.step(LogAppended(self.disk.log.end, entries[0].epoch))

    def work(self) -> None:
        """Finish all writes that have begun, unless the disk is held."""
        if self.writing is not None and not self.held:
            self.finish_writing()
        while self.unfinished and not self.held:
            self.finish_flush()

    def finish_flush(self) -> None:
        """Finish the oldest flush."""
        done = self.unfinished.popleft()
        if isinstance(done, UnfinishedFlush):
            self.disk.sync(done.written)
            self.step(LogFlushed(done.end_offset, done.truncations))
        else:
            self.disk.snapshots[done.snapshot] = done.state
            self.step(SnapshotStored(done.snapshot))

    def create_snapshot(self) -> SnapshotId | None:
        """Write a snapshot of all committed records, if there are new ones."""
        log, end = self.disk.log, min(self.core.high_watermark, self.disk.log.end)
        newest = self.core.log.snapshot
        if end <= max(log.start, newest.end_offset if newest else 0):
            return None
        snapshot = SnapshotId(end, log.at(end - 1).epoch)
        self.disk.snapshots[snapshot] = state_at(self.disk, end)
        self.step(SnapshotCreated(snapshot))
        return snapshot

    def trim(self) -> bool:
        """Delete the records that the newest snapshot covers. Return False if there are none."""
        snapshot, log = self.core.log.snapshot, self.disk.log
        if snapshot is None or snapshot.end_offset <= log.start or not self.disk.trim(snapshot):
            return False
        self.step(LogTrimmed(snapshot))
        return True

    def _reply(self, reply: Reply) -> None:
        asked = self.callers.pop(reply.request_id)
        assert isinstance(asked.message, Send)
        response, request = reply.response, asked.message.request
        payload: tuple[Entry, ...] | int | None = None
        if isinstance(response, FetchResponse) and response.records is not None:
            payload = self.disk.log.read(response.records.base_offset, response.records.end_offset)
        elif isinstance(request, FetchSnapshotRequest) and isinstance(response, FetchSnapshotResponse):
            payload = self.disk.snapshots.get(request.snapshot, EMPTY_STATE)
            response = attrs.evolve(response, length=CHUNK_SIZE, size=SNAPSHOT_SIZE)
        answer = ResponseReceived(asked.message.number, self.node_id, request, response, payload)
        arrives = self.around.post(InFlight(self.node_id, asked.source, asked.life, answer))
        remark = "" if arrives else f" (lost on the way to {asked.source})"
        self._say(f"answers {asked.source}: {in_words(response)}{remark}", about=request)


def state_at(disk: Disk, end: int) -> int:
    """Return a digest of all records below ``end``. Different histories have different digests."""
    log = disk.log
    before = disk.snapshots[SnapshotId(log.start, log.start_epoch)] if log.start else EMPTY_STATE
    return replay(before, log.read(log.start, end))
