"""One core driven by hand, with a disk that makes nothing durable while it is held.

It performs effects by :func:`kraft.raft.perform.perform`, as the driver of a node and the simulation do. What happens
is told in words to whoever asked for that.
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

#: What a snapshot weighs, and how much of it goes into one answer, in bytes.
SNAPSHOT_SIZE, CHUNK_SIZE = 20, 10


class Line(Enum):
    """What a line of a report is about."""

    ARRIVAL = "a message arrives"
    NEWS = "a state or a log changes for good"
    DETAIL = "what a node does"


@attrs.frozen
class InFlight:
    """A message under way: a request (Send), or the answer to one.

    ``life`` is that of the one who asked: if it was restarted since, it does not remember the question.
    """

    source: int
    target: int
    life: int
    message: Send | ResponseReceived

    def __str__(self) -> str:
        message = self.message
        if isinstance(message, Send):
            return f"{self.source}->{self.target} {in_words(message.request)}"
        return f"{self.source}->{self.target} {name_of(message.request)} answered: {in_words(message.response)}"


@attrs.frozen
class Flush:
    """A flush that has begun, and what it covers."""

    written: int
    end_offset: int
    truncations: int


@attrs.frozen
class Snapshot:
    """A snapshot that came in, and is not yet durable."""

    snapshot: SnapshotId
    state: int


class CoreHost(Protocol):
    """What a driven core finds around itself: the time, who votes, whom it may write to, and who hears of it."""

    voters: tuple[int, ...]
    old: set[int]
    timing: Timing
    now: float

    def say(self, text: str, kind: Line, about: Request | None, /) -> None: ...

    def stepped(self, node: DrivenCore, effects: Effects) -> None: ...

    def post(self, in_flight: InFlight) -> bool: ...


class DrivenCore:
    """A core, its disk, and what is not finished yet.

    While the election state is being written (``writing``) the core gets no event but that it is written.
    ``unfinished`` are the flushes of a disk that is ``held``, oldest first. ``callers`` wait for an answer.
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
        self.unfinished: deque[Flush | Snapshot] = deque()
        self.callers: dict[int, InFlight] = {}
        self._performances: deque[Iterator[ElectionState]] = deque()
        self._performing = False

    @property
    def free(self) -> bool:
        """Whether the core may be stepped."""
        return self.up and self.writing is None

    def _say(self, text: str, kind: Line = Line.DETAIL, about: Request | None = None) -> None:
        self.around.say(f"{self.node_id} {text}", kind, about)

    # Life and death.

    def start(self) -> None:
        """Boot from the disk."""
        self._forget()
        self.up, self.held, self.life = True, False, self.life + 1
        # No chance, and yet no two nodes alike: a timer of node 1 is shorter than the same of node 2, and so on.
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
        """Pull the plug: what was not durable is gone, but for the first ``kept`` of the writes to the log."""
        self.disk.sync(self.disk.synced + kept)
        self.disk.forget_unsynced()
        self.up = False
        self._forget()

    # Events in, effects out.

    def step(self, event: Event) -> None:
        """Let the core take in an event, and do what it says."""
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
        """The election state is durable."""
        assert self.writing is not None
        self.disk.election, self.writing = self.writing, None
        self.step(ElectionStateWritten(self.disk.election))

    # The world that the effects of the core change: ``kraft.raft.perform.EffectsWorld``.

    def stop(self, why: str) -> None:
        self._say(f"stops: {why}", Line.NEWS)
        self.crash()

    def truncate(self, end_offset: int) -> None:
        self._say(f"cuts its log at {end_offset}", Line.NEWS)
        self.disk.write(Cut(end_offset))

    def install(self, snapshot: SnapshotId) -> None:
        self._say(f"lets its log begin anew, at {snapshot.end_offset}", Line.NEWS)
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
        self.unfinished.append(Flush(self.disk.written(), self.disk.log.end, self.core.log.truncations))
        self.work()

    def store(self, chunk: StoreChunk) -> None:
        self._say(f"stores the snapshot from byte {chunk.position} on{', which is the rest' if chunk.last else ''}")
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
                remarks += f" (unknown to {names(send.to for send in old)})"
            self._say(f"sends {names(send.to for send in alike)}: {in_words(request)}{remarks}", about=request)
            for send in old:
                self.step(RequestFailed(send.number, send.to, request, unsupported=True))

    def commit(self, high_watermark: int) -> None:
        self._say(f"has the high watermark {high_watermark}", Line.NEWS)

    # The log and its snapshots.

    def propose(self, values: Iterable[int]) -> bool:
        """Append records with these values as one batch, if this node leads; return whether it does."""
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
        """Finish what has begun, unless the disk is held."""
        if self.writing is not None and not self.held:
            self.finish_writing()
        while self.unfinished and not self.held:
            self.finish_flush()

    def finish_flush(self) -> None:
        """The oldest flush is done."""
        done = self.unfinished.popleft()
        if isinstance(done, Flush):
            self.disk.sync(done.written)
            self.step(LogFlushed(done.end_offset, done.truncations))
        else:
            self.disk.snapshots[done.snapshot] = done.state
            self.step(SnapshotStored(done.snapshot))

    def create_snapshot(self) -> SnapshotId | None:
        """Write a snapshot of all that is known to be committed, if there is something new."""
        log, end = self.disk.log, min(self.core.high_watermark, self.disk.log.end)
        newest = self.core.log.snapshot
        if end <= max(log.start, newest.end_offset if newest else 0):
            return None
        snapshot = SnapshotId(end, log.at(end - 1).epoch)
        self.disk.snapshots[snapshot] = state_at(self.disk, end)
        self.step(SnapshotCreated(snapshot))
        return snapshot

    def trim(self) -> bool:
        """Delete from the log what the newest snapshot covers; return False if nothing can be deleted."""
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
    """A digest of all records below ``end``, which tells any two histories apart."""
    log = disk.log
    before = disk.snapshots[SnapshotId(log.start, log.start_epoch)] if log.start else EMPTY_STATE
    return replay(before, log.read(log.start, end))
