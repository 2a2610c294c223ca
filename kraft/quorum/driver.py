"""The driver of the metadata quorum: one raft core, its log, ``quorum-state``, and the ways to the other voters.

::

    quorum
    ├── peer 2, peer 3            carry requests to the other voters
    ├── flusher                   one fsync at a time, for everything appended before it began, where the disk is slow
    ├── snapshot check            looks through a snapshot that was fetched
    └── leader in epoch 5         the role: does what is due at a deadline, and what waits for the disk
        └── active controller     what a leader does beside that

A role is a scope: it lives exactly as long as the core stays in it; a transition leaves one scope and enters the next.

Whoever brings an event steps the core with it and performs the effects, there and then; what has to wait is left to the
role (``kraft.quorum.turns``).

Commits are made in groups: an append is written at once, and one flush at a time covers all that was appended before it
began. Nothing is committed, published or answered before the flush that covers it has returned.

Readers pull: each waits for what it has not seen to be ``committed``, and takes it from the log at its own pace, the
newest batches from memory and older ones from the file. So no reader can hold up a commit, and nothing queues up for a
slow one.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import attrs
import trio

from kraft.quorum.complaints import Complaints
from kraft.quorum.election import ElectionFile
from kraft.quorum.flusher import Flusher
from kraft.quorum.log import MetadataLog, Unit
from kraft.quorum.peers import Peer
from kraft.quorum.questions import Question, Questions
from kraft.quorum.refusals import Refusal
from kraft.quorum.responses import Responses
from kraft.quorum.snapshot_check import SnapshotCheck
from kraft.quorum.trace import CoreStepped, RequestRefused, RoleBegan
from kraft.quorum.turns import Turns
from kraft.quorum.wire import MAX_FETCH_BYTES, Identity
from kraft.raft.core import RaftCore
from kraft.raft.events import (
    Effects,
    ElectionStateWritten,
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
)
from kraft.raft.messages import FetchSnapshotRequest, Request, SnapshotId
from kraft.raft.state import Follower, Leader, Resigned, State
from kraft.raft.timing import Timing
from kraft.rpc.client import connect
from kraft.storage.errors import StorageError
from kraft.world.trace import Trace
from kraft.world.world import World

logger = logging.getLogger("kraft.quorum")

Lead = Callable[[int], Awaitable[None]]


class NotLeader(Exception):
    """This node does not lead the epoch that the caller thinks it does."""


@attrs.frozen
class Role:
    """What the core is, for as long as that is one thing."""

    kind: type[State]
    epoch: int
    leader_id: int | None

    @classmethod
    def of(cls, state: State) -> Role:
        return cls(type(state), state.epoch, state.leader_id)

    def __str__(self) -> str:
        of = f" of {self.leader_id}" if self.kind is Follower else ""
        return f"{self.kind.__name__.lower()}{of} in epoch {self.epoch}"


class Quorum:
    """A member of the metadata quorum: a voter, or an observer if ``identity.node_id`` is none of the voters.

    Every method but ``run`` may be called by any task while that runs. The ``world`` dials the voters, runs on worker
    threads what waits for the disk, and syncs the log.
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
        self.appended_at = world.seconds()
        """When the first of the records was appended that the core was told of last, or will be next."""
        self._election_file = ElectionFile(log, identity.node_id, identity.voters)
        self._complaints = Complaints(identity)
        self.timing = timing or Timing()
        election = self._election_file.read()
        voters = tuple(sorted(identity.voters))
        now = trio.current_time()
        view = log.view()
        jitter = world.random.random
        self._core = RaftCore(identity.node_id, voters, election, view, now, jitter=jitter, timing=self.timing)
        self._flusher = Flusher(log, view, world.in_thread, world.sync)
        self._turns = Turns(self._step, self._flusher, world.seconds)
        self._high_watermark = self._core.high_watermark
        dial = functools.partial(connect, dial=world.dial)
        self._peers: Mapping[int, Peer] = {
            voter.node_id: Peer(voter, identity, self.timing, self._complaints, dial, self._turns.report)
            for voter in identity.voters.values()
            if voter.node_id != identity.node_id
        }
        self._responses = Responses(log, self._peers, self._complaints)
        self._questions = Questions(log)
        self._snapshot_check = SnapshotCheck(log, world.in_thread)
        self._advanced = trio.Event()
        self._changed = trio.Event()
        self._leaving = False
        self._left = trio.Event()

    # What others may ask.

    @property
    def node_id(self) -> int:
        return self.identity.node_id

    @property
    def state(self) -> State:
        return self._core.state

    @property
    def leader_id(self) -> int | None:
        """Who leads, as far as this node knows."""
        return self._core.leader_id

    @property
    def epoch(self) -> int:
        """The epoch of the quorum, which counts leaders."""
        return self._core.epoch

    @property
    def is_leader(self) -> bool:
        return isinstance(self._core.state, Leader)

    @property
    def high_watermark(self) -> int:
        """Everything below is committed, and in the log or in its snapshot."""
        return self._high_watermark

    @property
    def start_offset(self) -> int:
        """Where the log begins; what was before is in the snapshot."""
        return self.log.start_offset

    @property
    def end_offset(self) -> int:
        """Where the next record will be."""
        return self.log.end_offset

    @property
    def in_touch(self) -> bool:
        """Whether all is known to be committed that the present leader vouches for."""
        state = self._core.state
        if isinstance(state, Leader):
            return self.high_watermark > state.epoch_start
        return isinstance(state, Follower) and 0 <= self._responses.told(state.epoch) <= self.high_watermark

    @property
    def busy_s(self) -> float:
        """Seconds spent with steps of the core, and with flushes on the event loop."""
        return self._turns.busy_s

    def note_refusal(self, refusal: Refusal, host: str) -> None:
        """Log and count a request from ``host`` that was refused before it came to ``answer``."""
        self._complaints.refused(refusal, host)
        if self._refused.listeners:
            self._refused.emit(RequestRefused(*self._refused.now(), refusal))

    async def change(self, leader_id: int | None, epoch: int) -> None:
        """Return once this is no longer who leads. The caller puts the bound on the wait."""
        while (self.leader_id, self.epoch) == (leader_id, epoch):
            await self._changed.wait()

    async def ask(self, request: Request, max_bytes: int = MAX_FETCH_BYTES) -> Question:
        """Put a request of a peer to the core; what it says comes from ``Question.answer``."""
        question = self._questions.add(max_bytes)
        try:
            await self._turns.report(RequestReceived(question.number, request))
        except trio.Cancelled:
            self._questions.withdraw(question)
            raise
        return question

    # The roles.

    async def run(self, lead: Lead, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take part in the quorum until cancelled; started once events are taken.

        While this node leads, ``lead(epoch)`` runs beside, and is cancelled when the leadership ends.

        Resource handling: this lets go of the log when it ends. After ``shut_down`` the log is closed; else it is left
        as it is on disk, as by kill -9.

        Error handling: OSError ends it. After a failed fsync nobody knows what is on disk, so nothing more is written
        or answered: whoever runs this must let the node stop. So does StorageError, where going on would risk the log.
        """
        let_go = self.log.abandon
        try:
            async with trio.open_nursery() as nursery:
                for number, peer in self._peers.items():
                    nursery.start_soon(peer.run, name=f"peer {number}")
                nursery.start_soon(self._flusher.run, self._turns.report, name="flusher")
                nursery.start_soon(self._snapshot_check.run, self._judged, name="snapshot check")
                if await self._turns.carry_on():
                    self._announce()
                task_status.started()
                while True:
                    role = Role.of(self._core.state)
                    if self._role_began.listeners:
                        began = RoleBegan(*self._role_began.now(), str(role), role.epoch, role.leader_id)
                        self._role_began.emit(began)
                    async with trio.open_nursery() as scope:
                        scope.start_soon(self._play, role, scope.cancel_scope, name=str(role))
                        if role.kind is Leader:
                            scope.start_soon(lead, role.epoch, name=f"active controller of epoch {role.epoch}")
        except BaseException as error:
            if self._leaving and not self._turns.failed and not _of_disk(error):
                let_go = self.log.close
            raise
        finally:
            let_go()
            self._turns.raise_failure()  # the run was cancelled before the role came to that

    async def _play(self, role: Role, scope: trio.CancelScope) -> None:
        """See that the core is stepped for as long as it is in ``role``."""
        while Role.of(self._core.state) == role:
            if await self._turns.take():
                self._announce()
        scope.cancel(reason=f"no longer {role}")

    def _announce(self) -> None:
        """Let everybody look at what the core is now."""
        self._changed.set()
        self._changed = trio.Event()
        self._wake_readers()

    # Stepping the core.

    def _step(self, event: Event | None, data: bytes) -> None:
        """Step the core, with what was appended if ``event`` is None, and perform the effects or postpone them."""
        if event is None:
            event = LogAppended(self.log.end_offset, self.epoch)
        if isinstance(event, LogTrimmed) and event.snapshot.end_offset < self.log.start_offset:
            return  # a snapshot of the leader has taken the place of the log meanwhile
        if isinstance(event, ResponseReceived):
            event = self._responses.proved(event, data)
        elif isinstance(event, ShutDown):
            self._leaving = True
        effects = self._core.step(trio.current_time(), event)
        if isinstance(event, ResponseReceived):
            self._responses.hear(event, self.state)
        self._turns.deadline = effects.deadline
        if effects.transitions:
            self._turns.has_turned = True
            self._turns.has_followers = self.is_leader and len(self.identity.voters) > 1
        self._tell(effects)
        cuts = effects.truncate is not None or effects.install is not None or isinstance(event, LogTrimmed)
        if cuts or effects.election is not None:
            self._turns.postpone(functools.partial(self._perform_postponed, event, effects, data))
        else:
            self._perform(effects, data)

    async def _perform_postponed(self, event: Event, effects: Effects, data: bytes) -> None:
        """Write what must be durable first, or cut the log, and perform the rest of the effects."""
        if effects.election is not None:
            await self._world.in_thread(self._election_file.write, effects.election)
            self._turns.follow(ElectionStateWritten(effects.election))
        if isinstance(event, LogTrimmed):
            async with self._flusher.lock:
                self.log.trim(event.snapshot)
        if effects.truncate is not None or effects.install is not None:
            async with self._flusher.lock:
                if effects.truncate is not None:
                    self.log.truncate(effects.truncate)
                if effects.install is not None:
                    self.log.install(effects.install)
            self._flusher.want()
        self._perform(effects, data)

    def _owes_no_word(self) -> bool:
        """Whether the others know that this node does not lead."""
        state = self.state
        return not (isinstance(state, Leader) or (isinstance(state, Resigned) and state.unacknowledged))

    # Effects.

    def _perform(self, effects: Effects, data: bytes) -> None:
        """Do what the core says, in its order, but for what ``_perform_postponed`` does before."""
        if isinstance(effects.append, LeaderChange):
            began = self._world.seconds()
            self.log.append_leader_change(effects.append, self._world.clock.now_ms())
            self._tell_of_growth(began)
        elif effects.append is not None:
            opens_epoch = effects.append.runs[-1].epoch > self.log.last_epoch
            self.log.append_fetched(data, effects.append, self._world.clock.now_ms())
            if opens_epoch:
                self._complaints.look_for_other_voters(data, self.epoch)
        if effects.flush:
            self._flusher.want()
        if effects.store is not None and not self._snapshot_check.store(effects.store, data):
            self._turns.follow(SnapshotRejected(effects.store.snapshot))
        if effects.replies:
            self._questions.settle(effects.replies)
            self._turns.has_replied = True
        for send in effects.sends:
            self._peers[send.to].send(send)
        if effects.high_watermark is not None:
            self._high_watermark = effects.high_watermark
            self._wake_readers()
        if self._leaving and self._owes_no_word():
            self._left.set()

    def _tell(self, effects: Effects) -> None:
        """Say what happened and why, in the log and to whoever keeps count of it."""
        for verdict in effects.verdicts:
            self._complaints.judged(verdict)
        for transition in effects.transitions:
            logger.info("%s", transition)
        if self._stepped.listeners:
            self._stepped.emit(CoreStepped(*self._stepped.now(), effects))
        if effects.fatal is not None:
            raise StorageError(f"{self.log.directory}: {effects.fatal}; this node stops, to keep its log as it is")

    async def _judged(self, verdict: SnapshotStored | SnapshotRejected) -> None:
        leader_id = self.leader_id
        if leader_id is not None and leader_id in self._peers:
            asked = FetchSnapshotRequest(self.epoch, self.node_id, verdict.snapshot, 0)
            self._responses.judge(verdict, leader_id, asked)
        await self._turns.report(verdict)

    # Appending.

    def encode(self, records: Sequence[Any], epoch: int) -> Unit:
        """Make metadata records what the leader of ``epoch`` appends next, as one unit.

        Nothing else may be appended before that, so there is no checkpoint between. Raises NotLeader, and KafkaError
        RECORD_LIST_TOO_LARGE for a record that fits in no batch.
        """
        if not self.is_leader or self.epoch != epoch:
            raise NotLeader
        return self.log.encode(records, epoch, self._world.clock.now_ms())

    def append(self, unit: Unit) -> int:
        """Append what ``encode`` made; return the offset of the last record.

        They are in the log when this returns, and may be committed already; wait for ``committed`` before anyone hears
        of them. Raises OSError if they cannot be written. What fails after that ends ``run``.
        """
        began = self._world.seconds()
        self.log.append(unit)
        self._tell_of_growth(began)
        return self.log.end_offset - 1

    def _tell_of_growth(self, began: float) -> None:
        if not self._turns.has_grown:
            self.appended_at = began
        self._turns.report_growth()

    async def resign(self, epoch: int) -> None:
        """Give up the leadership of ``epoch``, if this node has it."""
        await self._turns.report(Resign(epoch))

    async def shut_down(self) -> None:
        """Take no part in elections any more; a leader resigns, and this waits until the others know.

        The caller puts the bound on the wait.
        """
        await self._turns.report(ShutDown())
        await self._left.wait()

    # Reading what is committed.

    def _wake_readers(self) -> None:
        self._advanced.set()
        self._advanced = trio.Event()

    async def committed(self, offset: int) -> None:
        """Return once the record at ``offset`` is committed. The caller puts the bound on the wait."""
        while self.high_watermark <= offset:
            await self._advanced.wait()

    async def committed_as_leader(self, offset: int, epoch: int) -> None:
        """Return once the record at ``offset``, which this node appended in ``epoch``, is committed.

        Raises NotLeader if the leadership ends before; what becomes of the record, nobody here can say.
        """
        while self.is_leader and self.epoch == epoch:
            if self.high_watermark > offset:
                return
            await self._advanced.wait()
        raise NotLeader

    # Snapshots.

    async def snapshot_created(self, snapshot: SnapshotId) -> None:
        """Tell the core that this node wrote a snapshot, which followers may be given now."""
        await self._turns.report(SnapshotCreated(snapshot))

    async def trim(self, snapshot: SnapshotId) -> None:
        """Delete what a snapshot covers from the start of the log."""
        await self._turns.report(LogTrimmed(snapshot))


def _of_disk(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(map(_of_disk, error.exceptions))
    return isinstance(error, OSError | StorageError)
