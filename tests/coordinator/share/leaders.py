"""A simulated leader of a partition, with the share partition of one group. Its core is the real one.

It loads, writes and ends locks as ``kraft.coordination.share_partitions`` does. ``counts`` and ``holders`` are what the
leader should know of each record: its deliveries, and who holds it until when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from kraft.broker.share.partition import RENEW, Acknowledgement, Acquired, Acquisition, SharePartition
from kraft.broker.share.runs import RecordState, ShareTransition, StateChange
from kraft.coordinator.share.core import ShareStateRequest
from kraft.coordinator.share.state import NO_START_OFFSET
from kraft.messages import read_share_group_state_request as read_request
from kraft.messages import write_share_group_state_request as write_request
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordinator.world import SimulatedClient

if TYPE_CHECKING:
    from tests.coordinator.share.topic_partition import SharedTopicPartition
    from tests.coordinator.share.world import SharedWorld

REQUEST_TIMEOUT_S = 30.0
RETRIED = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}
FENCING = {
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.FENCED_STATE_EPOCH,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
"""After these errors the state is loaded again."""

Ended = Callable[[ErrorCode], object]


class StateCall(SimulatedClient["SharedWorld"]):
    """A request to the share coordinator, sent again until its time-out (``kraft.coordination.share_channel``)."""

    def __init__(self, world: SharedWorld, request: ShareStateRequest, done: Callable[[Any], object]) -> None:
        super().__init__(world)
        self.request, self.done = request, done
        self.until = world.now + REQUEST_TIMEOUT_S
        world.calls.append(self)
        self.send()

    def act(self) -> None:
        """Send the request again, or give it up."""
        if self.world.now >= self.until:
            self.end(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            self.send()

    def send(self) -> None:
        self.disconnect()
        key = self.request.share_partition.coordinator_key
        delay = self.world.random.choice([0, 0, self.world.random.randint(0, 100)])
        self.world.send(key, self.request, 0, self.expect(self.answered), self, delay=delay)

    def answered(self, result: Any) -> None:
        code = ErrorCode(result.error_code)
        if code is ErrorCode.NONE:
            self.end(result)
        elif code not in RETRIED:
            self.end(KafkaError(code))

    def end(self, outcome: Any) -> None:
        """End with a result or a KafkaError. A request that was given up is lost with its connection."""
        self.disconnect()
        self.is_done = True
        self.world.calls.remove(self)
        self.done(outcome)


@attrs.define(eq=False)
class PendingWrite:
    """``member_id`` is the holder of the records with a transition."""

    changes: list[StateChange]
    ended: Ended
    transition: ShareTransition | None = None
    member_id: str = ""


class ShareLeader:
    """``is_current`` is false once the leader has noticed that it was replaced. ``core`` is None until it is loaded."""

    def __init__(self, partition: SharedTopicPartition, epoch: int) -> None:
        self.partition, self.epoch = partition, epoch
        self.world = partition.world
        self.is_current = True
        self.is_loading = self.is_writing = False
        self.core: SharePartition | None = None
        self.writes: list[PendingWrite] = []
        self.counts: dict[int, int] = {}
        self.holders: dict[int, tuple[str, float]] = {}

    def __repr__(self) -> str:
        return f"leader {self.partition.index} in epoch {self.epoch}"

    # Loading.

    def load(self) -> None:
        if not self.is_loading and self.is_current:
            self.is_loading = True
            data = read_request.PartitionData(self.partition.index, self.epoch)
            StateCall(self.world, ShareStateRequest(self.partition.key, data), self.loaded)

    def loaded(self, state: Any) -> None:
        self.is_loading = False
        if isinstance(state, KafkaError) or not self.is_current:
            self.world.note(self, "cannot load", state)
            return
        start_offset = state.start_offset
        if start_offset == NO_START_OFFSET:
            start_offset = self.partition.log_start  # share.auto.offset.reset=earliest
        core = SharePartition(lambda: self.world.settings, start_offset, state.state_epoch)
        changes = [StateChange(*_fields(each)) for each in state.state_batches]
        core.load(changes)
        core.move_start(self.partition.log_start)
        self.core = core
        self.holders.clear()
        self.counts = {
            offset: change.delivery_count
            for change in changes
            for offset in range(change.first_offset, change.last_offset + 1)
        }
        self.world.note(self, "loads", start_offset, state.state_epoch, changes)

    def drop(self) -> None:
        """Forget the share partition. A leader that still leads loads it again."""
        self.is_current = False
        self.partition.dropped(self)

    # Members.

    def fetch(self, member_id: str) -> list[Acquired]:
        """Return what a member acquires now."""
        core = self.core
        if core is None:
            self.load()
            return []
        core.move_start(self.partition.log_start)
        random = self.world.random
        offset = core.next_fetch_offset()
        batches = self.partition.read(offset)
        if not core.can_acquire or not batches:
            return []
        most = random.randint(1, self.world.settings.max_in_flight)
        batches = [each for each in batches if each.first < offset + most][: random.randint(1, 4)] or batches[:1]
        wanted = Acquisition(
            member_id,
            offset,
            [(each.first, each.last) for each in batches],
            most,
            batch_size=random.randint(1, 5),
            keeps_limit=random.random() < 0.3,
            aborted=[(each.first, each.last) for each in batches if each.is_aborted],
        )
        acquired = core.acquire(self.world.now, wanted)
        self.partition.delivered(self, member_id, acquired)
        return acquired

    def acknowledge(self, member_id: str, batches: Sequence[Acknowledgement]) -> None:
        if self.core is None:
            return
        try:
            transition = self.core.acknowledge(self.world.now, member_id, batches)
        except KafkaError as refused:
            self.partition.acknowledged(self, refused.code, [])
            return
        for offset in offsets_of(transition.changes):
            holder = self.holders.get(offset, ("", 0.0))[0]
            self.world.require(holder == member_id, "OneHolder", (self, offset, holder, member_id))
        for batch in batches:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                kind = batch.types[0] if len(batch.types) == 1 else batch.types[offset - batch.first_offset]
                if kind == RENEW and offset in self.holders:
                    self.holders[offset] = member_id, self.world.now + self.world.settings.lock_duration_s
        ended = lambda code: self.partition.acknowledged(self, code, transition.changes)  # noqa: E731
        self.write(PendingWrite(transition.changes, ended, transition, member_id))

    def release(self, member_id: str) -> None:
        """The session of a member ends."""
        if self.core is not None:
            transition = self.core.release(member_id)
            self.write(PendingWrite(transition.changes, lambda code: None, transition, member_id))

    def expire(self) -> None:
        if self.core is not None and self.core.deadline <= self.world.now:
            self.write(PendingWrite(self.core.expire(self.world.now), lambda code: None))
            self.world.require(self.core.deadline > self.world.now, "DeadlinesMove", self.core.deadline)

    def check_locks(self) -> None:
        for run in [] if self.core is None else self.core.runs:
            is_held = run.state is RecordState.ACQUIRED and run.transition is None
            self.world.require(not is_held or run.locked_until > self.world.now, "LocksEnd", (self, run))

    # Writes.

    def write(self, pending: PendingWrite) -> None:
        if not pending.changes:
            pending.ended(ErrorCode.NONE)
            return
        self.writes.append(pending)
        if not self.is_writing:
            self.is_writing = True
            self.write_next()

    def write_next(self) -> None:
        """Write all changes that wait, in one request."""
        core = self.core
        assert core is not None
        sent, self.writes = self.writes, []
        if not sent:
            self.is_writing = False
            return
        if not self.is_current:
            self.written(core, sent, KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
            return
        data = write_request.PartitionData(
            self.partition.index,
            core.state_epoch,
            self.epoch,
            core.start_offset,
            core.delivery_complete_count,
            [write_request.StateBatch(*change) for each in sent for change in each.changes],
        )
        self.world.note(self, "writes from", core.start_offset, [tuple(c) for each in sent for c in each.changes])
        request = ShareStateRequest(self.partition.key, data)
        StateCall(self.world, request, lambda outcome: self.written(core, sent, outcome))

    def written(self, core: SharePartition, sent: list[PendingWrite], outcome: Any) -> None:
        code = outcome.code if isinstance(outcome, KafkaError) else ErrorCode.NONE
        if code is not ErrorCode.NONE:
            self.world.note(self, "cannot write:", code.name)
        for each in sent:
            if each.transition is not None:
                core.finish(self.world.now, each.transition, committed=code is ErrorCode.NONE)
                if code is ErrorCode.NONE:
                    self.free(each)
            each.ended(code)
        if code in FENCING and self.is_current:
            self.world.counts["fenced writes"] += 1
            self.drop()
        self.write_next()

    def free(self, written: PendingWrite) -> None:
        """The holder of these records has answered."""
        for offset in offsets_of(written.changes):
            if self.holders.get(offset, ("", 0.0))[0] == written.member_id:
                del self.holders[offset]


def offsets_of(changes: Iterable[StateChange]) -> list[int]:
    return [offset for each in changes for offset in range(each.first_offset, each.last_offset + 1)]


def _fields(batch: Any) -> tuple[int, int, int, int]:
    return batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count
