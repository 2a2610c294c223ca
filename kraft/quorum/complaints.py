"""What does not fit between this node and its peers, said in the log once and not with every request.

A peer that is of another cluster, or was given other voters, asks again and again and is refused each time. The first
time is news; after that it is counted, and said again after a while as long as it lasts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable

import attrs
import trio

from kraft.messages.leader_change_message import LeaderChangeMessage
from kraft.quorum.batches import whole_batches
from kraft.quorum.refusals import Refusal
from kraft.quorum.wire import Identity
from kraft.raft.events import Reason, Verdict
from kraft.raft.messages import VoteRequest
from kraft.records.control import ControlType, control_type
from kraft.records.record import read_records
from kraft.storage.snapshot import MAX_READ_BATCH_BYTES
from kraft.wire.codec import decode
from kraft.wire.decode_error import DecodeError
from kraft.wire.varint import Buffer

logger = logging.getLogger("kraft.quorum")

#: What lasts is said again this often.
REPEAT_S = 600.0
#: What was not to be complained of for so long is news when it comes again.
QUIET_S = 30.0
#: How many complaints are told apart; others wait until one of these is settled.
MAX_KINDS = 100

#: No quorum that is set up well comes to these.
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
class _Told:
    """When a complaint was said, when it was last heard, when it may be said again, how often it was not."""

    told_at: float
    last_at: float
    again_at: float
    times: int = 0


class Complaints:
    """The complaints of one node. ``now`` is in seconds."""

    def __init__(self, identity: Identity, now: Callable[[], float] = trio.current_time) -> None:
        self._identity = identity
        self._now = now
        self._told: dict[Hashable, _Told] = {}
        self._other_voters: frozenset[int] | None = None

    def say(self, key: Hashable, line: str) -> bool:
        """Log a warning if what ``key`` stands for is news, or was not said for long; return whether it was said."""
        now = self._now()
        known = self._told.get(key)
        if known is not None and now - known.last_at < QUIET_S:
            known.last_at = now
            known.times += 1
            if now < known.again_at:
                return False
            line = f"{line} ({known.times} times more)"
        elif len(self._told) >= MAX_KINDS:
            self._told = {each: told for each, told in self._told.items() if now - told.last_at < QUIET_S}
            if len(self._told) >= MAX_KINDS:
                return False
        logger.warning("%s", line)
        self._told[key] = _Told(now, now, now + REPEAT_S)
        return True

    def settle(self, key: Hashable) -> None:
        """What ``key`` stands for is over: it is news if it comes again, but for one that comes and goes."""
        known = self._told.get(key)
        if known is not None:
            known.again_at = known.told_at + QUIET_S

    def refused(self, refusal: Refusal, host: str) -> None:
        """A request from ``host`` was refused without the core."""
        self.say((host, refusal.asked.request, refusal.asked.peer, refusal.doubt), f"{host}: {refusal}")

    def judged(self, verdict: Verdict) -> None:
        """The core gave a verdict: what a quorum says every day is no complaint."""
        if verdict.reason not in _STRANGE:
            level = logging.INFO if isinstance(verdict.request, VoteRequest) else logging.DEBUG
            logger.log(level, "%s", verdict)
            return
        line = f"{verdict}"
        if verdict.reason is Reason.NOT_A_VOTER:
            line += f"; controller.quorum.voters must be the same everywhere, and is {self._voters} here"
        elif verdict.reason is Reason.FROM_MYSELF:
            line += f"; is there another node with node.id={self._identity.node_id}?"
        self.say((type(verdict.request), verdict.peer, verdict.reason), line)

    @property
    def _voters(self) -> str:
        return _names(self._identity.voters)

    def heard_of_leader(self, peer: int, leader_id: int | None) -> None:
        """An answer of ``peer`` names the leader: one that is no voter here cannot be followed."""
        if leader_id is not None and leader_id not in self._identity.voters:
            line = f"{peer} names {leader_id} as the leader, which is not in controller.quorum.voters here"
            self.say(("leader", peer, leader_id), f"{line} ({self._voters})")

    def look_for_other_voters(self, data: Buffer, epoch: int) -> None:
        """Compare the voters of the present leader, which opened its ``epoch`` with them, with those of this node.

        ``data`` are batches that were fetched, and checked.
        """
        for position, header in whole_batches(data):
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
                logger.info("the voters of leader %s of epoch %s are those of this node again", leader_id, epoch)
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
