"""A share partition that writes down what its members do: the transcript of share groups in docs/groups.md."""

from __future__ import annotations

from kraft.broker.share.partition import Acknowledgement, Acquisition, SharePartition, SharePartitionSettings
from kraft.broker.share.runs import RecordState, StateChange

ACCEPT, RELEASE, REJECT = 1, 2, 3
_WORDS = {ACCEPT: "accepts", RELEASE: "releases", REJECT: "rejects"}
LOCK_S = 30.0
LIMIT = 3


class ShareScribe:
    """A partition with ``end`` records in batches of one. A record is delivered three times at most."""

    def __init__(self, end: int) -> None:
        settings = SharePartitionSettings(max_deliveries=LIMIT, lock_duration_s=LOCK_S)
        self.core = SharePartition(lambda: settings, 0)
        self.end = end
        self.now = 0.0
        self.lines: list[str] = []

    def fetch(self, member_id: str, count: int) -> None:
        self.lines.append(f"{member_id}: ShareFetch, up to {count} records")
        offset = self.core.next_fetch_offset()
        batches = [(each, each) for each in range(offset, self.end)]
        wanted = Acquisition(member_id, offset, batches, count, keeps_limit=True)
        acquired = self.core.acquire(self.now, wanted)
        for each in acquired:
            what = _offsets(each.first_offset, each.last_offset)
            self.lines.append(f"    to {member_id}: {what}, delivery {each.delivery_count}")
        if not acquired:
            self.lines.append(f"    to {member_id}: nothing")

    def acknowledge(self, member_id: str, *batches: tuple[int, int, int]) -> None:
        said = ", ".join(f"{_WORDS[kind]} {_offsets(first, last)}" for first, last, kind in batches)
        self.lines.append(f"{member_id}: ShareAcknowledge, {said}")
        transition = self.core.acknowledge(
            self.now, member_id, [Acknowledgement(first, last, [kind]) for first, last, kind in batches]
        )
        self._write(transition.changes)
        self.core.finish(self.now, transition, committed=True)
        self.lines.append(f"    the start offset is {self.core.start_offset}")

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.lines.append(f"{seconds:g} s pass")
        self._write(self.core.expire(self.now))
        self.lines.append(f"    the start offset is {self.core.start_offset}")

    def _write(self, changes: list[StateChange]) -> None:
        for first, last, state, _ in changes:
            self.lines.append(f"    writes {_offsets(first, last)}: {RecordState(state).name.lower()}")


def _offsets(first: int, last: int) -> str:
    return f"record {first}" if first == last else f"records {first} to {last}"
