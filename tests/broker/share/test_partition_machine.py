"""A share partition against a model that keeps one entry for each record.

KIP-932: a record is delivered to one consumer at a time, and at most as often as the limit allows; it is never lost.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kraft.broker.share.partition import (
    RENEW,
    Acknowledgement,
    Acquisition,
    SharePartition,
    SharePartitionSettings,
)
from kraft.broker.share.runs import RecordState, ShareTransition, StateChange
from kraft.wire.errors import KafkaError

MEMBERS = ("a", "b", "c")
LOCK_S = 10.0
MAX_DELIVERIES = 4
OUTCOMES = {0: "done", 1: "done", 2: "free", 3: "done"}


@attrs.define
class Model:
    """One record: ``free``, ``held`` or ``done``; its deliveries, its holder, and the outcome of its transition."""

    state: str = "free"
    deliveries: int = 0
    holder: str = ""
    until: float = 0.0
    pending: ShareTransition | None = None
    outcome: str = ""

    def expire(self, now: float) -> None:
        if self.state == "held" and self.pending is None and self.until <= now:
            self.leave("free")

    def leave(self, state: str) -> None:
        is_worn = state == "free" and self.deliveries >= MAX_DELIVERIES
        self.state, self.holder = "done" if is_worn else state, ""


class SharePartitionMachine(RuleBasedStateMachine):
    """The log has batches of records, some of which compaction has removed."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.settings = SharePartitionSettings(MAX_DELIVERIES, LOCK_S, max_in_flight=12)
        self.partition = SharePartition(lambda: self.settings, 0)
        self.batches = [(0, 3), (4, 4), (5, 9)]
        self.end = 10
        self.start = 0
        self.records: dict[int, Model] = {}
        self.transitions: list[ShareTransition] = []
        self.written: dict[int, tuple[int, int]] = {}
        """What the share coordinator knows: state and deliveries."""
        self.written_start = 0

    # The log.

    @rule(size=st.integers(1, 6), gap=st.sampled_from([0, 0, 0, 2]))
    def produce(self, size: int, gap: int) -> None:
        first = self.end + gap
        self.batches.append((first, first + size - 1))
        self.end = first + size

    @precondition(lambda self: self.batches)
    @rule(data=st.data())
    def compact(self, data: Any) -> None:
        """Remove a whole batch."""
        self.batches.remove(data.draw(st.sampled_from(self.batches)))

    @rule(size=st.integers(1, 3))
    def delete_records(self, size: int) -> None:
        self.start = min(self.start + size, self.end)
        self.batches = [each for each in self.batches if each[1] >= self.start]
        self.partition.move_start(self.start)
        self.records = {offset: model for offset, model in self.records.items() if offset >= self.start}

    # The members.

    @rule(
        member=st.sampled_from(MEMBERS),
        most=st.integers(1, 8),
        batches=st.integers(1, 3),
        keeps_limit=st.booleans(),
        batch_size=st.integers(1, 4),
    )
    def fetch(self, member: str, most: int, batches: int, *, keeps_limit: bool, batch_size: int) -> None:
        acquired = self.acquire(member, most, batches, keeps_limit=keeps_limit, batch_size=batch_size)
        if keeps_limit:
            assert sum(last - first + 1 for first, last, _ in acquired) <= most

    def acquire(self, member: str, most: int, batches: int, *, keeps_limit: bool, batch_size: int = 3) -> Any:
        if not self.partition.can_acquire:
            in_flight = self.partition.end_offset - self.partition.start_offset
            assert in_flight >= self.settings.max_in_flight
            return []
        offset = self.partition.next_fetch_offset()
        read = [each for each in self.batches if each[1] >= offset][:batches]
        wanted = Acquisition(member, offset, read, most, batch_size, keeps_limit)
        acquired = self.partition.acquire(self.now, wanted)
        if read:
            self.forget_missing(offset, read[0][0])
        for first, last, count in acquired:
            for taken in range(first, last + 1):
                model = self.records.setdefault(taken, Model())
                assert (model.state, model.pending) == ("free", None), (taken, model)
                model.deliveries += 1
                assert model.deliveries == count <= MAX_DELIVERIES
                model.state, model.holder, model.until = "held", member, self.now + LOCK_S
        return acquired

    def forget_missing(self, offset: int, base: int) -> None:
        """A read that skipped offsets shows that the log does not have them."""
        for missing in range(offset, base):
            model = self.records.setdefault(missing, Model())
            if model.state == "free" and model.pending is None:
                model.state = "done"

    @precondition(lambda self: self.held())
    @rule(data=st.data(), size=st.integers(1, 6), single=st.booleans())
    def acknowledge_held(self, data: Any, size: int, *, single: bool) -> None:
        """Acknowledge what a member holds, from one of its records on."""
        first = data.draw(st.sampled_from(self.held()))
        member = self.records[first].holder
        while not self.is_held(first + size - 1, member):
            size -= 1
        kinds = st.lists(st.sampled_from([1, 1, 2, 2, 3, 0, RENEW]), min_size=size, max_size=size)
        self.acknowledge(member, first, size, data.draw(kinds), single=single)

    def held(self) -> list[int]:
        return [
            offset
            for offset, model in self.records.items()
            if offset >= self.partition.start_offset and self.is_held(offset, model.holder)
        ]

    @rule(
        member=st.sampled_from(MEMBERS),
        ahead=st.integers(-2, 14),
        size=st.integers(1, 6),
        types=st.lists(st.integers(0, RENEW), min_size=6, max_size=6),
        single=st.booleans(),
    )
    def acknowledge_any(self, member: str, ahead: int, size: int, types: list[int], *, single: bool) -> None:
        first = max(self.partition.start_offset + ahead, 0)
        self.acknowledge(member, first, size, types, single=single)

    def acknowledge(self, member: str, first: int, size: int, types: list[int], *, single: bool) -> None:
        types = types[:1] if single else types[:size]
        last = first + size - 1
        kinds = {first + n: types[0] if len(types) == 1 else types[n] for n in range(size)}
        kinds = {offset: kind for offset, kind in kinds.items() if offset >= self.partition.start_offset}
        allowed = all(self.is_held(offset, member) for offset in kinds)
        try:
            transition = self.partition.acknowledge(self.now, member, [Acknowledgement(first, last, types)])
        except KafkaError:
            assert not allowed
            return
        assert allowed
        for offset, kind in kinds.items():
            if kind == RENEW:
                self.records[offset].until = self.now + LOCK_S
            else:
                self.records[offset].pending, self.records[offset].outcome = transition, OUTCOMES[kind]
        self.transitions.append(transition)

    def is_held(self, offset: int, member: str) -> bool:
        model = self.records.get(offset)
        return model is not None and (model.state, model.holder, model.pending) == ("held", member, None)

    @rule(member=st.sampled_from(MEMBERS))
    def release(self, member: str) -> None:
        transition = self.partition.release(member)
        for offset, model in self.records.items():
            if offset >= self.partition.start_offset and self.is_held(offset, member):
                model.pending, model.outcome = transition, "free"
        self.transitions.append(transition)

    # The share coordinator.

    @precondition(lambda self: self.transitions)
    @rule(data=st.data(), committed=st.booleans())
    def finish(self, data: Any, *, committed: bool) -> None:
        transition = data.draw(st.sampled_from(self.transitions))
        self.transitions.remove(transition)
        if committed:
            self.write(transition.changes)
        self.partition.finish(self.now, transition, committed=committed)
        for model in self.records.values():
            if model.pending is transition:
                model.pending = None
                if committed:
                    model.leave(model.outcome)
                else:
                    model.expire(self.now)

    def write(self, changes: list[StateChange]) -> None:
        self.written_start = max(self.written_start, self.partition.start_offset)
        for first, last, state, count in changes:
            for offset in range(first, last + 1):
                self.written[offset] = max(self.written.get(offset, (0, 0)), (count, state))

    @rule(seconds=st.sampled_from([4.0, 6.0, 11.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        assert (self.partition.deadline <= self.now) >= any(
            model.state == "held" and model.pending is None and model.until <= self.now
            for offset, model in self.records.items()
            if offset >= self.partition.start_offset
        )
        self.write(self.partition.expire(self.now))
        for model in self.records.values():
            model.expire(self.now)

    @rule()
    def change_leader(self) -> None:
        """The next leader knows what was written. It may deliver a record again that is at its end, once more."""
        start = max(self.written_start, self.start)
        batches = [
            StateChange(offset, offset, state, count)
            for offset, (count, state) in sorted(self.written.items())
            if offset >= self.written_start
        ]
        self.partition = SharePartition(lambda: self.settings, self.written_start)
        self.partition.load(batches)
        self.partition.move_start(self.start)
        self.transitions.clear()
        self.records = {
            offset: Model("done" if RecordState(state).is_terminal else "free", count)
            for offset, (count, state) in self.written.items()
            if offset >= start
        }

    # What always holds.

    @invariant()
    def runs_are_as_the_model(self) -> None:
        expected = self.partition.start_offset
        for run in self.partition.runs:
            assert run.first == expected <= run.last
            expected = run.last + 1
            for offset in range(run.first, run.last + 1):
                model = self.records.get(offset, Model())
                assert run.is_free == (model.state == "free" and model.pending is None), (offset, model, run)
                assert (run.member_id, run.deliveries) == (
                    "" if model.pending else model.holder,
                    model.deliveries,
                ) or model.state == "done", (offset, model, run)
        assert expected == self.partition.end_offset
        for offset, model in self.records.items():
            if offset < self.partition.start_offset:
                assert model.state == "done", (offset, model)

    @invariant()
    def completed_deliveries_are_counted(self) -> None:
        assert self.partition.delivery_complete_count == sum(
            len(run) for run in self.partition.runs if run.state.is_terminal
        )

    @invariant()
    def no_lock_outlives_the_deadline(self) -> None:
        assert all(self.partition.deadline <= run.locked_until for run in self.partition.runs if run.transition is None)

    def teardown(self) -> None:
        """No record is lost: each one that the log has comes to its end, within its deliveries."""
        for transition in self.transitions:
            self.partition.finish(self.now, transition, committed=False)
            for model in self.records.values():
                if model.pending is transition:
                    model.pending = None
                    model.expire(self.now)
        for _ in range(MAX_DELIVERIES * (self.end + 3)):
            self.wait(LOCK_S + 1)
            self.acquire("a", 100, 100, keeps_limit=False)
        self.wait(LOCK_S + 1)
        rest = [batch for batch in self.batches if batch[1] >= self.partition.start_offset]
        assert not rest, (rest, self.partition.runs)


TestSharePartition = pytest.mark.no_cover(SharePartitionMachine.TestCase)
TestSharePartition.settings = settings(max_examples=200, stateful_step_count=50, deadline=None)
