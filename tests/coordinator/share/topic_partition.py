"""A topic partition of the world of shared records: its log, its leaders, and what happened to each record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from kraft.broker.share.partition import Acquired
from kraft.broker.share.runs import RecordState, StateChange
from kraft.coordinator.share.core import ShareCoordinator
from kraft.coordinator.share.state import NO_EPOCH, NO_START_OFFSET, SharePartitionKey
from kraft.messages import initialize_share_group_state_request as initialize_request
from kraft.messages import read_share_group_state_request as read_request
from kraft.messages import read_share_group_state_response as read_response
from kraft.messages import write_share_group_state_request as write_request
from kraft.wire.errors import ErrorCode
from tests.coordinator.share.leaders import ShareLeader, offsets_of

if TYPE_CHECKING:
    from tests.coordinator.share.world import SharedWorld

GROUP, TOPIC = "g", UUID(int=1)
TERMINAL = (2, 4)


@attrs.frozen(eq=False)
class Batch:
    """A batch of the log."""

    first: int
    last: int
    is_aborted: bool


class SharedTopicPartition:
    """One topic partition: its log, its leaders, and what happened to its records.

    ``records`` is the model of the committed state: the deliveries and the state of each record.
    """

    def __init__(self, world: SharedWorld, index: int) -> None:
        self.world, self.index = world, index
        self.key = SharePartitionKey(GROUP, TOPIC, index)
        self.batches: list[Batch] = []
        self.log_start = self.log_end = 0
        self.leaders = [ShareLeader(self, 1)]
        self.is_initializing = False
        self.state_epoch = self.leader_epoch = -1
        self.start_offset = self.first_offset = NO_START_OFFSET
        self.records: dict[int, tuple[int, int]] = {}
        self.deliveries: Counter[tuple[int, int]] = Counter()
        self.accepted_in: dict[tuple[int, int], int] = {}
        """By state epoch and offset: the leader epoch in which a member was answered that its record is accepted."""

    @property
    def leader(self) -> ShareLeader:
        return self.leaders[-1]

    # The log.

    def produce(self) -> None:
        random = self.world.random
        first = self.log_end + random.choice([0, 0, 0, 2])
        last = first + random.randint(0, 5)
        self.batches.append(Batch(first, last, random.random() < 0.1))
        self.log_end = last + 1
        self.world.note("partition", self.index, "has", (first, last))

    def read(self, offset: int) -> list[Batch]:
        return [each for each in self.batches if each.last >= offset]

    def compact(self) -> None:
        """Remove a batch."""
        if self.batches:
            self.batches.remove(gone := self.world.random.choice(self.batches))
            self.world.note("partition", self.index, "lost", (gone.first, gone.last))

    def move_log_start(self) -> None:
        if self.log_start < self.log_end:
            self.log_start = self.world.random.randint(self.log_start + 1, self.log_end)
            self.batches = [each for each in self.batches if each.last >= self.log_start]
            self.world.note("partition", self.index, "begins at", self.log_start)

    def has(self, offset: int) -> bool:
        """Return whether members may see a record at an offset."""
        return offset >= self.log_start and any(
            each.first <= offset <= each.last and not each.is_aborted for each in self.batches
        )

    @property
    def is_finished(self) -> bool:
        """Whether all records are at their end."""
        core = self.leader.core
        return core is not None and not any(map(self.has, range(core.start_offset, self.log_end)))

    # Leaders.

    def elect(self) -> None:
        """Elect another leader. The one before may serve members until it notices."""
        old = self.leader
        if self.world.random.random() < 0.5:
            old.is_current = False
        self.leaders = [old, ShareLeader(self, old.epoch + 1)] if old.is_current else [ShareLeader(self, old.epoch + 1)]
        self.world.counts["leader moves"] += 1
        self.world.note(self.leader, "is elected")

    def notice(self) -> None:
        """The former leader learns of its successor."""
        for old in self.leaders[:-1]:
            old.is_current = False
        del self.leaders[:-1]

    def dropped(self, leader: ShareLeader) -> None:
        if leader in self.leaders:
            self.leaders[self.leaders.index(leader)] = ShareLeader(self, leader.epoch)

    # What happened.

    def delivered(self, leader: ShareLeader, member_id: str, acquired: Iterable[Acquired]) -> None:
        world, core = self.world, leader.core
        assert core is not None
        for each in acquired:
            world.note(leader, "delivers", tuple(each), "to", member_id)
            for offset in range(each.first_offset, each.last_offset + 1):
                where = f"{leader}, offset {offset}"
                counted = leader.counts.get(offset, 0) + 1
                leader.counts[offset] = each.delivery_count
                world.require(each.delivery_count <= world.settings.max_deliveries, "DeliveryLimit", where)
                world.require(each.delivery_count == counted, "CountsAreKept", (where, each, counted))
                holder, until = leader.holders.get(offset, ("", 0.0))
                world.require(until <= world.now, "OneHolder", (where, holder, until, member_id))
                leader.holders[offset] = member_id, world.now + world.settings.lock_duration_s
                world.require(offset >= core.start_offset, "StartAdvances", where)
                is_aborted = any(batch.first <= offset <= batch.last and batch.is_aborted for batch in self.batches)
                world.require(not is_aborted, "AbortedIsNotDelivered", where)
                identity = core.state_epoch, offset
                accepted_in = self.accepted_in.get(identity)
                is_new = accepted_in is None or leader.epoch < accepted_in
                world.require(is_new, "AcceptedIsFinal", (where, accepted_in))
                self.deliveries[identity] += 1
        world.counts["deliveries"] += bool(acquired)

    def acknowledged(self, leader: ShareLeader, code: ErrorCode, changes: Iterable[StateChange]) -> None:
        """A member is answered. Below the start offset its outcomes change nothing, and are no error."""
        core = leader.core
        assert core is not None
        self.world.counts["acknowledgements" if code is ErrorCode.NONE else "refused acknowledgements"] += 1
        if code is ErrorCode.NONE:
            self.world.note(leader, "acknowledged", [tuple(each) for each in changes])
            for change in changes:
                if change.state == RecordState.ACKNOWLEDGED:
                    for offset in offsets_of([change]):
                        self.accepted_in.setdefault((core.state_epoch, offset), leader.epoch)

    # The model of the committed state.

    def committed(self, data: Any) -> None:
        """The records of a request are committed."""
        match data:
            case initialize_request.PartitionData():
                self.world.require(data.state_epoch >= self.state_epoch, "StaleWritesAreFenced", data)
                self.state_epoch, self.start_offset = data.state_epoch, data.start_offset
                self.first_offset = data.start_offset
                self.records = {}
            case read_request.PartitionData():
                self.world.require(data.leader_epoch >= self.leader_epoch, "StaleWritesAreFenced", data)
                self.leader_epoch = data.leader_epoch
            case write_request.PartitionData():
                is_fenced = NO_EPOCH != data.leader_epoch < self.leader_epoch or data.state_epoch < self.state_epoch
                self.world.require(not is_fenced, "StaleWritesAreFenced", (data, self.leader_epoch, self.state_epoch))
                self.write(data)

    def write(self, data: write_request.PartitionData) -> None:
        self.world.require(data.start_offset >= self.start_offset, "StartAdvances", (data, self.start_offset))
        for each in data.state_batches:
            for offset in range(each.first_offset, each.last_offset + 1):
                known = self.records.get(offset, (-1, -1))
                self.records[offset] = max(known, (each.delivery_count, each.delivery_state))
        if self.start_offset == NO_START_OFFSET:
            self.first_offset = self.start_offset = 0
        for offset in range(self.start_offset, data.start_offset):
            deliveries, state = self.records.pop(offset, (0, 0))
            is_spent = self.deliveries[self.state_epoch, offset] >= self.world.settings.max_deliveries
            is_ended = state in TERMINAL or is_spent or not self.has(offset)
            self.world.require(is_ended, "NothingIsSkipped", (self.index, offset, deliveries, state, data))
        self.start_offset = data.start_offset
        self.records = {offset: each for offset, each in self.records.items() if offset >= self.start_offset}

    def check_read(self, result: read_response.PartitionResult) -> None:
        found = result.state_epoch, result.start_offset, _by_offset(result.state_batches)
        known = self.state_epoch, self.start_offset, self.records
        self.world.require(found == known, "AnsweredIsCommitted", (found, known))

    def check_replay(self, core: ShareCoordinator) -> None:
        entry = core.entries.get(self.key)
        if entry is None:
            self.world.require(self.state_epoch == -1, "ReplayIsLive", "a state is lost")
            return
        found = entry.state_epoch, entry.state.start_offset, _by_offset(entry.state.batches)
        known = self.state_epoch, self.start_offset, self.records
        self.world.require(found == known, "ReplayIsLive", (found, known))


def _by_offset(batches: Iterable[Any]) -> dict[int, tuple[int, int]]:
    return {
        offset: (each.delivery_count, each.delivery_state)
        for each in batches
        for offset in range(each.first_offset, each.last_offset + 1)
    }
