"""The driver of the metadata quorum. It owns one Raft core, its log, ``quorum-state`` and the peers.

::

    quorum
    ├── peer 2, peer 3            send requests to the other voters
    ├── flusher                   one fsync at a time, on a worker thread
    ├── snapshot check            checks a snapshot that was fetched
    └── leader in epoch 5         the role: steps the core with one event after the other
        └── active controller     runs while this node leads

A role is a scope. It lives while the core stays in that role; a transition leaves one scope and enters the next.

Only the task of the role steps the core and performs its effects. It performs all effects of a step before the next
step. All other tasks report events to its inbox.

Commits are grouped. An append is written at once, and one flush covers every append before it began. A record is
committed once a majority of the voters has flushed it; the leader itself may still be flushing.

:mod:`kraft.control.metadata` pulls. It waits until the next record is ``committed`` and reads the log at its own pace,
the newest batches from memory and older ones from the file. So it delays no commit, and no queue grows for it.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import trio

from kraft.metadata.steps import Steps
from kraft.quorum.election import ElectionFile
from kraft.quorum.flusher import Flusher
from kraft.quorum.high_watermark import HighWatermark
from kraft.quorum.log import MetadataLog, Unit
from kraft.quorum.peer_warnings import PeerWarnings
from kraft.quorum.peers import Peer
from kraft.quorum.pending import PendingRequest, PendingRequests
from kraft.quorum.performer import Performer
from kraft.quorum.refusals import Refusal
from kraft.quorum.responses import Responses
from kraft.quorum.role import Role
from kraft.quorum.rpcs import MAX_FETCH_BYTES, Identity
from kraft.quorum.snapshot_check import SnapshotCheck
from kraft.quorum.trace import CoreStepped, RequestRefused, RoleBegan
from kraft.raft.core import RaftCore
from kraft.raft.events import (
    Effects,
    Event,
    LeaderChange,
    LogAppended,
    LogTrimmed,
    RequestReceived,
    Resign,
    ResponseReceived,
    ShutDown,
    SnapshotCreated,
    SnapshotRejected,
    SnapshotStored,
    Timeout,
)
from kraft.raft.messages import FetchRequest, FetchSnapshotRequest, Request, SnapshotId
from kraft.raft.state import Follower, Leader, Resigned, State
from kraft.raft.timing import Timing
from kraft.rpc.client import connect
from kraft.storage.errors import StorageError
from kraft.world.slices import in_slices
from kraft.world.trace import Trace
from kraft.world.world import World

logger = logging.getLogger("kraft.quorum")

#: The capacity of the inbox, in events. A task that reports an event to a full inbox waits.
_INBOX = 100
#: The events of the inbox that come before a flush that is due, or a deadline that has passed. Replicas that fetch
#: again at once could fill the inbox for ever.
_EVENTS_AT_ONCE = 16
#: The cost of the checks of fetched records before other tasks run: a few milliseconds of work.
_SLICE_RECORDS = 200

Lead = Callable[[int], Awaitable[None]]


class NotLeader(Exception):
    """This node does not lead the epoch that the caller expects."""


class Quorum:
    """A member of the metadata quorum: a voter, or an observer if ``identity.node_id`` is not among the voters.

    While ``run`` runs, any task may call the other methods. The ``world`` connects to the voters, runs blocking file
    work on worker threads, and syncs the log.
    """

    def __init__(
        self,
        identity: Identity,
        log: MetadataLog,
        world: World,
        *,
        timing: Timing | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.identity = identity
        self.log = log
        self._world = world
        self.trace = trace or Trace(world.clock, identity.node_id)
        self._stepped = self.trace.of(CoreStepped)
        self._refused = self.trace.of(RequestRefused)
        self._role_began = self.trace.of(RoleBegan)
        # Append time of the oldest record in the last LogAppended, or in the next one.
        self._appended_at = world.seconds()
        election_file = ElectionFile(log, identity.node_id, identity.voters)
        self._warnings = PeerWarnings(identity)
        self.timing = timing or Timing()
        election = election_file.read()
        voters = tuple(sorted(identity.voters))
        now = trio.current_time()
        view = log.view()
        jitter = world.random.random
        self._core = RaftCore(identity.node_id, voters, election, view, now, jitter=jitter, timing=self.timing)
        self._deadline = now
        self._taken_at_once = 0
        self._follow_ups: deque[Event] = deque()
        # None wakes the driver without an event, because the log has grown.
        self._inbox, self._reported = trio.open_memory_channel[Event | None](_INBOX)
        self._flusher = Flusher(log, view, world.in_thread, world.sync)
        self._high_watermark = HighWatermark(self._core.high_watermark)
        self._trimmed = trio.Event()
        dial = functools.partial(connect, dial=world.dial)
        self._peers: Mapping[int, Peer] = {
            voter.node_id: Peer(voter, identity, self.timing, self._warnings, dial, self._inbox.send)
            for voter in identity.voters.values()
            if voter.node_id != identity.node_id
        }
        self._responses = Responses(log, self._peers, self._warnings)
        self._pending = PendingRequests(log)
        self._snapshot_check = SnapshotCheck(log, world.in_thread)
        self._performer = Performer(
            log=log,
            world=world,
            election_file=election_file,
            flusher=self._flusher,
            snapshot_check=self._snapshot_check,
            pending=self._pending,
            peers=self._peers,
            warnings=self._warnings,
            publish=self._high_watermark.advance,
        )
        self._changed = trio.Event()
        self._busy_s = 0.0
        self._resumed_at = self._appended_at
        self._shutting_down = False
        self._shut_down_done = trio.Event()

    # Reading the state.

    @property
    def node_id(self) -> int:
        return self.identity.node_id

    @property
    def state(self) -> State:
        return self._core.state

    @property
    def leader_id(self) -> int | None:
        """The leader that this node knows, or None."""
        return self._core.leader_id

    @property
    def epoch(self) -> int:
        """The current epoch."""
        return self._core.epoch

    @property
    def is_leader(self) -> bool:
        return isinstance(self._core.state, Leader)

    @property
    def high_watermark(self) -> int:
        """All records below this offset are committed. They are in the log or in its snapshot."""
        return self._high_watermark.offset

    @property
    def start_offset(self) -> int:
        """The first offset of the log. Earlier records are in the snapshot."""
        return self.log.start_offset

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self.log.end_offset

    @property
    def in_touch(self) -> bool:
        """Whether this node's high watermark has reached the newest one that its leader sent.

        A leader is in touch once it has committed a record of its own epoch.
        """
        state = self._core.state
        if isinstance(state, Leader):
            return self.high_watermark > state.epoch_start
        return (
            isinstance(state, Follower)
            and 0 <= self._responses.leader_high_watermark(state.epoch) <= self.high_watermark
        )

    @property
    def is_shutting_down(self) -> bool:
        """Whether the driver has taken the event of ``shut_down``. From then on ``run`` closes the log when it ends."""
        return self._shutting_down

    @property
    def busy_s(self) -> float:
        """Total seconds in which the role did not wait for an event. ``poll-idle-ratio-avg`` measures the rest."""
        return self._busy_s

    def note_refusal(self, refusal: Refusal, host: str) -> None:
        """Log and count a request from ``host`` that was refused instead of submitted."""
        self._warnings.note_refusal(refusal, host)
        if self._refused.listeners:
            self._refused.emit(RequestRefused(*self._refused.now(), refusal))

    async def change(self, leader_id: int | None, epoch: int) -> None:
        """Return when the leader or the epoch is no longer this one. The caller limits the wait."""
        while (self.leader_id, self.epoch) == (leader_id, epoch):
            await self._changed.wait()

    async def submit(self, request: Request, max_bytes: int = MAX_FETCH_BYTES) -> PendingRequest:
        """Report a request of a peer to the core. ``PendingRequest.response`` waits for the response."""
        pending = self._pending.add(max_bytes)
        try:
            await self._inbox.send(RequestReceived(pending.request_id, request))
        except trio.Cancelled:
            self._pending.discard(pending)
            raise
        return pending

    # The driver.

    async def run(self, lead: Lead, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take part in the quorum until cancelled. It has started when the driver takes events.

        While this node leads, ``lead(epoch)`` runs in the scope of the role. It is cancelled when the leadership ends.

        Resource handling: releases the log when it ends. After ``shut_down`` it closes the log. Otherwise it leaves the
        files as they are, as after a kill -9.

        Error handling: OSError ends it. After a failed fsync the content of the disk is unknown, so the driver neither
        writes nor replies any more, and the node must stop. StorageError ends it too, because going on would risk the
        log.
        """
        release = self.log.abandon
        try:
            async with trio.open_nursery() as nursery:
                for number, peer in self._peers.items():
                    nursery.start_soon(peer.run, name=f"peer {number}")
                nursery.start_soon(self._flusher.run, self._inbox.send, name="flusher")
                nursery.start_soon(self._snapshot_check.run, self._snapshot_checked, name="snapshot check")
                self._resumed_at = self._world.seconds()
                self._core.begin(trio.current_time())
                await self._take(Timeout())
                task_status.started()
                while True:
                    role = Role.of(self._core.state)
                    if self._role_began.listeners:
                        began = RoleBegan(*self._role_began.now(), str(role), role.epoch, role.leader_id)
                        self._role_began.emit(began)
                    async with trio.open_nursery() as scope:
                        scope.start_soon(self._step_while, role, scope.cancel_scope, name=str(role))
                        if role.kind is Leader:
                            scope.start_soon(lead, role.epoch, name=f"active controller of epoch {role.epoch}")
        except BaseException as error:
            if self._shutting_down and not _of_disk(error):
                release = self.log.close
            raise
        finally:
            release()

    async def _step_while(self, role: Role, scope: trio.CancelScope) -> None:
        """Step the core with one event after the other while it stays in ``role``."""
        while Role.of(self._core.state) == role:
            event = await self._next_event()
            if self._has_grown:  # First, because any other event might end the leadership.
                await self._take(LogAppended(self.log.end_offset, self.epoch))
            if event is not None:
                await self._take(event)
            if isinstance(event, RequestReceived) and isinstance(event.request, FetchRequest):
                await trio.lowlevel.checkpoint()  # many replicas may be far behind, and each one costs milliseconds
        scope.cancel(reason=f"no longer {role}")

    async def _next_event(self) -> Event | None:
        """Return the next event, or None if only the log has grown.

        The order: events from the effects of a step, then the inbox, then the end of a flush on the event loop. If
        there is none, wait for the inbox, or return Timeout at the core's deadline. After ``_EVENTS_AT_ONCE`` events of
        the inbox, flush and deadline come before the next one.
        """
        if self._has_grown:
            return None
        if self._follow_ups:
            return self._follow_ups.popleft()
        is_busy = self._taken_at_once == _EVENTS_AT_ONCE
        if not is_busy:
            with contextlib.suppress(trio.WouldBlock):
                event = self._reported.receive_nowait()
                self._taken_at_once += 1
                return event
        self._taken_at_once = 0
        if self._flusher.is_due:
            # A leader with peers flushes on a thread and sends the records meanwhile, so that all disks write in
            # parallel.
            flushed = self._flusher.flush(aside=self.is_leader and bool(self._peers))
            if flushed is not None:
                return flushed
        if is_busy and trio.current_time() >= self._deadline:
            return Timeout()
        self._busy_s += self._world.seconds() - self._resumed_at
        try:
            with trio.move_on_at(self._deadline):
                return await self._reported.receive()
            return Timeout()
        finally:
            self._resumed_at = self._world.seconds()

    @property
    def _has_grown(self) -> bool:
        """Whether this leader has appended records that its core does not know yet."""
        return self.log.end_offset > self._core.log.end_offset

    async def _take(self, event: Event) -> None:
        """Step the core with ``event``, and perform all effects before the next step."""
        prepared = await self._prepared(event)
        if prepared is None:
            return
        now = trio.current_time()
        effects = self._step(now, prepared)
        if isinstance(prepared, Timeout):
            assert effects.deadline > now, "an expired deadline must move, or this loop spins"
        self._deadline = effects.deadline
        self._follow_ups += await self._performer.perform(effects)
        if isinstance(effects.append, LeaderChange):
            self._appended_at = self._world.seconds()
        if effects.transitions:
            self._wake_waiting()
        if self._shutting_down and self._has_handed_over():
            self._shut_down_done.set()

    def _awaits(self, event: ResponseReceived) -> bool:
        state = self._core.state
        return isinstance(state, Follower) and state.pending_request == event.number

    async def _prepared(self, event: Event) -> Event | None:
        """Do the work of the driver that precedes a step. Return the event for the core, or None if it is outdated."""
        if isinstance(event, ResponseReceived):
            if not self._awaits(event):
                return event  # its records may not continue the log, and the core does not take them
            return await in_slices(self._responses.check(event), _SLICE_RECORDS)
        if isinstance(event, ShutDown):
            self._shutting_down = True
        elif isinstance(event, LogTrimmed):
            await self._flusher.idle()
            replaced = event.snapshot.end_offset < self.log.start_offset  # by a snapshot of the leader, meanwhile
            if not replaced:
                self.log.trim(event.snapshot)
            self._trimmed.set()
            self._trimmed = trio.Event()
            if replaced:
                return None
        return event

    def _step(self, now: float, event: Event) -> Effects:
        """Step the core, and report the step."""
        effects = self._core.step(now, event)
        if isinstance(event, ResponseReceived):
            self._responses.note_leader(event, self.state)
        for verdict in effects.verdicts:
            self._warnings.note_verdict(verdict)
        for transition in effects.transitions:
            logger.info("%s", transition)
        if self._stepped.listeners:
            appended_at = self._appended_at if isinstance(event, LogAppended) else None
            self._stepped.emit(CoreStepped(*self._stepped.now(), event, effects, appended_at))
        return effects

    def _wake_waiting(self) -> None:
        """Wake the tasks that wait for a change of the state."""
        self._changed.set()
        self._changed = trio.Event()
        self._high_watermark.wake()

    def _has_handed_over(self) -> bool:
        """Whether every voter that could be reached knows that this node does not lead."""
        state = self.state
        return not (isinstance(state, Leader) or (isinstance(state, Resigned) and state.unacknowledged))

    async def _snapshot_checked(self, outcome: SnapshotStored | SnapshotRejected) -> None:
        leader_id = self.leader_id
        if leader_id is not None and leader_id in self._peers:
            request = FetchSnapshotRequest(self.epoch, self.node_id, outcome.snapshot, 0)
            self._responses.note_checked_snapshot(outcome, leader_id, request)
        await self._inbox.send(outcome)

    # Appending.

    def encode(self, records: Sequence[Any], epoch: int, *, is_atomic: bool = False) -> Steps[Unit]:
        """Encode metadata records as one unit for ``append`` by the leader of ``epoch``, in steps.

        The unit has offsets from the current end of the log on, so nothing else of this epoch may be appended before
        it.

        Raises:
            NotLeader: This node does not lead ``epoch``.
            KafkaError: RECORD_LIST_TOO_LARGE if a record fits in no batch, or the records of an atomic unit not in one.
        """
        self._require_leadership(epoch)
        return (yield from self.log.encode(records, epoch, self._world.clock.now_ms(), is_atomic=is_atomic))

    def _require_leadership(self, epoch: int) -> None:
        if not self.is_leader or self.epoch != epoch:
            raise NotLeader

    def append(self, unit: Unit) -> int:
        """Append a unit of ``encode`` and return the offset of its last record.

        The records are written but not committed. Nothing may depend on them before ``committed`` has returned.

        Raises:
            NotLeader: The leadership of the unit's epoch has ended. Nothing was written.
            OSError: The records cannot be written. Any later failure ends ``run``.
        """
        self._require_leadership(unit.epoch)
        is_first, began = not self._has_grown, self._world.seconds()
        self.log.append(unit)
        if is_first:
            self._appended_at = began
            with contextlib.suppress(trio.WouldBlock):  # With a full inbox the driver checks the log soon anyway.
                self._inbox.send_nowait(None)
        return self.log.end_offset - 1

    async def resign(self, epoch: int) -> None:
        """Resign the leadership of ``epoch``, if this node leads it."""
        await self._inbox.send(Resign(epoch))

    async def shut_down(self) -> None:
        """Leave all elections. A leader resigns, and this returns when the other voters know it.

        The caller limits the wait.
        """
        await self._inbox.send(ShutDown())
        await self._shut_down_done.wait()

    # Waiting for commits.

    async def committed(self, offset: int) -> None:
        """Return when the record at ``offset`` is committed. The caller limits the wait."""
        while self.high_watermark <= offset:
            await self._high_watermark.change()

    async def committed_as_leader(self, offset: int, epoch: int) -> None:
        """Return when the record at ``offset``, which this node appended in ``epoch``, is committed.

        Raises NotLeader if the leadership ends first. The record may then be committed or lost.
        """
        while self.is_leader and self.epoch == epoch:
            if self.high_watermark > offset:
                return
            await self._high_watermark.change()
        raise NotLeader

    # Snapshots.

    async def snapshot_created(self, snapshot: SnapshotId) -> None:
        """Report to the core that this node wrote a snapshot, which followers may fetch from now on."""
        await self._inbox.send(SnapshotCreated(snapshot))

    async def trim(self, snapshot: SnapshotId) -> None:
        """Delete the records that ``snapshot`` covers from the start of the log, and return when they are gone."""
        await self._inbox.send(LogTrimmed(snapshot))
        while self.log.start_offset < snapshot.end_offset:
            await self._trimmed.wait()


def _of_disk(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(map(_of_disk, error.exceptions))
    return isinstance(error, OSError | StorageError)
