"""Known stories for the report page: what happened is written here, so that a test can look for it on the page."""

from __future__ import annotations

import attrs

from kraft.story.quorum_timeline import LeaderTerm
from kraft.story.report.model import (
    BrokerPeriod,
    BrokerState,
    Candidacy,
    Change,
    ClusterNode,
    ClusterReport,
    ElectionHistory,
    Failover,
    FailoverPhase,
    LatencyWindow,
    LeadershipPeriod,
    NotableEvent,
    Quarantined,
    QuorumHistory,
    Unavailability,
    VoteCast,
)

START_MS = 1_795_270_800_000
BROKER_KILLED_MS = START_MS + 15_000
BROKER_FENCED_MS = START_MS + 19_200
BROKER_BACK_MS = START_MS + 41_000
CONTROLLER_KILLED_MS = START_MS + 30_000
CONTROLLER_ELECTED_MS = START_MS + 31_900
END_MS = START_MS + 60_000

_TOPICS = (("orders", 6), ("payments", 4), ("audit", 1))


def two_kills() -> ClusterReport:
    """A minute of three nodes. Broker 2 is killed at 15 s and back at 41 s; node 1, the active controller and a broker,
    is killed at 30 s. The only replica of audit-0 is on broker 2.
    """
    return ClusterReport(
        "kT3bqS3mT5SgV2iRk0GhZA",
        START_MS,
        END_MS,
        nodes=[ClusterNode(node, ("broker", "controller"), f"10.0.0.{node}:9092") for node in (1, 2, 3)],
        leadership=_leadership(),
        unavailability=_unavailability(),
        brokers=_brokers(),
        quorum=_quorum(),
        failovers=[
            Failover(
                6,
                1,
                3,
                [
                    FailoverPhase("silent, no election yet", CONTROLLER_KILLED_MS, CONTROLLER_KILLED_MS + 1_640),
                    FailoverPhase("election", CONTROLLER_KILLED_MS + 1_640, CONTROLLER_ELECTED_MS),
                    FailoverPhase("loading", CONTROLLER_ELECTED_MS, CONTROLLER_ELECTED_MS + 230),
                ],
            )
        ],
        latency=_latency(),
        changes=[
            Change(START_MS + 2_000, "admin-1", "CreateTopics", "topic orders", "6 partitions, 2 replicas"),
            Change(START_MS + 2_400, "admin-1", "CreateTopics", "topic payments", "4 partitions, 2 replicas"),
            Change(START_MS + 2_900, "admin-1", "CreateTopics", "topic audit", "1 partition, 1 replica"),
            Change(START_MS + 24_000, "deploy-bot", "IncrementalAlterConfigs", "topic orders", "retention.ms=86400000"),
            Change(START_MS + 52_000, "deploy-bot", "ElectLeaders", "topic orders", "preferred"),
        ],
        quarantined=[Quarantined("request log of node 2", "the line ends early", 1)],
        events=[
            NotableEvent(BROKER_KILLED_MS, "broker 2 was killed", 2),
            NotableEvent(CONTROLLER_KILLED_MS, "node 1, the active controller, was killed", 1),
        ],
    )


def without_failover() -> ClusterReport:
    """The same minute, without the failover of the controller: a page of it must fail the check of ``two_kills``."""
    story = two_kills()
    first = LeaderTerm(5, 1, START_MS - 600_000)
    return attrs.evolve(story, quorum=QuorumHistory([first]), failovers=(), events=story.events[:1])


HOSTILE = "</script><img src=x onerror=alert(1)><b>&amp;%{x}$x$\u202e\ud800'\""
"""A name that tries to become an element, a script, an entity, a template, a formula, and to turn the text around."""


def hostile() -> ClusterReport:
    """A minute in which every text that a client or a file supplies is HOSTILE."""
    story = two_kills()
    return attrs.evolve(
        story,
        cluster_id=HOSTILE,
        leadership=[attrs.evolve(each, topic=HOSTILE, reason=HOSTILE) for each in story.leadership[-2:]],
        unavailability=[attrs.evolve(each, topic=HOSTILE, reason=HOSTILE) for each in story.unavailability[-1:]],
        brokers=[attrs.evolve(each, reason=HOSTILE) for each in story.brokers],
        quorum=QuorumHistory(
            [attrs.evolve(each, why_ended=HOSTILE) for each in story.quorum.terms],
            [ElectionHistory(6, [Candidacy(CONTROLLER_KILLED_MS, 3, 6, reason=HOSTILE)])],
        ),
        failovers=[Failover(6, 1, 3, [FailoverPhase(HOSTILE, CONTROLLER_KILLED_MS, CONTROLLER_ELECTED_MS)])],
        latency=[attrs.evolve(each, plane=HOSTILE) for each in story.latency],
        changes=[Change(START_MS, HOSTILE, HOSTILE, HOSTILE, HOSTILE)],
        quarantined=[Quarantined(HOSTILE, HOSTILE, 1)],
        events=[NotableEvent(START_MS, HOSTILE)],
    )


def large(partitions: int, minutes: int = 60) -> ClusterReport:
    """An hour of six brokers with many partitions, one killed broker, and a partition that flaps."""
    end_ms = START_MS + minutes * 60_000
    killed_ms = START_MS + minutes * 20_000
    leadership: list[LeadershipPeriod] = []
    outages: list[Unavailability] = []
    for number in range(partitions):
        leader, topic = number % 6 + 1, f"events-{number // 50:02d}"
        if leader != 4:
            leadership.append(LeadershipPeriod(topic, number % 50, leader, 0, START_MS - 1_000))
            continue
        moved_ms = killed_ms + 9_000 + number // 250 * 40
        leadership.append(LeadershipPeriod(topic, number % 50, 4, 0, START_MS - 1_000, moved_ms, "broker 4 was fenced"))
        leadership.append(LeadershipPeriod(topic, number % 50, number // 6 % 3 + 1, 1, moved_ms))
        outages.append(Unavailability(topic, number % 50, 4, killed_ms, moved_ms, "broker 4 was killed"))
    step_ms = minutes * 60_000 // 3_000
    leadership += [
        LeadershipPeriod("flapping", 0, (number % 3) + 1 if number % 7 else None, number, start_ms, start_ms + step_ms)
        for number, start_ms in enumerate(range(START_MS, end_ms, step_ms))
    ]
    return ClusterReport(
        "large",
        START_MS,
        end_ms,
        nodes=[ClusterNode(node) for node in range(1, 7)],
        leadership=leadership,
        unavailability=outages,
        brokers=[
            *(BrokerPeriod(node, BrokerState.UNFENCED, START_MS - 1_000) for node in (1, 2, 3, 5, 6)),
            BrokerPeriod(4, BrokerState.UNFENCED, START_MS - 1_000, killed_ms + 9_000),
            BrokerPeriod(4, BrokerState.FENCED, killed_ms + 9_000, None, "its session timed out"),
        ],
        latency=[
            LatencyWindow(plane, START_MS + minute * 60_000, 60_000, 60_000, 0.8, 2.0, 9.0 + minute % 7, 40.0)
            for plane in ("data", "controller")
            for minute in range(minutes)
        ],
    )


def _leadership() -> list[LeadershipPeriod]:
    periods: list[LeadershipPeriod] = []
    created_ms = START_MS + 2_000
    place = 0
    for topic, partitions in _TOPICS:
        for partition in range(partitions):
            leader = 2 if topic == "audit" else place % 3 + 1
            periods += _history(topic, partition, leader, created_ms + 100 + 400 * (topic != "orders"))
            place += 1
    return periods


def _history(topic: str, partition: int, leader: int, created_ms: int) -> list[LeadershipPeriod]:
    if leader == 2 and topic == "audit":
        return [
            LeadershipPeriod(topic, partition, 2, 0, created_ms, BROKER_FENCED_MS, "topic created"),
            LeadershipPeriod(topic, partition, None, 1, BROKER_FENCED_MS, BROKER_BACK_MS, "broker 2 was fenced"),
            LeadershipPeriod(topic, partition, 2, 2, BROKER_BACK_MS, None, "broker 2 was unfenced"),
        ]
    if leader == 2:
        successor = 1 if partition % 2 else 3
        moved = LeadershipPeriod(topic, partition, successor, 1, BROKER_FENCED_MS, None, "broker 2 was fenced")
        created = LeadershipPeriod(topic, partition, 2, 0, created_ms, BROKER_FENCED_MS, "topic created")
        if successor == 3:
            return [created, moved]
        return [created, *_until_node_1_died(topic, partition, 1, BROKER_FENCED_MS, "broker 2 was fenced")]
    if leader == 1:
        return _until_node_1_died(topic, partition, 0, created_ms, "topic created")
    return [LeadershipPeriod(topic, partition, leader, 0, created_ms, None, "topic created")]


def _until_node_1_died(topic: str, partition: int, epoch: int, start_ms: int, reason: str) -> list[LeadershipPeriod]:
    moved_ms = CONTROLLER_ELECTED_MS + 4_300
    return [
        LeadershipPeriod(topic, partition, 1, epoch, start_ms, moved_ms, reason),
        LeadershipPeriod(topic, partition, 3, epoch + 1, moved_ms, None, "broker 1 was fenced"),
    ]


def _unavailability() -> list[Unavailability]:
    outages: list[Unavailability] = []
    for period in _leadership():
        name = period.topic, period.partition
        if period.leader == 2 and period.end_ms == BROKER_FENCED_MS:
            end_ms = BROKER_BACK_MS if period.topic == "audit" else BROKER_FENCED_MS
            outages.append(Unavailability(*name, 2, BROKER_KILLED_MS, end_ms, "broker 2 was killed"))
        if period.leader == 1 and period.end_ms is not None:
            outages.append(Unavailability(*name, 1, CONTROLLER_KILLED_MS, period.end_ms))
    return outages


def _brokers() -> list[BrokerPeriod]:
    fenced_ms = CONTROLLER_ELECTED_MS + 4_300
    return [
        BrokerPeriod(1, BrokerState.UNFENCED, START_MS - 600_000, fenced_ms),
        BrokerPeriod(1, BrokerState.FENCED, fenced_ms, None, "its session timed out"),
        BrokerPeriod(2, BrokerState.UNFENCED, START_MS - 600_000, BROKER_FENCED_MS),
        BrokerPeriod(2, BrokerState.FENCED, BROKER_FENCED_MS, BROKER_BACK_MS - 900, "its session timed out"),
        BrokerPeriod(2, BrokerState.REGISTERED, BROKER_BACK_MS - 900, BROKER_BACK_MS),
        BrokerPeriod(2, BrokerState.UNFENCED, BROKER_BACK_MS),
        BrokerPeriod(3, BrokerState.UNFENCED, START_MS - 600_000),
    ]


def _quorum() -> QuorumHistory:
    began_ms = CONTROLLER_KILLED_MS + 1_640
    return QuorumHistory(
        [
            LeaderTerm(5, 1, START_MS - 600_000, CONTROLLER_KILLED_MS, "node 3: 1 did not answer in time"),
            LeaderTerm(6, 3, CONTROLLER_ELECTED_MS),
        ],
        [
            ElectionHistory(
                6,
                [
                    Candidacy(began_ms, 3, 6, True, "1 did not answer in time"),
                    Candidacy(began_ms + 90, 3, 6, False, "2 and 3 would grant their votes"),
                ],
                [
                    VoteCast(began_ms + 40, 2, 3, 6, False, True, "my leader answers me"),
                    VoteCast(began_ms + 70, 2, 3, 6, True, True, "its log is at least as long as mine"),
                    VoteCast(began_ms + 180, 2, 3, 6, True, False, "its log is at least as long as mine"),
                ],
            )
        ],
    )


def _latency() -> list[LatencyWindow]:
    windows: list[LatencyWindow] = []
    for place in range(12):
        start_ms = START_MS + place * 5_000
        troubled = place in (3, 6, 7)
        windows.append(
            LatencyWindow(
                "data",
                start_ms,
                5_000,
                9_000 - 4_000 * troubled,
                1.1 + 0.2 * (place % 3),
                2.8 + troubled,
                8.5 + 190 * troubled,
                21.0 + 900 * troubled,
            )
        )
        if place != 6:
            windows.append(
                LatencyWindow("controller", start_ms, 5_000, 160, 0.7, 1.6, 4.0 + 3 * troubled, 9.0 + 4 * troubled)
            )
    return windows
