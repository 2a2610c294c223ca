"""A few cores at the mercy of Hypothesis: messages come late, twice or never, and any node may restart at any time."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kraft.raft.events import ResponseReceived, Timeout
from kraft.raft.log_view import LogView
from kraft.raft.state import Leader
from tests.raft.quorums import Quorum, member


class QuorumMachine(RuleBasedStateMachine):
    """Disks are perfect here; what imperfect ones do is for the simulation."""

    @initialize(size=st.sampled_from([2, 3, 5]))
    def begin(self, size: int) -> None:
        self.quorum = Quorum(*range(1, size + 1))
        self.size = size
        self.leaders: dict[int, int] = {}
        self.committed: dict[int, int] = {}

    def _number(self, data: int) -> int:
        return data % len(self.quorum.mail)

    @rule(node=st.integers(0, 4), wait=st.floats(0.0, 3.0))
    def time_passes(self, node: int, wait: float) -> None:
        self.quorum.now += wait
        self.quorum.step(node % self.size + 1, Timeout())

    @precondition(lambda self: self.quorum.mail)
    @rule(data=st.integers(0, 1000))
    def deliver(self, data: int) -> None:
        self.quorum.deliver(self._number(data))

    @precondition(lambda self: self.quorum.mail)
    @rule(count=st.integers(1, 30))
    def deliver_in_order(self, count: int) -> None:
        for _ in range(min(count, len(self.quorum.mail))):
            self.quorum.deliver()

    @precondition(lambda self: self.quorum.mail)
    @rule(data=st.integers(0, 1000))
    def lose(self, data: int) -> None:
        self.quorum.mail.pop(self._number(data))

    @precondition(lambda self: self.quorum.mail)
    @rule(data=st.integers(0, 1000))
    def repeat(self, data: int) -> None:
        source, target, message = self.quorum.mail[self._number(data)]
        self.quorum.mail.append((source, target, message))

    @rule(node=st.integers(0, 4))
    def append(self, node: int) -> None:
        node = node % self.size + 1
        if isinstance(self.quorum.cores[node].state, Leader):
            self.quorum.append(node)

    @rule(node=st.integers(0, 4))
    def restart(self, node: int) -> None:
        node = node % self.size + 1
        quorum = self.quorum
        old = quorum.cores[node]
        election = old._member.election
        log = LogView(old.log.epochs, old.log.end_offset, old.log.start_offset)
        core = member(node, old.voters, election, log)
        quorum.cores[node], quorum.committed[node] = core, 0
        quorum.requests = {key: value for key, value in quorum.requests.items() if value[0] != node}
        quorum.mail = [item for item in quorum.mail if item[1] != node or not isinstance(item[2], ResponseReceived)]

    @invariant()
    def one_leader_per_epoch(self) -> None:
        """ElectionSafety: no two members believe in different leaders in one epoch."""
        for core in self.quorum.cores.values():
            leader = core.state.leader_id
            if leader is not None:
                assert self.leaders.setdefault(core.epoch, leader) == leader

    @invariant()
    def what_is_committed_stays(self) -> None:
        """NoLogDivergence: below their high watermarks all logs have the same epochs, for ever."""
        for core in self.quorum.cores.values():
            start = 0
            for run in core.log.read(0).runs if core.log.end_offset else ():
                for offset in range(start, min(run.end_offset, core.high_watermark)):
                    assert self.committed.setdefault(offset, run.epoch) == run.epoch
                start = run.end_offset

    @invariant()
    def a_majority_holds_what_is_committed(self) -> None:
        """MajorityReachedHighWatermark."""
        ends = sorted((core.log.end_offset for core in self.quorum.cores.values()), reverse=True)
        for core in self.quorum.cores.values():
            if isinstance(core.state, Leader):
                assert ends[self.size // 2] >= core.high_watermark


TestQuorumMachine: Any = QuorumMachine.TestCase
TestQuorumMachine.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
