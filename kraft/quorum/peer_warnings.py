"""Warnings about peers. A warning that continues is logged every ten minutes, not with every request.

A peer of another cluster, or with other voters, repeats its request and is refused each time. The first refusal is
logged. The next ones are counted, and logged again every ten minutes while they continue.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable

import attrs
import trio

from kraft.messages.leader_change_message import LeaderChangeMessage
from kraft.quorum.refusals import Refusal
from kraft.quorum.rpcs import Identity
from kraft.raft.events import Reason, Verdict
from kraft.raft.messages import VoteRequest
from kraft.records.batch import whole_batches
from kraft.records.control import ControlType, control_type
from kraft.records.record import read_records
from kraft.storage.snapshot import MAX_READ_BATCH_BYTES
from kraft.wire.codec import decode
from kraft.wire.decode_error import DecodeError
from kraft.wire.varint import Buffer

logger = logging.getLogger("kraft.quorum")

#: The interval at which a continuing warning is logged again, in seconds.
REPEAT_S = 600.0
#: A warning that did not occur for this long, in seconds, is logged at once when it occurs again.
QUIET_S = 30.0
#: The maximum number of distinct warnings. Others are dropped until one of these did not occur for QUIET_S.
MAX_KINDS = 100

#: Reasons that do not occur in a correctly configured quorum.
_STRANGE = frozenset(
    {
        Reason.IMPLAUSIBLE_EPOCH,
        Reason.NOT_A_VOTER,
        Reason.I_AM_NO_VOTER,
        Reason.FROM_MYSELF,
        Reason.FROM_NOBODY,
        Reason.IMPOSSIBLE_LOG,
        Reason.IMPOSSIBLE_OFFSET,
        Reason.OTHER_LEADER,
        Reason.TOO_MANY_OBSERVERS,
    }
)


@attrs.define
class _Warned:
    """The times at which a warning was logged, occurred last, and may be logged again; ``times`` counts the unlogged
    ones.
    """

    logged_at: float
    last_at: float
    again_at: float
    times: int = 0


class PeerWarnings:
    """The warnings of one node. ``now`` is in seconds."""

    def __init__(self, identity: Identity, now: Callable[[], float] = trio.current_time) -> None:
        self._identity = identity
        self._now = now
        self._warned: dict[Hashable, _Warned] = {}
        self._other_voters: frozenset[int] | None = None

    def warn(self, key: Hashable, line: str) -> bool:
        """Log ``line`` unless a warning with this ``key`` was logged recently. Return whether it was logged."""
        now = self._now()
        known = self._warned.get(key)
        if known is not None and now - known.last_at < QUIET_S:
            known.last_at = now
            known.times += 1
            if now < known.again_at:
                return False
            line = f"{line} ({known.times} times more)"
        elif len(self._warned) >= MAX_KINDS:
            self._warned = {each: warned for each, warned in self._warned.items() if now - warned.last_at < QUIET_S}
            if len(self._warned) >= MAX_KINDS:
                return False
        logger.warning("%s", line)
        self._warned[key] = _Warned(now, now, now + REPEAT_S)
        return True

    def resolve(self, key: Hashable) -> None:
        """Note that the cause of a warning is gone. If it returns after QUIET_S, the warning is logged at once."""
        known = self._warned.get(key)
        if known is not None:
            known.again_at = known.logged_at + QUIET_S

    def note_refusal(self, refusal: Refusal, host: str) -> None:
        """Warn of a request from ``host`` that was refused before the core."""
        self.warn((host, refusal.request.kind, refusal.request.peer, refusal.reason), f"{host}: {refusal}")

    def note_verdict(self, verdict: Verdict) -> None:
        """Log a verdict of the core, as a warning if its reason does not occur in a correctly configured quorum."""
        if verdict.reason not in _STRANGE:
            level = logging.INFO if isinstance(verdict.request, VoteRequest) else logging.DEBUG
            logger.log(level, "%s", verdict)
            return
        line = f"{verdict}"
        if verdict.reason is Reason.NOT_A_VOTER:
            line += f"; controller.quorum.voters must be the same everywhere, and is {self._voters} here"
        elif verdict.reason is Reason.FROM_MYSELF:
            line += f"; is there another node with node.id={self._identity.node_id}?"
        self.warn((type(verdict.request), verdict.peer, verdict.reason), line)

    @property
    def _voters(self) -> str:
        return _names(self._identity.voters)

    def check_leader(self, peer: int, leader_id: int | None) -> None:
        """Warn of a leader that ``peer`` names and that is not a voter here. This node cannot follow it."""
        if leader_id is not None and leader_id not in self._identity.voters:
            line = f"{peer} names {leader_id} as the leader, which is not in controller.quorum.voters here"
            self.warn(("leader", peer, leader_id), f"{line} ({self._voters})")

    def check_voters(self, data: Buffer, epoch: int) -> None:
        """Compare the voters in the LeaderChange record of ``epoch`` with those of this node.

        ``data`` has fetched batches that were checked.
        """
        for position, header in whole_batches(data, MAX_READ_BATCH_BYTES):
            if not header.is_control or header.leader_epoch != epoch:
                continue
            for record in read_records(data, position, header, max_bytes=MAX_READ_BATCH_BYTES):
                if control_type(record) is ControlType.LEADER_CHANGE and record.value is not None:
                    try:
                        change, _ = decode(LeaderChangeMessage, 0, record.value)
                    except DecodeError:
                        continue
                    self._compare(change.leader_id, epoch, frozenset(voter.voter_id for voter in change.voters))

    def _compare(self, leader_id: int, epoch: int, voters: frozenset[int]) -> None:
        if voters == self._identity.voters.keys():
            if self._other_voters is not None:
                logger.info("leader %s of epoch %s has the voters of this node again", leader_id, epoch)
            self._other_voters = None
        elif voters != self._other_voters:
            self._other_voters = voters
            outcome = "" if self._identity.node_id in voters else ": this node has no vote there"
            logger.warning(
                "the voters of leader %s of epoch %s are %s, and controller.quorum.voters is %s here%s",
                *(leader_id, epoch, _names(voters), self._voters, outcome),
            )


def _names(voters: Iterable[int]) -> str:
    return ",".join(map(str, sorted(voters)))
