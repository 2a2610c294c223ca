"""A simulated node: a driver around one real core, as the node's own driver is, with a simulated disk under it.

It takes one event at a time. While it writes its election state, or stands still, events wait in a queue. What it
remembers when it is killed is what its disk kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from kraft.raft.core import RaftCore
from kraft.raft.events import (
    Effects,
    ElectionStateWritten,
    Event,
    LeaderChange,
    LogAppended,
    LogFlushed,
    RequestReceived,
    Resign,
    ShutDown,
    Timeout,
)
from kraft.raft.messages import LogSlice
from kraft.raft.state import Leader
from kraft.simulation import mail
from kraft.simulation.chance import Chance
from kraft.simulation.disk import Append, Cut, Disk, Entry, Reset
from kraft.simulation.machine import StateMachine
from kraft.simulation.plan import LONGEST_DELAY_S

if TYPE_CHECKING:
    from kraft.simulation.world import World

_MAX_BACKLOG = 10_000


class SimulatedNode:
    """One node. ``up`` while its process lives, ``paused`` while that stands still."""

    def __init__(self, world: World, node_id: int) -> None:
        knobs = world.knobs
        self.world = world
        self.node_id = node_id
        self.chance = Chance(world.seed, f"node {node_id}")
        self.clock_offset = self.chance.between(0, 1000)
        self.clock_rate = 1 + knobs.clock_skew * self.chance.between(-1, 1)
        self.disk = Disk()
        self.slow_until = 0.0
        self.fail_next_fsync = False
        self.dies_in_fsync_for: float | None = None
        self.life = 0
        self.up = False
        self.paused = False
        self._forget()

    def _forget(self) -> None:
        """Nothing outside of the disk outlives the process."""
        self.writing = False
        self.flushing = False
        self.flush_again = False
        self.performing = False
        self.stopping = False
        self.backlog: deque[tuple[Event, Any]] = deque()
        self.effects: deque[tuple[Effects, Any]] = deque()
        self.callers: dict[int, mail.Caller] = {}
        self.requests = 0
        self.timer_at = float("inf")
        self.machine = StateMachine(self)

    # Life and death.

    def start(self) -> None:
        """Boot from the disk. One whose disk is damaged says so and does not."""
        if self.up or self.disk.rotten:
            return
        self._forget()
        self.life += 1
        self.up, self.paused = True, False
        log = self.disk.recover()
        if log.snapshot is not None:
            self.machine.load(log.snapshot)
            self.world.history.on_snapshot(self, log.snapshot, self.machine.state)
        voters = self.world.voters
        self.core = RaftCore(
            self.node_id,
            voters,
            self.disk.election,
            log,
            self.now(),
            jitter=self.chance.random,
            timing=self.world.knobs.timing,
        )
        self.world.monitor.on_start(self)
        self.world.history.on_disk_changed()
        self._step(Timeout(), None, expect_progress=False)

    def kill(self, *, keep_unsynced: bool = True) -> None:
        """Pull the plug."""
        if not self.up:
            return
        self.up = False
        if self.writing and self.chance.happens(0.5):
            self._store_election()
        if keep_unsynced:
            if self.disk.lose_power(self.chance):
                self.world.cover("torn write")
        else:
            self.disk.forget_unsynced()
        self.world.monitor.on_kill(self)
        self.world.history.on_disk_changed()

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        if self.up and self.paused:
            self.paused = False
            self._catch_up()

    def now(self) -> float:
        """The time as this node's clock has it."""
        return self.clock_offset + self.world.now * self.clock_rate

    # Events in.

    def receive(self, life: int, event: Event, payload: Any = None) -> None:
        """Take in an event, now or when the node is free again. One that was meant for an earlier life is dropped."""
        if not self.up or life != self.life:
            return
        if self.writing or self.paused or self.performing:
            if len(self.backlog) < _MAX_BACKLOG:
                self.backlog.append((event, payload))
            return
        self._step(event, payload)

    def receive_request(self, caller: mail.Caller) -> None:
        if not self.up or len(self.backlog) >= _MAX_BACKLOG:
            return
        self.requests += 1
        self.callers[self.requests] = caller
        self.receive(self.life, RequestReceived(self.requests, caller.request))

    def _catch_up(self) -> None:
        while self.backlog and self.up and not (self.writing or self.paused):
            self._step(*self.backlog.popleft())
        self._set_timer()

    def _step(self, event: Event, payload: Any, *, expect_progress: bool = True) -> None:
        now = self.now()
        before = self.core.state
        effects = self.core.step(now, event)
        self.deadline = effects.deadline
        if expect_progress and isinstance(event, Timeout):
            assert effects.deadline > now, "an expired deadline must move"
        self.world.note(type(event).__name__, self, event)
        self.world.monitor.after_step(self, before, event, effects)
        self.effects.append((effects, payload))
        self._perform()
        if self.up and not (self.effects or self.writing or self.performing):
            self.world.monitor.after_effects(self)
        self._set_timer()

    def _set_timer(self) -> None:
        if not self.up or self.deadline == float("inf"):
            return
        at = max((self.deadline - self.clock_offset) / self.clock_rate, self.world.now) + 1e-6
        if at < self.timer_at:
            self.timer_at = at
            self.world.call_at(at, self._timer_fired, self.life, at)

    def _timer_fired(self, life: int, at: float) -> None:
        if not self.up or life != self.life or at != self.timer_at:
            return
        self.timer_at = float("inf")
        if self.writing or self.paused:
            return  # what ends that sets the timer anew
        if self.now() >= self.deadline:
            self._step(Timeout(), None)
        else:
            self._set_timer()

    # Effects out.

    def _perform(self) -> None:
        if self.performing or self.writing:
            return
        self.performing = True
        while self.effects and self.up:
            effects, payload = self.effects.popleft()
            if effects.fatal is not None:
                raise AssertionError(effects.fatal)
            if effects.election is not None:
                self.effects.appendleft((attrs.evolve(effects, election=None), payload))
                self._begin_election_write(effects)
                break
            self._change_log(effects, payload)
            for reply in effects.replies:
                mail.reply(self, reply)
            for send in effects.sends:
                mail.send(self, send)
            if effects.high_watermark is not None:
                self.machine.apply_committed()
        self.performing = False
        if not self.writing and self.backlog and not self.paused:
            self._catch_up()

    def _begin_election_write(self, effects: Effects) -> None:
        assert effects.election is not None
        self.writing, self.writing_election = True, effects.election
        self._die_if_doomed()
        self.world.call_at(self.world.now + self.fsync_time(), self._election_written, self.life)

    def _election_written(self, life: int) -> None:
        if not self.up or life != self.life:
            return
        if self._fsync_fails():
            return
        self._store_election()
        self.writing = False
        self._step(ElectionStateWritten(self.writing_election), None)
        self._catch_up()

    def _store_election(self) -> None:
        self.disk.election = self.writing_election
        self.world.monitor.on_election_stored(self)

    def _change_log(self, effects: Effects, payload: Any) -> None:
        disk = self.disk
        if effects.truncate is not None:
            self.world.history.before_truncation(self, effects.truncate)
            disk.write(Cut(effects.truncate))
            self.world.history.check_epochs(self)
        if effects.install is not None:
            disk.write(Reset(effects.install))
            self.machine.load(effects.install)
            self._request_flush()
        match effects.append:
            case LeaderChange(epoch=epoch):
                self._append((Entry(epoch, -epoch),), epoch)
            case LogSlice(base_offset=base):
                entries = payload
                self.world.history.on_append(self, base, entries)
                disk.write(Append(entries))
        if effects.flush:
            self._request_flush()
        if effects.store is not None:
            self.machine.store(effects.store, payload)

    def _append(self, entries: tuple[Entry, ...], epoch: int) -> None:
        self.world.history.on_append(self, self.disk.log.end, entries)
        self.disk.write(Append(entries))
        self._step(LogAppended(self.disk.log.end, epoch), None)

    def propose(self, values: Sequence[int]) -> bool:
        """Append values as one batch, if this node takes itself for the leader; return whether it does."""
        if not self.up or self.paused or self.writing or not isinstance(self.core.state, Leader):
            return False
        self._append(tuple(Entry(self.core.epoch, value) for value in values), self.core.epoch)
        return True

    # The disk.

    def fsync_time(self) -> float:
        """How long the disk takes this time."""
        knobs = self.world.knobs
        stalls = self.chance.happens(knobs.stall) and not self.world.faults_over
        slow = 100.0 if stalls or self.world.now < self.slow_until else 1.0
        return min(knobs.fsync_s * self.chance.between(0.5, 2.0) * slow, LONGEST_DELAY_S)

    def _fsync_fails(self) -> bool:
        """After a failed fsync nobody knows what is on disk: the node stops, and what was not synced is gone."""
        if not self.fail_next_fsync:
            return False
        self.fail_next_fsync = False
        self.writing = False
        self.world.cover("failed fsync")
        self.kill(keep_unsynced=False)
        self.world.restart_later(self)
        return True

    def _die_if_doomed(self) -> None:
        if self.dies_in_fsync_for is not None:
            at = self.world.now + self.world.knobs.fsync_s * self.chance.random() / 2
            self.world.call_at(at, self._die, self.life, self.dies_in_fsync_for)
            self.dies_in_fsync_for = None

    def _die(self, life: int, duration: float) -> None:
        if self.up and life == self.life and not self.world.faults_over:
            self.world.cover("killed in fsync")
            self.kill()
            self.world.restart_later(self, duration)

    def _request_flush(self) -> None:
        if self.flushing:
            self.flush_again = True
            return
        self.flushing = True
        self._die_if_doomed()
        covered = (self.disk.written(), self.disk.log.end, self.core.log.truncations)
        self.world.call_at(self.world.now + self.fsync_time(), self._flushed, self.life, covered)

    def _flushed(self, life: int, covered: tuple[int, int, int]) -> None:
        if not self.up or life != self.life or self._fsync_fails():
            return
        written, end_offset, truncations = covered
        self.disk.sync(written)
        self.world.history.on_disk_changed()
        self.flushing = False
        self.receive(life, LogFlushed(end_offset, truncations))
        if self.up and (self.flush_again or self.chance.happens(self.world.knobs.idle_flush)):
            self.flush_again = False
            self._request_flush()

    # Orders.

    def resign(self) -> None:
        self.receive(self.life, Resign(self.core.epoch))

    def shut_down(self) -> None:
        self.stopping = True
        self.receive(self.life, ShutDown())
