"""The input of the report page: what happened in a cluster between two times, as plain values.

Times are milliseconds since the Unix epoch. An ``end_ms`` of None means that the state lasted to the end of the report.
An interval may begin before the report or end after it; the page shows the part within. Values may come in any order.
Texts may hold anything, because a client chooses some of them: the page escapes and shortens them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol

import attrs

from kraft.story.quorum_timeline import LeaderTerm


class HasSpan(Protocol):
    """A value with a start and an end."""

    @property
    def start_ms(self) -> int: ...

    @property
    def end_ms(self) -> int | None: ...


def _not_before_start(instance: HasSpan, attribute: attrs.Attribute[Any], end_ms: int | None) -> None:
    if end_ms is not None and end_ms < instance.start_ms:
        raise ValueError(f"{type(instance).__name__} ends at {end_ms}, before its start at {instance.start_ms}")


def _end() -> Any:
    return attrs.field(default=None, validator=_not_before_start)


@attrs.frozen
class ClusterNode:
    """A broker or controller. ``roles`` are those of ``process.roles``; ``address`` is host and port, if known."""

    id: int
    roles: Sequence[str] = ("broker",)
    address: str = ""


@attrs.frozen
class LeadershipPeriod:
    """The time in which one broker led a partition. With ``leader`` None, the time in which nobody did."""

    topic: str
    partition: int
    leader: int | None
    epoch: int
    start_ms: int
    end_ms: int | None = _end()
    reason: str = ""


@attrs.frozen
class Unavailability:
    """The time in which no live broker led a partition. ``broker`` is the leader before, which caused it.

    It may begin before the metadata shows it: the controller fences a killed broker when its session times out.

    ``reason`` completes "Nobody led orders-0 for 2.3 s: …", as in "broker 2 was killed".
    """

    topic: str
    partition: int
    broker: int | None
    start_ms: int
    end_ms: int | None = _end()
    reason: str = ""


class BrokerState(Enum):
    """The states of a broker's registration."""

    REGISTERED = "registered, not yet unfenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "in controlled shutdown"
    FENCED = "fenced"


@attrs.frozen
class BrokerPeriod:
    """The time in which a broker's registration was in one state."""

    broker: int
    state: BrokerState
    start_ms: int
    end_ms: int | None = _end()
    reason: str = ""


@attrs.frozen
class Candidacy:
    """A node stood for election in ``epoch``. With ``pre_vote`` it requested pre-votes only (KIP-996)."""

    ms: int
    node: int
    epoch: int
    pre_vote: bool = False
    reason: str = ""


@attrs.frozen
class VoteCast:
    """The response of ``voter`` to the Vote request of ``candidate`` for ``epoch``, with the voter's reason."""

    ms: int
    voter: int
    candidate: int
    epoch: int
    granted: bool
    pre_vote: bool = False
    reason: str = ""


@attrs.frozen
class ElectionHistory:
    """The candidacies and votes for one epoch. Its leader, or the reason why there is none, is in its LeaderTerm."""

    epoch: int
    candidacies: Sequence[Candidacy] = ()
    votes: Sequence[VoteCast] = ()


@attrs.frozen
class QuorumHistory:
    """The leaders' terms of the metadata quorum and the elections between them."""

    terms: Sequence[LeaderTerm] = ()
    elections: Sequence[ElectionHistory] = ()


@attrs.frozen
class FailoverPhase:
    """A part of a failover, such as "silent until an election began". Phases of one failover do not overlap."""

    name: str
    start_ms: int
    end_ms: int = attrs.field(validator=_not_before_start)


@attrs.frozen
class Failover:
    """The active controller moved from node ``former`` to node ``successor``, the leader of ``epoch``."""

    epoch: int
    former: int | None
    successor: int
    phases: Sequence[FailoverPhase] = ()


@attrs.frozen
class LatencyWindow:
    """The response times of a plane's requests in one window of time, such as a minute. ``count`` is of all requests,
    estimated if the request log is sampled.
    """

    plane: str
    start_ms: int
    length_ms: int
    count: int
    p50_ms: float
    p90_ms: float
    p99_ms: float
    p999_ms: float


@attrs.frozen
class Change:
    """A change that a client made to the metadata, as in: ``who`` "client admin-1", ``what`` "CreateTopics",
    ``resource`` "topic orders", ``details`` "12 partitions".
    """

    ms: int
    who: str
    what: str
    resource: str
    details: str = ""


@attrs.frozen
class Quarantined:
    """The number of rows of a source that could not be decoded, for one reason."""

    source: str
    reason: str
    count: int


@attrs.frozen
class FailedSeed:
    """A simulated seed that broke an invariant. ``reason`` has the failure in words."""

    seed: int
    profile: str
    invariant: str
    reason: str = ""


@attrs.frozen
class EventSpread:
    """The number of seeds of one kind that had 2^(``quarter``/4) to below 2^((``quarter``+1)/4) events.

    The kind is ``failed``, or the profile of seeds that passed.
    """

    quarter: int
    kind: str
    seeds: int


@attrs.frozen
class SimulationCampaign:
    """All simulated seeds that ran with one code. ``failed`` counts all failures; ``failures`` may be some of them."""

    commit: str
    python: str
    start_ms: int
    end_ms: int = attrs.field(validator=_not_before_start)
    seeds: int
    first_seed: int
    last_seed: int
    failed: int
    run_again: int
    disagreed: int
    events: int
    committed: int
    simulated_s: float
    cpu_s: float
    failures: Sequence[FailedSeed] = ()
    spread: Sequence[EventSpread] = ()


@attrs.frozen
class NotableEvent:
    """An event that the caller knows, such as "broker 2 was killed". It becomes a vertical mark in all timelines.

    A ``disruptive`` event may be the occasion of an outage; the start of a node is not.
    """

    ms: int
    text: str
    node: int | None = None
    disruptive: bool = True


@attrs.frozen
class ClusterReport:
    """The whole input of the page.

    ``partitions`` counts all of the cluster. It may be more than those in ``leadership`` if the caller selected some;
    the page then says how many are left out. None: the count of ``leadership``.

    Without a ``cluster_id`` the page is about simulation campaigns alone.
    """

    cluster_id: str | None
    start_ms: int
    end_ms: int = attrs.field(validator=_not_before_start)
    nodes: Sequence[ClusterNode] = ()
    leadership: Sequence[LeadershipPeriod] = ()
    unavailability: Sequence[Unavailability] = ()
    brokers: Sequence[BrokerPeriod] = ()
    quorum: QuorumHistory = QuorumHistory()
    failovers: Sequence[Failover] = ()
    latency: Sequence[LatencyWindow] = ()
    changes: Sequence[Change] = ()
    quarantined: Sequence[Quarantined] = ()
    events: Sequence[NotableEvent] = ()
    partitions: int | None = None
    campaigns: Sequence[SimulationCampaign] = ()
