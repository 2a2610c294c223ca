"""The leader's side of one partition: how far each follower is, who is in sync, and what is committed.

Everything below the high watermark is on every replica of the ISR. The controller alone changes the ISR: the leader
proposes (AlterPartition, KIP-497), one proposal at a time, and until it knows the answer it counts every replica that
may be in the ISR as in it: a wrong guess can only hold the high watermark back.

``step(now_ms, event) -> effects``, pure. Times are milliseconds on the caller's clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs

from kraft.wire.errors import ErrorCode, KafkaError

UNKNOWN_OFFSET = -1
ANY_BROKER_EPOCH = -1
NEVER = -math.inf

#: The controller says that it did not change the ISR, and that our view of it is the present one.
_NOT_DONE = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
#: Our view is not the present one, and what is will come with the metadata.
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
    """What the metadata says of a partition that this broker leads."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int


@attrs.frozen
class Proposal:
    """An ISR for the controller to decide on. ``isr`` are broker ids with the epochs in which those brokers fetched."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]


@attrs.frozen
class Conditions:
    """What a leadership depends on beside its partition; an event too, when they change.

    ``active_epochs`` has the epoch of each broker that may be in an ISR (KIP-631), ``min_isr`` is
    ``min.insync.replicas``, ``lag_max_ms`` is ``replica.lag.time.max.ms``.
    """

    node_id: int
    lag_max_ms: int
    active_epochs: Mapping[int, int]
    min_isr: int


@attrs.frozen
class Appended:
    """The leader's log has grown to ``end_offset``."""

    end_offset: int


@attrs.frozen
class Fetched:
    """A follower asked for what follows ``end_offset``: it has everything before. The request passed ``check``."""

    replica_id: int
    broker_epoch: int
    end_offset: int
    log_start_offset: int


@attrs.frozen
class LagChecked:
    """It is time to see who has fallen behind."""


@attrs.frozen
class Settled:
    """The controller has decided on ``proposal``, and says what holds."""

    proposal: Proposal
    isr: tuple[int, ...]
    partition_epoch: int


@attrs.frozen
class ProposalRefused:
    """The controller refuses ``proposal``, or could not be asked."""

    proposal: Proposal
    code: ErrorCode


Event = Appended | Fetched | LagChecked | Settled | ProposalRefused | Assignment | Conditions


@attrs.frozen
class Effects:
    """``high_watermark`` if it has risen; ``proposal`` if the controller is to be asked."""

    high_watermark: int | None = None
    proposal: Proposal | None = None


@attrs.frozen
class Follower:
    """What is known of a follower since this leadership began.

    ``caught_up_at_ms`` is the last time at which it had all that the leader had: of now, or of when it last asked.
    """

    caught_up_at_ms: float
    end_offset: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET
    broker_epoch: int | None = None
    fetched_at_ms: float = NEVER
    leader_end_offset: int = UNKNOWN_OFFSET
    """Where the leader's log ended when the follower last asked."""

    def fetched(self, now_ms: float, event: Fetched, leader_end_offset: int) -> Follower:
        caught_up_at_ms = self.caught_up_at_ms
        if event.end_offset >= leader_end_offset:
            caught_up_at_ms = now_ms
        elif event.end_offset >= self.leader_end_offset:
            caught_up_at_ms = max(caught_up_at_ms, self.fetched_at_ms)
        return Follower(
            caught_up_at_ms,
            event.end_offset,
            event.log_start_offset,
            event.broker_epoch,
            now_ms,
            max(leader_end_offset, self.leader_end_offset),
        )

    def is_caught_up(self, now_ms: float, leader_end_offset: int, lag_max_ms: int) -> bool:
        return self.end_offset == leader_end_offset or now_ms - self.caught_up_at_ms <= lag_max_ms


class Leadership:
    """The leadership of one partition, from when this broker became its leader until it is no more.

    ``end_offset`` and ``high_watermark`` are those of its log then. ``isr`` is what the controller last said,
    ``pending`` what it was asked and has not answered.
    """

    def __init__(
        self, conditions: Conditions, assignment: Assignment, end_offset: int, high_watermark: int, now_ms: float
    ) -> None:
        self._conditions = conditions
        self.replicas = assignment.replicas
        self.isr = assignment.isr
        self.leader_epoch = assignment.leader_epoch
        self.partition_epoch = assignment.partition_epoch
        self.epoch_start_offset = self.end_offset = end_offset
        self.high_watermark = high_watermark
        self.pending: Proposal | None = None
        self.followers = {replica: self._newcomer(replica, now_ms) for replica in self._others()}
        self._advance(now_ms)

    def step(self, now_ms: float, event: Event) -> Effects:
        """Take in what happened. A Settled or ProposalRefused that is not about ``pending`` changes nothing."""
        proposal: Proposal | None = None
        match event:
            case Appended():
                self.end_offset = event.end_offset
            case Fetched():
                proposal = self._fetched(now_ms, event)
            case LagChecked():
                proposal = self._without_laggards(now_ms)
            case Settled():
                self._settled(event)
            case ProposalRefused():
                proposal = self._refused(event)
            case Assignment():
                self._assigned(now_ms, event)
            case Conditions():
                self._conditions = event
        return Effects(self._advance(now_ms), proposal)

    # What others ask.

    def check(self, replica_id: int, broker_epoch: int) -> None:
        """A Fetch of this replica may count.

        Raises:
            KafkaError: UNKNOWN_LEADER_EPOCH if it is not (yet) a replica as far as is known here,
                NOT_LEADER_OR_FOLLOWER for a former incarnation of the broker (KIP-903).
        """
        if replica_id not in self.followers:
            raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH, f"Broker {replica_id} is not known as a replica.")
        active = self._conditions.active_epochs.get(replica_id)
        if broker_epoch != ANY_BROKER_EPOCH and active is not None and broker_epoch < active:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"Broker {replica_id} has a newer epoch, {active}.")

    @property
    def maximal_isr(self) -> frozenset[int]:
        """Every replica that may be in the ISR by now."""
        proposed = () if self.pending is None else (replica for replica, _ in self.pending.isr)
        return frozenset((*self.isr, *proposed))

    @property
    def min_isr(self) -> int:
        """How many replicas must be in sync: a partition cannot have more of them than it has replicas."""
        return min(self._conditions.min_isr, len(self.replicas))

    def low_watermark(self, log_start_offset: int) -> int:
        """The least start of a log among the replicas with active brokers; ``log_start_offset`` is the leader's."""
        starts = (
            follower.log_start_offset
            for replica, follower in self.followers.items()
            if replica in self._conditions.active_epochs
        )
        return min((log_start_offset, *starts))

    # The steps.

    def _others(self) -> tuple[int, ...]:
        return tuple(replica for replica in self.replicas if replica != self._conditions.node_id)

    def _newcomer(self, replica_id: int, now_ms: float) -> Follower:
        """A member of the ISR counts as caught up until it has had its time to show."""
        return Follower(now_ms if replica_id in self.isr else NEVER)

    def _fetched(self, now_ms: float, event: Fetched) -> Proposal | None:
        follower = self.followers[event.replica_id].fetched(now_ms, event, self.end_offset)
        self.followers[event.replica_id] = follower
        in_sync = follower.end_offset >= max(self.high_watermark, self.epoch_start_offset)
        if self.pending is None and event.replica_id not in self.isr and in_sync and self._may_join(event.replica_id):
            return self._propose((*self.isr, event.replica_id))
        return None

    def _may_join(self, replica_id: int) -> bool:
        active = self._conditions.active_epochs.get(replica_id)
        fetched_in = self.followers[replica_id].broker_epoch
        return active is not None and fetched_in in (ANY_BROKER_EPOCH, active)

    def _without_laggards(self, now_ms: float) -> Proposal | None:
        if self.pending is not None:
            return None
        left = tuple(
            replica
            for replica in self.isr
            if replica not in self.followers
            or self.followers[replica].is_caught_up(now_ms, self.end_offset, self._conditions.lag_max_ms)
        )
        return None if left == self.isr else self._propose(left)

    def _propose(self, isr: tuple[int, ...]) -> Proposal:
        members = tuple((replica, self._epoch_of(replica)) for replica in isr)
        self.pending = Proposal(self.leader_epoch, self.partition_epoch, members)
        return self.pending

    def _epoch_of(self, replica_id: int) -> int:
        """A member of which nothing was heard yet is not vouched for; the controller knows whether it is the same."""
        follower = self.followers.get(replica_id)
        known = None if follower is None else follower.broker_epoch
        return ANY_BROKER_EPOCH if known is None else known

    def _settled(self, event: Settled) -> None:
        if event.proposal == self.pending:
            self.isr, self.partition_epoch, self.pending = event.isr, event.partition_epoch, None

    def _refused(self, event: ProposalRefused) -> Proposal | None:
        """Nobody knows whether a request that got no answer was carried out: then it is made again, as it was."""
        if event.proposal != self.pending or event.code in _OUTDATED:
            return None
        if event.code in _NOT_DONE:
            self.pending = None
        return self.pending

    def _assigned(self, now_ms: float, event: Assignment) -> None:
        """Take over what the metadata says, unless it is older than the controller's last answer.

        An answer says nothing of the replicas, so metadata of the same partition epoch counts too
        (``Partition.makeLeader``). A proposal outlives only metadata that changes neither epoch: the controller refuses
        one that was made in a former epoch.
        """
        if event.partition_epoch < self.partition_epoch:
            return
        elected = event.leader_epoch > self.leader_epoch
        if elected or event.partition_epoch > self.partition_epoch:
            self.pending = None
        self.replicas, self.isr, self.partition_epoch = event.replicas, event.isr, event.partition_epoch
        self.leader_epoch = event.leader_epoch
        if elected:
            self.epoch_start_offset = self.end_offset
        self.followers = {replica: self._known(replica, now_ms, elected) for replica in self._others()}

    def _known(self, replica_id: int, now_ms: float, elected: bool) -> Follower:
        follower = self.followers.get(replica_id)
        if follower is None:
            return self._newcomer(replica_id, now_ms)
        if not elected:
            return follower
        shown_at_ms = now_ms if replica_id in self.isr else NEVER
        return attrs.evolve(
            follower, caught_up_at_ms=shown_at_ms, fetched_at_ms=shown_at_ms, leader_end_offset=self.end_offset
        )

    def _advance(self, now_ms: float) -> int | None:
        """Raise the high watermark to what all have who are, or are about to be, in sync.

        Without enough replicas in sync it stays (KIP-966). A follower that is about to join is waited for, or it would
        never reach a high watermark that is the leader's end.
        """
        if len(self.isr) < self.min_isr:
            return None
        high_watermark = self.end_offset
        if self.followers:
            maximal_isr = self.maximal_isr
            lag_max_ms = self._conditions.lag_max_ms
            for replica, follower in self.followers.items():
                if follower.end_offset < high_watermark and (
                    replica in maximal_isr
                    or (follower.is_caught_up(now_ms, self.end_offset, lag_max_ms) and self._may_join(replica))
                ):
                    high_watermark = follower.end_offset
        if high_watermark <= self.high_watermark:
            return None
        self.high_watermark = high_watermark
        return high_watermark
