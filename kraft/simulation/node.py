"""A simulated node: a driver around a real Raft core, which performs effects like the driver of a real node.

It handles one event at a time. While it writes its election state or is paused, events wait in a queue. After a kill
only the content of its disk is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import attrs

from kraft.raft.core import RaftCore
from kraft.raft.events import (
    ElectionStateWritten,
    Event,
    FetchedRecords,
    LeaderChange,
    LogAppended,
    LogFlushed,
    LogTrimmed,
    Reply,
    RequestReceived,
    Resign,
    ResponseReceived,
    Send,
    ShutDown,
    SnapshotCreated,
    SnapshotRejected,
    SnapshotStored,
    StoreChunk,
    Timeout,
)
from kraft.raft.messages import FetchRequest, SnapshotId
from kraft.raft.perform import perform
from kraft.raft.state import ElectionState, Leader
from kraft.simulation.disk import Append, Cut, Disk, Entry, Reset
from kraft.simulation.machine import StateMachine
from kraft.simulation.monitor import Monitor
from kraft.simulation.network import Caller, Network
from kraft.simulation.payload import filled
from kraft.simulation.plan import LONGEST_DELAY_S, Knobs
from kraft.simulation.random_stream import RandomStream

_MAX_BACKLOG = 10_000


class SimulatedNode:
    """One node. ``up`` while its process lives, ``paused`` while that process is stopped (SIGSTOP)."""

    def __init__(self, node_id: int, seed: int, knobs: Knobs, network: Network, monitor: Monitor) -> None:
        self.node_id = node_id
        self.knobs = knobs
        self.network = network
        self.timeline = network.timeline
        self.monitor = monitor
        self.history = monitor.history
        self.rng = RandomStream(seed, f"node {node_id}")
        self.clock_offset = self.rng.between(0, 1000)
        self.clock_rate = 1 + knobs.clock_skew * self.rng.between(-1, 1)
        self.disk = Disk()
        self.slow_until = 0.0
        self.fail_next_fsync = False
        self.dies_in_fsync_for: float | None = None
        self.life = 0
        self.up = False
        self.paused = False
        self._forget()

    def _forget(self) -> None:
        """Reset all state outside the disk: it does not survive the process."""
        self.writing = False
        self.flushing = False
        self.flush_again = False
        self.performing = False
        self.stopping = False
        self.backlog: deque[Event] = deque()
        self.performances: deque[Iterator[ElectionState]] = deque()
        self.callers: dict[int, Caller] = {}
        self.requests = 0
        self.timer_at = float("inf")
        self.machine = StateMachine(self.disk)

    # Start and stop.

    def start(self) -> None:
        """Start from the disk. Does nothing if the node is up or its disk is damaged."""
        if self.up or self.disk.rotten:
            return
        self._forget()
        self.life += 1
        self.up, self.paused = True, False
        log = self.disk.recover()
        if log.snapshot is not None:
            self.machine.load(log.snapshot)
            self.history.on_snapshot(self, log.snapshot, self.machine.state)
        self.core = RaftCore(
            self.node_id,
            self.history.voters,
            self.disk.election,
            log,
            self.now(),
            jitter=self.rng.random,
            timing=self.knobs.timing,
        )
        self.monitor.on_start(self)
        self.history.check_epochs(self)
        self.history.on_disk_changed()
        self._step(Timeout(), expect_progress=False)

    def kill(self, *, keep_unsynced: bool = True) -> None:
        """Kill the process, as a power failure does. Unsynced writes may survive if ``keep_unsynced``."""
        if not self.up:
            return
        self.up = False
        if self.writing and self.rng.happens(0.5):
            self._store_election()
        if keep_unsynced:
            if self.disk.lose_power(self.rng):
                self.timeline.cover("torn write")
        else:
            self.disk.forget_unsynced()
        self.monitor.on_kill(self)
        self.history.on_disk_changed()

    def restart_later(self, delay: float) -> None:
        """Start again after ``delay`` seconds, unless the liveness phase has started all nodes by then."""
        self.timeline.call_in(delay, self._restart)

    def _restart(self) -> None:
        if not self.timeline.faults_over:
            self.start()

    def renew(self) -> None:
        """Replace the disk of a stopped node by an empty one."""
        self.disk.wipe()
        self.monitor.forget(self.node_id)
        self.history.on_disk_changed()
        self.life += 1

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        if self.up and self.paused:
            self.paused = False
            self._catch_up()

    def now(self) -> float:
        """Return the time by this node's clock, in seconds."""
        return self.clock_offset + self.timeline.now * self.clock_rate

    # Events.

    def receive(self, life: int, event: Event) -> None:
        """Handle an event now, or queue it until the node is free. An event for an earlier life is dropped."""
        if not self.up or life != self.life:
            return
        if self.writing or self.paused or self.performing:
            if len(self.backlog) < _MAX_BACKLOG:
                self.backlog.append(event)
            return
        self._step(event)

    def receive_request(self, caller: Caller) -> None:
        if not self.up or len(self.backlog) >= _MAX_BACKLOG:
            return
        self.requests += 1
        self.callers[self.requests] = caller
        self.receive(self.life, RequestReceived(self.requests, caller.request))

    def _catch_up(self) -> None:
        while self.backlog and self.up and not (self.writing or self.paused):
            self._step(self.backlog.popleft())
        self._set_timer()

    def _step(self, event: Event, *, expect_progress: bool = True) -> None:
        now = self.now()
        before = self.core.state
        effects = self.core.step(now, event)
        self.deadline = effects.deadline
        if expect_progress and isinstance(event, Timeout):
            assert effects.deadline > now, "an expired deadline must move"
        self.timeline.note(type(event).__name__, self.node_id, self.core, event)
        self.monitor.after_step(self, before, event, effects)
        self.performances.append(perform(effects, self))
        self._perform()
        if self.up and not (self.performances or self.writing or self.performing):
            self.monitor.after_effects(self)
        self._set_timer()

    def _set_timer(self) -> None:
        if not self.up or self.deadline == float("inf"):
            return
        at = max((self.deadline - self.clock_offset) / self.clock_rate, self.timeline.now) + 1e-6
        if at < self.timer_at:
            self.timer_at = at
            self.timeline.call_at(at, self._timer_fired, self.life, at)

    def _timer_fired(self, life: int, at: float) -> None:
        if not self.up or life != self.life or at != self.timer_at:
            return
        self.timer_at = float("inf")
        if self.writing or self.paused:
            return  # The end of the write or of the pause sets the timer again.
        if self.now() >= self.deadline:
            self._step(Timeout())
        else:
            self._set_timer()

    # Effects.

    def _perform(self) -> None:
        if self.performing or self.writing:
            return
        self.performing = True
        while self.performances and self.up:
            performance = self.performances.popleft()
            election = next(performance, None)
            if election is not None:
                self.performances.appendleft(performance)
                self._begin_election_write(election)
                break
        self.performing = False
        if not self.writing and self.backlog and not self.paused:
            self._catch_up()

    def _begin_election_write(self, election: ElectionState) -> None:
        self.writing, self.writing_election = True, election
        self._schedule_death_in_fsync()
        self.timeline.call_in(self.fsync_time(), self._election_written, self.life)

    def _election_written(self, life: int) -> None:
        if not self.up or life != self.life:
            return
        if self._fsync_fails():
            return
        self._store_election()
        self.writing = False
        self._step(ElectionStateWritten(self.writing_election))
        self._catch_up()

    def _store_election(self) -> None:
        self.disk.election = self.writing_election
        self.monitor.on_election_stored(self)

    # The world that the core's effects change: ``kraft.raft.perform.EffectsWorld``.

    def stop(self, why: str) -> None:
        raise AssertionError(why)

    def truncate(self, end_offset: int) -> None:
        self.history.before_truncation(self, end_offset)
        self.disk.write(Cut(end_offset))
        self.history.check_epochs(self)

    def install(self, snapshot: SnapshotId) -> None:
        self.disk.write(Reset(snapshot))
        self.history.check_epochs(self)
        self.machine.load(snapshot)
        self.flush()

    def append(self, batches: LeaderChange | FetchedRecords) -> None:
        match batches:
            case LeaderChange(epoch=epoch):
                self._append((Entry(epoch, -epoch),), epoch)
            case FetchedRecords(records, entries):
                self.history.on_append(self, records.base_offset, entries)
                self.disk.write(Append(entries))

    def store(self, chunk: StoreChunk) -> None:
        """Store a chunk of a leader's snapshot. After the last one, check the snapshot and keep it if it is valid."""
        if chunk.last:
            sound, fetched = not self.rng.happens(0.1), (chunk.snapshot, chunk.payload)
            self.timeline.call_in(self._check_time(), self._snapshot_checked, self.life, *fetched, sound)

    def reply(self, replies: list[Reply]) -> None:
        for reply in replies:
            self._reply(reply)

    def send(self, sends: list[Send]) -> None:
        for send in sends:
            self._send(send)

    def flush(self) -> None:
        if self.flushing:
            self.flush_again = True
            return
        self.flushing = True
        self._schedule_death_in_fsync()
        covered = (self.disk.written(), self.disk.log.end, self.core.log.truncations)
        self.timeline.call_in(self.fsync_time(), self._flushed, self.life, covered)

    def commit(self, high_watermark: int) -> None:
        """Apply newly committed records, and begin a snapshot if there are enough of them."""
        machine = self.machine
        if machine.apply(high_watermark):
            self.history.on_applied(self, machine.applied, machine.state)
        snapshot = machine.begin_snapshot(self.core.log.snapshot, self.knobs.snapshot_interval)
        if snapshot is not None:
            self.timeline.call_in(self.fsync_time(), self._snapshot_written, self.life, snapshot, machine.state)

    def _append(self, entries: tuple[Entry, ...], epoch: int) -> None:
        self.history.on_append(self, self.disk.log.end, entries)
        self.disk.write(Append(entries))
        self._step(LogAppended(self.disk.log.end, epoch))

    def _send(self, send: Send) -> None:
        """Send a request of the core. A node of an older release leaves out the high watermark."""
        request = send.request
        self.monitor.on_sent(self, request.epoch)
        if isinstance(request, FetchRequest):
            self.history.on_fetch(self, request)
            if not self.knobs.knows_high_watermark:
                request = attrs.evolve(request, high_watermark=None)
        self.network.send_request(send.to, Caller(self.node_id, self.life, send.number, request))

    def _reply(self, reply: Reply) -> None:
        caller = self.callers.pop(reply.request_id)
        self.monitor.on_reply(self, caller.request, reply.response)
        response_and_payload = filled(caller.request, reply.response, self.disk, self.network.batch_limit)
        if response_and_payload is not None:  # Without a response, the peer sends its request again.
            response, payload = response_and_payload
            answer = ResponseReceived(caller.number, self.node_id, caller.request, response, payload)
            self.network.send_response(caller, answer)

    def propose(self, values: Sequence[int]) -> bool:
        """Append values as one batch if this node considers itself the leader. Return whether it did."""
        if not self.up or self.paused or self.writing or not isinstance(self.core.state, Leader):
            return False
        self._append(tuple(Entry(self.core.epoch, value) for value in values), self.core.epoch)
        return True

    # The disk.

    def fsync_time(self) -> float:
        """Draw the duration of one fsync, in seconds."""
        knobs = self.knobs
        stalls = self.rng.happens(knobs.stall) and not self.timeline.faults_over
        slow = 100.0 if stalls or self.timeline.now < self.slow_until else 1.0
        return min(knobs.fsync_s * self.rng.between(0.5, 2.0) * slow, LONGEST_DELAY_S)

    def _fsync_fails(self) -> bool:
        """Return whether the fsync fails. The content of the disk is then unknown, so the node stops and unsynced data
        is lost.
        """
        if not self.fail_next_fsync:
            return False
        self.fail_next_fsync = False
        self.writing = False
        self.timeline.cover("failed fsync")
        self.kill(keep_unsynced=False)
        self.restart_later(self.timeline.rng.between(0.1, 3))
        return True

    def _schedule_death_in_fsync(self) -> None:
        if self.dies_in_fsync_for is not None:
            delay = self.knobs.fsync_s * self.rng.random() / 2
            self.timeline.call_in(delay, self._die, self.life, self.dies_in_fsync_for)
            self.dies_in_fsync_for = None

    def _die(self, life: int, duration: float) -> None:
        if self.up and life == self.life and not self.timeline.faults_over:
            self.timeline.cover("killed in fsync")
            self.kill()
            self.restart_later(duration)

    def _flushed(self, life: int, covered: tuple[int, int, int]) -> None:
        if not self.up or life != self.life or self._fsync_fails():
            return
        written, end_offset, truncations = covered
        self.disk.sync(written)
        self.history.on_disk_changed()
        self.flushing = False
        self.receive(life, LogFlushed(end_offset, truncations))
        if self.up and (self.flush_again or self.rng.happens(self.knobs.idle_flush)):
            self.flush_again = False
            self.flush()

    # Snapshots.

    def _snapshot_written(self, life: int, snapshot: SnapshotId, state: int) -> None:
        if not self.up or life != self.life:
            return
        self.machine.pending = None
        self._keep_snapshot(snapshot, state)
        self.receive(life, SnapshotCreated(snapshot))
        log, busy = self.disk.log, self.writing or self.paused
        useful = log.start < snapshot.end_offset and log.holds(snapshot)
        if useful and not busy and self.rng.happens(0.7) and self.disk.trim(snapshot):
            self.timeline.cover("log trimmed")
            self.receive(life, LogTrimmed(snapshot))
            self.history.check_epochs(self)

    def _check_time(self) -> float:
        """Draw the duration of a snapshot check. During faults it may exceed several fetch timeouts."""
        longest = 0.0 if self.timeline.faults_over else self.knobs.check_s
        return self.fsync_time() + self.rng.between(0, longest)

    def _snapshot_checked(self, life: int, snapshot: SnapshotId, state: int, sound: bool) -> None:
        if not self.up or life != self.life:
            return
        if sound:
            self._keep_snapshot(snapshot, state)
            self.receive(life, SnapshotStored(snapshot))
        else:
            self.timeline.cover("snapshot rejected")
            self.receive(life, SnapshotRejected(snapshot))

    def _keep_snapshot(self, snapshot: SnapshotId, state: int) -> None:
        self.history.on_snapshot(self, snapshot, state)
        self.machine.keep(snapshot, state)

    # Commands.

    def resign(self) -> None:
        self.receive(self.life, Resign(self.core.epoch))

    def shut_down(self) -> None:
        self.stopping = True
        self.receive(self.life, ShutDown())
