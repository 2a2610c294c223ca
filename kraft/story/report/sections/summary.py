"""The head of the page: a few figures that a reader takes away."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from kraft.story.report.figure import within
from kraft.story.report.model import ClusterReport
from kraft.story.report.sections.brokers import fenced_times
from kraft.story.report.sections.quorum import leaderless
from kraft.story.report.words import clean, count, duration, percent, plural


def node_ids(report: ClusterReport) -> set[int]:
    """Return the ids of all nodes that the report names."""
    return {node for node in _named(report) if node is not None}


def _named(report: ClusterReport) -> Iterator[int | None]:
    yield from (node.id for node in report.nodes)
    yield from (period.leader for period in report.leadership)
    yield from (outage.broker for outage in report.unavailability)
    yield from (period.broker for period in report.brokers)
    yield from (term.leader for term in report.quorum.terms)
    for election in report.quorum.elections:
        yield from (candidacy.node for candidacy in election.candidacies)
        for vote in election.votes:
            yield from (vote.voter, vote.candidate)


def tiles(report: ClusterReport) -> list[tuple[str, str]]:
    """Return figures with their meanings."""
    brokers = {node.id for node in report.nodes if "broker" in node.roles} | {each.broker for each in report.brokers}
    known = {(period.topic, period.partition) for period in report.leadership}
    partitions = max(report.partitions or 0, len(known))
    chosen = []
    if brokers or partitions:
        chosen = [(f"{len(brokers):,}", f"{plural(len(brokers), 'broker')}, {count(partitions, 'partition')}")]
    cluster = [*_quorum(report), *_availability(report, partitions), *_fenced(report), *_latency(report)]
    return [*chosen, *cluster, *_campaigns(report)]


def _quorum(report: ClusterReport) -> Iterator[tuple[str, str]]:
    led = sorted((term for term in report.quorum.terms if term.leader is not None), key=attrgetter("epoch"))
    if led:
        changes = sum(report.start_ms <= term.start_ms <= report.end_ms for term in led[1:])
        yield f"{changes:,}", f"{plural(changes, 'change')} of the active controller"
    gaps = leaderless(report)
    if gaps:
        longest_ms = max(gap.end_ms - gap.start_ms for gap in gaps)
        yield duration(longest_ms), "the longest time without an active controller"


def _availability(report: ClusterReport, partitions: int) -> Iterator[tuple[str, str]]:
    spans = [span for outage in report.unavailability if (span := within(report, outage)) is not None]
    partitions = max(partitions, len({(outage.topic, outage.partition) for outage in report.unavailability}))
    whole_ms = (report.end_ms - report.start_ms) * partitions
    if whole_ms:
        lost_ms = sum(end_ms - start_ms for start_ms, end_ms in spans)
        yield percent(whole_ms - lost_ms, whole_ms), "of the partitions' time had a leader"
    if spans:
        yield duration(max(end_ms - start_ms for start_ms, end_ms in spans)), "the longest outage of a partition"


def _fenced(report: ClusterReport) -> Iterator[tuple[str, str]]:
    fenced = fenced_times(report)
    if fenced:
        yield duration(max(fenced.values())), "the longest time a broker was fenced"


def _latency(report: ClusterReport) -> Iterator[tuple[str, str]]:
    windows = [window for window in report.latency if window.count]
    if windows:
        worst = max(windows, key=lambda window: window.p99_ms)
        yield duration(worst.p99_ms), f"the worst p99, on the {clean(worst.plane, 30)} plane"


def _campaigns(report: ClusterReport) -> Iterator[tuple[str, str]]:
    if report.campaigns:
        seeds = sum(campaign.seeds for campaign in report.campaigns)
        failed = sum(campaign.failed for campaign in report.campaigns)
        yield f"{seeds:,}", f"simulated {plural(seeds, 'seed')}"
        yield f"{failed:,}", "of them failed"
