"""A classic consumer group: its members, its generation and its five states.

:data:`TRANSITIONS` lists all legal transitions, :meth:`Group.become` allows no other. Deadlines and timeouts are in
seconds. ``state_since_ms`` is in milliseconds, because it is a timestamp of the group's record. A *token* identifies a
request that waits for its response.

    Empty ──> PreparingRebalance ──> CompletingRebalance ──> Stable
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

import attrs

from kraft.coordinator.core import NO_DEADLINE, Token
from kraft.metadata.steps import Steps, counted

NO_TIMESTAMP = -1
CONSUMER_PROTOCOL = "consumer"
"""The protocol type of consumers. The coordinator reads the subscribed topics of this type only."""

_EXAMINED_AT_ONCE, _EXAMINING_COST = 200, 10
"""The members whose protocols are examined in a step, and its cost."""


class GroupState(enum.Enum):
    """A group's state. The value is the name in DescribeGroups and ListGroups."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


TRANSITIONS: dict[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE, GroupState.DEAD}),
    GroupState.PREPARING_REBALANCE: frozenset(
        {GroupState.COMPLETING_REBALANCE, GroupState.EMPTY, GroupState.DEAD},
    ),
    GroupState.COMPLETING_REBALANCE: frozenset(
        {GroupState.STABLE, GroupState.PREPARING_REBALANCE, GroupState.DEAD},
    ),
    GroupState.STABLE: frozenset({GroupState.PREPARING_REBALANCE, GroupState.DEAD}),
    GroupState.DEAD: frozenset(),
}


@attrs.frozen
class Storing:
    """The leader's assignment, by member id, until ``record``, which holds it, is committed."""

    record: object
    assignments: dict[str, bytes]
    deadline: float


@attrs.define
class GroupMember:
    """One member; ``join`` and ``sync`` are the tokens of its parked requests."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_s: float
    session_timeout_s: float
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    join: Token | None = None
    join_version: int = 0
    sync: Token | None = None
    session_deadline: float = NO_DEADLINE
    is_new: bool = False
    """True until the member is in a generation. While it is true the session deadline counts even for a parked join: a
    client that gave up on its first join never returns under this id.
    """

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def next_deadline(self) -> float:
        """The session deadline. None while a request is parked, since the member then waits for the coordinator."""
        silent = self.join is None and self.sync is None
        return self.session_deadline if silent or self.is_new else NO_DEADLINE

    def metadata(self, protocol: str | None) -> bytes:
        """Return the member's metadata for ``protocol``, or empty bytes if the member does not support it."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: Iterable[str]) -> str:
        """Return the member's most preferred protocol among the candidates."""
        return next(name for name, _ in self.protocols if name in candidates)

    def alive(self, now: float) -> None:
        """Restart the session timeout."""
        self.session_deadline = now + self.session_timeout_s


@attrs.define
class Group:
    """One group. ``members`` is in the order of their joins. ``pending`` maps each member id that was assigned
    (KIP-394) but has not joined yet to its deadline.
    """

    group_id: str
    state: GroupState = GroupState.EMPTY
    state_since_ms: int = NO_TIMESTAMP
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    topics: frozenset[str] | None = None
    """The topics to which the members of the current generation subscribe. None if one of their subscriptions is
    unreadable.
    """
    leader: str | None = None
    members: dict[str, GroupMember] = attrs.Factory(dict)
    static_members: dict[str, str] = attrs.Factory(dict)
    pending: dict[str, float] = attrs.Factory(dict)
    awaiting_sync: set[str] = attrs.Factory(set)
    join_deadline: float = NO_DEADLINE
    initial_delay_left_s: float | None = None
    """In the initial delay of an empty group: the time by which the delay may still be extended (KIP-134)."""
    member_added_in_delay: bool = False
    sync_deadline: float = NO_DEADLINE
    storing: Storing | None = None

    def become(self, state: GroupState, timestamp_ms: int) -> None:
        assert state in TRANSITIONS[self.state], f"{self.group_id}: {self.state} -> {state}"
        self.state = state
        self.state_since_ms = timestamp_ms

    def add(self, member: GroupMember) -> None:
        if not self.members:
            self.protocol_type = member.protocol_type
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        self.pending.pop(member.member_id, None)
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> GroupMember:
        member = self.members.pop(member_id)
        if member.group_instance_id is not None:
            del self.static_members[member.group_instance_id]
        self.awaiting_sync.discard(member_id)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def replace_static(self, group_instance_id: str, member_id: str) -> GroupMember:
        """Change the member id of a static member (KIP-345). Everything else stays."""
        old_id = self.static_members[group_instance_id]
        renamed = {}
        for known_id, member in self.members.items():
            if known_id == old_id:
                member.member_id = member_id
                renamed[member_id] = member
            else:
                renamed[known_id] = member
        self.members = renamed
        self.static_members[group_instance_id] = member_id
        if old_id in self.awaiting_sync:
            self.awaiting_sync.discard(old_id)
            self.awaiting_sync.add(member_id)
        if self.leader == old_id:
            self.leader = member_id
        return renamed[member_id]

    def all_joined(self) -> bool:
        return not self.pending and all(member.join is not None for member in self.members.values())

    def common_protocols(self) -> Steps[set[str]]:
        """Return the protocols that every member supports."""
        common: set[str] | None = None
        for number, member in enumerate(self.members.values(), 1):
            spoken = {name for name, _ in member.protocols}
            common = spoken if common is None else common & spoken
            if not number % _EXAMINED_AT_ONCE:
                yield _EXAMINING_COST
        return common or set()

    def accepts(self, protocol_type: str, protocols: Iterable[str]) -> Steps[bool]:
        """Return whether a client with these protocols can join the current members."""
        names = set(protocols)
        if not protocol_type or not names:
            return False
        if self.state is GroupState.EMPTY:
            return True
        if self.protocol_type != protocol_type:
            return False
        return not self.members or bool(names & (yield from self.common_protocols()))

    def elect_protocol(self) -> Steps[str]:
        """Return the protocol with the most votes. Each member votes for its most preferred common one. The name breaks
        a tie.
        """
        candidates = yield from self.common_protocols()
        votes = yield from counted(member.vote(candidates) for member in self.members.values())
        return max(sorted(votes), key=votes.__getitem__)

    def subscribes_to(self, topic: str) -> bool:
        """Return whether the current generation reads ``topic``. A consumer with an unreadable subscription may read
        any.
        """
        return self.protocol_type == CONSUMER_PROTOCOL if self.topics is None else topic in self.topics

    def rebalance_timeout_s(self) -> float:
        """Return the longest rebalance timeout of all members. At least 1 ms, so that the deadline is in the future."""
        return max([0.001, *(member.rebalance_timeout_s for member in self.members.values())])

    def deadline(self) -> float:
        """Return the earliest deadline of the group and its members."""
        return min(
            self.join_deadline,
            self.sync_deadline,
            NO_DEADLINE if self.storing is None else self.storing.deadline,
            min(self.pending.values(), default=NO_DEADLINE),
            min((member.next_deadline for member in self.members.values()), default=NO_DEADLINE),
        )
