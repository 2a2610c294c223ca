"""The leader's side of one partition: the progress of each follower, the ISR and the high watermark.

Every replica of the ISR holds every record below the high watermark. Only the controller changes the ISR. The leader
proposes one change at a time (AlterPartition, KIP-497). While a proposal is pending, the leader counts its members as
in sync, too. This can delay the high watermark, but never advance it too far.

``step(now, event) -> LeadershipEffects``, pure. Times are seconds on the caller's clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs

from kraft.wire.errors import ErrorCode, KafkaError

UNKNOWN_OFFSET = -1
ANY_BROKER_EPOCH = -1
NEVER = -math.inf

#: The controller did not change the ISR, and the leader's view of it is current.
_NOT_DONE = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
#: The leader's view is outdated. The metadata will bring the current ISR.
_OUTDATED = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)


@attrs.frozen
class Assignment:
    """The state of a partition in the metadata, for a partition that this broker leads."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int


@attrs.frozen
class Proposal:
    """An ISR proposed to the controller: pairs of a broker id and the broker epoch in which that broker fetched."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]


@attrs.frozen
class Conditions:
    """The state outside the partition that its leadership depends on. Also the event of a change of it.

    ``active_epochs`` maps each broker that may be in an ISR to its broker epoch (KIP-631), or to ANY_BROKER_EPOCH
    where a ZooKeeper-era controller does not name the epochs. ``min_isr`` is ``min.insync.replicas``. ``lag_max_s`` is
    ``replica.lag.time.max.ms``.
    """

    node_id: int
    lag_max_s: float
    active_epochs: Mapping[int, int]
    min_isr: int


@attrs.frozen
class Appended:
    """The leader's log has grown to ``end_offset``."""

    end_offset: int


@attrs.frozen
class FollowerFetched:
    """A follower fetched from ``end_offset``, so it holds every record below. The request has passed ``check``."""

    replica_id: int
    broker_epoch: int
    end_offset: int
    log_start_offset: int


@attrs.frozen
class LagChecked:
    """Time to propose an ISR without the replicas that lag."""


@attrs.frozen
class Settled:
    """The controller decided on ``proposal`` and returned the current ISR and partition epoch."""

    proposal: Proposal
    isr: tuple[int, ...]
    partition_epoch: int


@attrs.frozen
class ProposalRefused:
    """The controller refused ``proposal``, or the request failed."""

    proposal: Proposal
    code: ErrorCode


Event = Appended | FollowerFetched | LagChecked | Settled | ProposalRefused | Assignment | Conditions


@attrs.frozen
class LeadershipEffects:
    """``high_watermark`` is set if it advanced, ``proposal`` if the driver must send one to the controller."""

    high_watermark: int | None = None
    proposal: Proposal | None = None


@attrs.frozen
class FollowerState:
    """The progress of a follower since this leadership began.

    ``caught_up_at`` is the last time at which the follower held the whole log of the leader. If the follower reaches
    the current log end, that is now. If it reaches the log end of its previous fetch, that is the time of that fetch.
    """

    caught_up_at: float
    end_offset: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET
    broker_epoch: int | None = None
    fetched_at: float = NEVER
    leader_end_offset: int = UNKNOWN_OFFSET
    """The leader's log end offset at the follower's last fetch."""

    def fetched(self, now: float, event: FollowerFetched, leader_end_offset: int) -> FollowerState:
        caught_up_at = self.caught_up_at
        if event.end_offset >= leader_end_offset:
            caught_up_at = now
        elif event.end_offset >= self.leader_end_offset:
            caught_up_at = max(caught_up_at, self.fetched_at)
        return FollowerState(
            caught_up_at,
            event.end_offset,
            event.log_start_offset,
            event.broker_epoch,
            now,
            max(leader_end_offset, self.leader_end_offset),
        )

    def is_caught_up(self, now: float, leader_end_offset: int, lag_max_s: float) -> bool:
        return self.end_offset == leader_end_offset or now - self.caught_up_at <= lag_max_s


class Leadership:
    """The leadership of one partition, from this broker's election until another replica leads.

    ``end_offset`` and ``high_watermark`` come from the log at the start of the leadership. ``isr`` is the controller's
    last decision. ``pending`` is the proposal that the controller has not decided on.
    """

    def __init__(
        self, conditions: Conditions, assignment: Assignment, end_offset: int, high_watermark: int, now: float
    ) -> None:
        self._conditions = conditions
        self.replicas = assignment.replicas
        self.isr = assignment.isr
        self.leader_epoch = assignment.leader_epoch
        self.partition_epoch = assignment.partition_epoch
        self.epoch_start_offset = self.end_offset = end_offset
        self.high_watermark = high_watermark
        self.pending: Proposal | None = None
        self.followers = {replica: self._new_follower(replica, now) for replica in self._others()}
        self._advance(now)

    def step(self, now: float, event: Event) -> LeadershipEffects:
        """Apply one event. A Settled or ProposalRefused for another proposal than ``pending`` changes nothing."""
        proposal: Proposal | None = None
        match event:
            case Appended():
                self.end_offset = event.end_offset
            case FollowerFetched():
                proposal = self._fetched(now, event)
            case LagChecked():
                proposal = self._without_lagging(now)
            case Settled():
                self._settled(event)
            case ProposalRefused():
                proposal = self._refused(event)
            case Assignment():
                self._assigned(now, event)
            case Conditions():
                self._conditions = event
        return LeadershipEffects(self._advance(now), proposal)

    # Queries.

    def check(self, replica_id: int, broker_epoch: int) -> None:
        """Check that a Fetch of this replica may count as replication progress.

        Raises KafkaError UNKNOWN_LEADER_EPOCH if this leader does not know the broker as a replica (yet),
        NOT_LEADER_OR_FOLLOWER for a previous incarnation of the broker (KIP-903).
        """
        if replica_id not in self.followers:
            raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH, f"Broker {replica_id} is not known as a replica.")
        active = self._conditions.active_epochs.get(replica_id)
        if broker_epoch != ANY_BROKER_EPOCH and active is not None and broker_epoch < active:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"Broker {replica_id} has a newer epoch, {active}.")

    @property
    def maximal_isr(self) -> frozenset[int]:
        """Every replica that may be in the ISR: the current members and those of the pending proposal."""
        proposed = () if self.pending is None else (replica for replica, _ in self.pending.isr)
        return frozenset((*self.isr, *proposed))

    @property
    def min_isr(self) -> int:
        """The replicas that must be in sync: ``min.insync.replicas``, but at most the number of replicas."""
        return min(self._conditions.min_isr, len(self.replicas))

    def low_watermark(self, log_start_offset: int) -> int:
        """Return the lowest log start offset of replicas on active brokers. ``log_start_offset`` is the leader's."""
        starts = (
            follower.log_start_offset
            for replica, follower in self.followers.items()
            if replica in self._conditions.active_epochs
        )
        return min((log_start_offset, *starts))

    # Steps.

    def _others(self) -> tuple[int, ...]:
        return tuple(replica for replica in self.replicas if replica != self._conditions.node_id)

    def _new_follower(self, replica_id: int, now: float) -> FollowerState:
        """A member of the ISR counts as caught up now: it has ``lag_max_s`` to fetch."""
        return FollowerState(now if replica_id in self.isr else NEVER)

    def _fetched(self, now: float, event: FollowerFetched) -> Proposal | None:
        follower = self.followers[event.replica_id].fetched(now, event, self.end_offset)
        self.followers[event.replica_id] = follower
        in_sync = follower.end_offset >= max(self.high_watermark, self.epoch_start_offset)
        if self.pending is None and event.replica_id not in self.isr and in_sync and self._may_join(event.replica_id):
            return self._propose((*self.isr, event.replica_id))
        return None

    def _may_join(self, replica_id: int) -> bool:
        active = self._conditions.active_epochs.get(replica_id)
        fetched_in = self.followers[replica_id].broker_epoch
        return active == ANY_BROKER_EPOCH or (active is not None and fetched_in in (ANY_BROKER_EPOCH, active))

    def _without_lagging(self, now: float) -> Proposal | None:
        if self.pending is not None:
            return None
        left = tuple(
            replica
            for replica in self.isr
            if replica not in self.followers
            or self.followers[replica].is_caught_up(now, self.end_offset, self._conditions.lag_max_s)
        )
        return None if left == self.isr else self._propose(left)

    def _propose(self, isr: tuple[int, ...]) -> Proposal:
        members = tuple((replica, self._epoch_of(replica)) for replica in isr)
        self.pending = Proposal(self.leader_epoch, self.partition_epoch, members)
        return self.pending

    def _epoch_of(self, replica_id: int) -> int:
        """The broker epoch of a member's last Fetch. -1 before its first Fetch: the controller then checks none."""
        follower = self.followers.get(replica_id)
        known = None if follower is None else follower.broker_epoch
        return ANY_BROKER_EPOCH if known is None else known

    def _settled(self, event: Settled) -> None:
        if event.proposal == self.pending:
            self.isr, self.partition_epoch, self.pending = event.isr, event.partition_epoch, None

    def _refused(self, event: ProposalRefused) -> Proposal | None:
        """Send the same proposal again after a failed request: the controller may or may not have applied it."""
        if event.proposal != self.pending or event.code in _OUTDATED:
            return None
        if event.code in _NOT_DONE:
            self.pending = None
        return self.pending

    def _assigned(self, now: float, event: Assignment) -> None:
        """Apply the partition's state in the metadata, unless it is older than the controller's last response.

        A response does not list the replicas, so metadata of the same partition epoch applies, too
        (``Partition.makeLeader``). The pending proposal stays only if neither epoch changed: the controller refuses a
        proposal of an earlier epoch.
        """
        if event.partition_epoch < self.partition_epoch:
            return
        elected = event.leader_epoch > self.leader_epoch
        if event.leader_epoch > self.leader_epoch + 1:
            self.followers = {}  # the leader of a missed epoch may have truncated a follower
        if elected or event.partition_epoch > self.partition_epoch:
            self.pending = None
        self.replicas, self.isr, self.partition_epoch = event.replicas, event.isr, event.partition_epoch
        self.leader_epoch = event.leader_epoch
        if elected:
            self.epoch_start_offset = self.end_offset
        self.followers = {replica: self._known(replica, now, elected) for replica in self._others()}

    def _known(self, replica_id: int, now: float, elected: bool) -> FollowerState:
        follower = self.followers.get(replica_id)
        if follower is None:
            return self._new_follower(replica_id, now)
        if not elected:
            return follower
        shown_at = now if replica_id in self.isr else NEVER
        return attrs.evolve(follower, caught_up_at=shown_at, fetched_at=shown_at, leader_end_offset=self.end_offset)

    def _advance(self, now: float) -> int | None:
        """Advance the high watermark to the lowest log end of the replicas that are in sync or about to join the ISR.

        It stays if fewer than ``min_isr`` replicas are in sync (KIP-966). It waits for a follower that is about to
        join: that follower joins only once it reaches the high watermark, which otherwise follows every append.
        """
        if len(self.isr) < self.min_isr:
            return None
        high_watermark = self.end_offset
        if self.followers:
            maximal_isr = self.maximal_isr
            lag_max_s = self._conditions.lag_max_s
            for replica, follower in self.followers.items():
                if follower.end_offset < high_watermark and (
                    replica in maximal_isr
                    or (follower.is_caught_up(now, self.end_offset, lag_max_s) and self._may_join(replica))
                ):
                    high_watermark = follower.end_offset
        if high_watermark <= self.high_watermark:
            return None
        self.high_watermark = high_watermark
        return high_watermark
