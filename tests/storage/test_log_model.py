"""The log compared with a list: after any append, truncation, deletion, roll and restart both hold the same batches."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import attrs
import trio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kraft.records.batch import iter_headers
from kraft.simulation.virtual_network import at_once
from kraft.storage.directory import LastStop
from kraft.storage.log import Log, remove_files
from tests.storage.logs import batch, batches, config, content, open_log


@attrs.frozen
class Batch:
    base_offset: int
    epoch: int
    timestamp: int
    values: tuple[bytes, ...]

    @property
    def next_offset(self) -> int:
        return self.base_offset + len(self.values)


_values = st.lists(st.binary(max_size=60), min_size=1, max_size=4)


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.parent = Path(tempfile.mkdtemp())
        self.config = config()
        self.log: Log
        self.batches: list[Batch] = []
        self.start = self.end = self.epoch = 0

    @initialize(segment_bytes=st.integers(300, 2000), interval=st.integers(0, 400))
    def create(self, segment_bytes: int, interval: int) -> None:
        self.config = config(segment_bytes=segment_bytes, index_interval_bytes=interval, retention_ms=-1)
        self.log = open_log(self.parent, self.config)

    @rule(
        appended=st.lists(st.tuples(_values, st.integers(-1, 50)), min_size=1, max_size=1),
        new_epoch=st.booleans(),
    )
    def append(self, appended: list[tuple[list[bytes], int]], new_epoch: bool) -> None:
        self.epoch += new_epoch
        buffer = bytearray()
        for values, timestamp in appended:
            buffer += batch(values, timestamp=timestamp)
            self.batches.append(Batch(self.end, self.epoch, timestamp, tuple(values)))
            self.end += len(values)
        self.log.append_as_leader(buffer, list(iter_headers(buffer)), self.epoch, now_ms=0)

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.log.segments[0].base_offset, self.end))
        self.log.truncate_to(offset, now_ms=0)
        kept = [each for each in self.batches if each.next_offset <= offset]
        if len(kept) < len(self.batches):
            self.end = min(offset, self.batches[len(kept)].base_offset)
        self.batches = kept
        self.start = min(self.start, self.end)

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        self.start = data.draw(st.integers(self.start, self.end))
        self.log.delete_records(self.start)
        remove_files(self.log.delete_old_segments(0, self.end))

    @rule(limit=st.integers(0, 2000))
    def retain(self, limit: int) -> None:
        size = self.log.size
        self.log.config = attrs.evolve(self.config, retention_bytes=limit)
        remove_files(self.log.delete_old_segments(0, self.end))
        self.log.config = self.config
        assert self.log.log_start_offset >= self.start
        if self.log.log_start_offset > self.start:
            assert limit <= self.log.size < size
        self.start = self.log.log_start_offset

    @rule(stop=st.sampled_from(LastStop), flush=st.booleans())
    def reopen(self, stop: LastStop, flush: bool) -> None:
        if flush:
            self.log.flush()
        if stop is LastStop.CLEAN:
            self.log.close()
        else:
            self.log.abandon()
        point = self.log.recovery_point
        self.log = open_log(self.parent, self.config, last_stop=stop, recovery_point=point, start=self.start)
        assert not self.log.recovery

    @invariant()
    def same_bounds(self) -> None:
        if hasattr(self, "log"):
            assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)

    @rule(data=st.data(), max_bytes=st.integers(0, 3000), min_one=st.booleans())
    def read(self, data: st.DataObject, max_bytes: int, min_one: bool) -> None:
        ends = [self.start, *(each.next_offset for each in self.batches if each.next_offset >= self.start)]
        offset = data.draw(st.integers(self.start, self.end))
        bound = data.draw(st.sampled_from(ends))
        got = content(self.log.read(offset, max_bytes, bound, min_one_message=min_one))
        headers = [header for _, header in iter_headers(got)]
        expected = [each.base_offset for each in self.batches if offset < each.next_offset <= bound]
        assert [header.base_offset for header in headers] == expected[: len(headers)]
        assert len(got) <= max_bytes or (min_one and len(headers) == 1)
        if expected and min_one:
            assert headers

    @rule(max_bytes=st.integers(1, 3000))
    def read_all(self, max_bytes: int) -> None:
        got = [
            (header.base_offset, header.leader_epoch, [record.value for record in records])
            for header, records in batches(self.log, max_bytes=max_bytes)
        ]
        expected = [
            (each.base_offset, each.epoch, list(each.values)) for each in self.batches if each.next_offset > self.start
        ]
        assert got == expected

    @rule(timestamp=st.integers(0, 60))
    def look_up_timestamp(self, timestamp: int) -> None:
        """ListOffsets by time: the first record whose timestamp is greater than or equal to the requested one."""
        expected = [
            (each.timestamp, max(each.base_offset, self.start), each.epoch)
            for each in self.batches
            if each.timestamp >= timestamp and each.next_offset > self.start
        ]
        found = trio.run(self.log.offset_for_timestamp, timestamp, at_once)
        assert (found and attrs.astuple(found)) == (expected[0] if expected else None)

    @rule(epoch=st.integers(-1, 12))
    def look_up_epoch(self, epoch: int) -> None:
        """OffsetForLeaderEpoch (KIP-279): the largest epoch not above, and the start of the next one."""
        live = [each for each in self.batches if each.next_offset > self.start]
        known = sorted({each.epoch for each in live})
        if not known or not 0 <= epoch <= known[-1] or epoch < known[0]:
            return
        below = [each for each in known if each <= epoch]
        above = [max(each.base_offset, self.start) for each in live if each.epoch > epoch]
        assert self.log.end_offset_for_epoch(epoch) == (below[-1], min(above, default=self.end))

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.abandon()
        shutil.rmtree(self.parent)


LogMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestLogModel = LogMachine.TestCase
