"""Simulation campaigns: their speed and failures, the events of their seeds, and how to repeat a seed that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from kraft.story.report.figure import LEFT_PX, RIGHT_PX, ROW_PX, Trace, escaped, hover, legend, rows_axis
from kraft.story.report.model import ClusterReport, SimulationCampaign
from kraft.story.report.palette import BROKER_COLOURS, NOBODY_COLOUR
from kraft.story.report.section import Figure, FigureTable, Section, left_out_note
from kraft.story.report.words import clean, count, duration, listed, timestamp

TITLE = "Simulation campaigns"
MAX_CAMPAIGNS = 12
_FAILED = "failed"
_BOTTOM_PX = 90
_SPREAD_PX = 220
_COMMIT_DIGITS = 12


def section(report: ClusterReport) -> Section:
    campaigns = sorted(report.campaigns, key=attrgetter("end_ms"), reverse=True)
    shown = campaigns[:MAX_CAMPAIGNS]
    newest = campaigns[0]
    notes = left_out_note(len(campaigns) - len(shown), "campaign", "the plot shows the newest ones")
    if newest.spread:
        notes.append(f"The lower plot has the seeds of {_name(newest)}, the newest campaign. Its classes grow by 19 %.")
    return Section(
        "campaigns",
        TITLE,
        [_sentence(campaign) for campaign in campaigns[:2]],
        [_speed(shown), *([_spread(newest)] if newest.spread else [])],
        FigureTable.of(
            ("commit", "Python", "seeds", "from", "to", "failed", "run again", "disagreed", "events", "CPU s", "ended"),
            map(_row, campaigns),
        ),
        notes,
    )


def failures(report: ClusterReport) -> Section:
    """Return the section on the seeds that failed, each with the command that repeats it."""
    title = "Seeds that failed"
    failed = sum(campaign.failed for campaign in report.campaigns)
    if not failed:
        return Section("failed-seeds", title, ["No seed broke an invariant."])
    rows = [
        (
            _commit(campaign),
            f"{each.seed}",
            clean(each.profile),
            clean(each.invariant),
            clean(each.reason, 300),
            f"kraft simulate --seed {each.seed} --trace",
        )
        for campaign in sorted(report.campaigns, key=attrgetter("end_ms"), reverse=True)
        for each in sorted(campaign.failures, key=attrgetter("seed"))
    ]
    broken = Counter(row[3] for row in rows).most_common()
    said = listed(f"{name} ({times:,})" for name, times in broken[:4])
    return Section(
        "failed-seeds",
        title,
        [f"{count(failed, 'seed')} broke an invariant: {said}." if said else f"{count(failed, 'seed')} failed."],
        (),
        FigureTable.of(("commit", "seed", "profile", "invariant", "reason", "repeat it with"), rows),
        left_out_note(failed - len(rows), "failure", "the table campaign_verdicts has all of them"),
    )


def _commit(campaign: SimulationCampaign) -> str:
    """Return the name of the code, with the digits of a commit that people use."""
    commit, _, rest = campaign.commit.partition("-")
    short = commit[:_COMMIT_DIGITS]
    return clean(f"{short}-{rest}" if rest else short, 60)


def _name(campaign: SimulationCampaign) -> str:
    return f"{_commit(campaign)} with Python {clean(campaign.python, 20)}"


def _sentence(campaign: SimulationCampaign) -> str:
    said = f"{count(campaign.seeds, 'seed')} ran at {_name(campaign)}, {campaign.failed:,} of them failed"
    if campaign.disagreed:
        return f"{said}, and {campaign.disagreed:,} had another trace when run again."
    return f"{said}; {campaign.run_again:,} ran again and had the same trace."


def _rate(campaign: SimulationCampaign) -> float:
    """Return the simulated seconds per CPU second."""
    return campaign.simulated_s / campaign.cpu_s if campaign.cpu_s > 0 else 0.0


def _speed(campaigns: Sequence[SimulationCampaign]) -> Figure:
    groups = (
        ("no seed failed", BROKER_COLOURS[2], [place for place, each in enumerate(campaigns) if not each.failed]),
        ("seeds failed", NOBODY_COLOUR, [place for place, each in enumerate(campaigns) if each.failed]),
    )
    plot_px = ROW_PX * max(len(campaigns), 2)
    layout = {
        "height": 10 + plot_px + _BOTTOM_PX,
        "margin": {"l": LEFT_PX, "r": RIGHT_PX, "t": 10, "b": _BOTTOM_PX},
        "barmode": "overlay",
        "uniformtext": {"minsize": 9, "mode": "hide"},
        "showlegend": True,
        "legend": legend(-58 / plot_px),
        "xaxis": _counted("simulated seconds per CPU second"),
        "yaxis": rows_axis([_commit(campaign) for campaign in campaigns]),
    }
    traces = [_speed_trace(name, colour, campaigns, places) for name, colour, places in groups if places]
    return {"data": traces, "layout": layout}


def _speed_trace(name: str, colour: str, campaigns: Sequence[SimulationCampaign], places: Sequence[int]) -> Trace:
    shown = [campaigns[place] for place in places]
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": [_rate(campaign) for campaign in shown],
        "y": list(places),
        "width": 0.72,
        "text": [f"{campaign.seeds:,} seeds, {campaign.failed:,} failed" for campaign in shown],
        "textangle": 0,
        "hovertext": [_hover(campaign) for campaign in shown],
        "hoverinfo": "text",
        "marker": {"color": colour},
    }


def _hover(campaign: SimulationCampaign) -> str:
    return hover(
        f"{_name(campaign)}: {campaign.failed:,} of {count(campaign.seeds, 'seed')} failed",
        f"seeds {campaign.first_seed} to {campaign.last_seed}, {timestamp(campaign.start_ms)} to "
        f"{timestamp(campaign.end_ms)}",
        f"{campaign.events:,} events, {campaign.committed:,} records committed, "
        f"{duration(campaign.simulated_s * 1000)} simulated in {duration(campaign.cpu_s * 1000)} of CPU",
    )


def _spread(campaign: SimulationCampaign) -> Figure:
    """Return the seeds by their number of events: one colour for each profile, and one for failures."""
    quarters = [each.quarter for each in campaign.spread]
    classes = range(min(quarters), max(quarters) + 1)
    kinds = sorted({each.kind for each in campaign.spread}, key=lambda kind: (kind == _FAILED, kind))
    passed = dict(zip((kind for kind in kinds if kind != _FAILED), BROKER_COLOURS, strict=False))
    layout = {
        "height": 10 + _SPREAD_PX + _BOTTOM_PX,
        "margin": {"l": LEFT_PX, "r": RIGHT_PX, "t": 10, "b": _BOTTOM_PX},
        "barmode": "stack",
        "bargap": 0.08,
        "showlegend": True,
        "legend": legend(-58 / _SPREAD_PX),
        "xaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": [_least(each) for each in classes],
            "title": {"text": "events of a seed, from"},
            "tickangle": 0,
            "nticks": 12,
        },
        "yaxis": {**_counted("seeds"), "fixedrange": True},
    }
    traces: list[Trace] = []
    for kind in kinds:
        found = sorted((each for each in campaign.spread if each.kind == kind), key=attrgetter("quarter"))
        traces.append(
            {
                "type": "bar",
                "name": escaped(clean(kind, 40)),
                "x": [_least(each.quarter) for each in found],
                "y": [each.seeds for each in found],
                "hovertext": [
                    hover(
                        f"{clean(kind, 40)}: {count(each.seeds, 'seed')}",
                        f"{_least(each.quarter)} to below {_least(each.quarter + 1)} events",
                    )
                    for each in found
                ],
                "hoverinfo": "text",
                "marker": {"color": NOBODY_COLOUR if kind == _FAILED else passed.get(kind, "var(--faint)")},
            }
        )
    return {"data": traces, "layout": layout}


def _least(quarter: int) -> str:
    """Return the least number of events in a quarter of an octave."""
    return f"{round(2 ** (quarter / 4)):,}"


def _counted(title: str) -> dict[str, object]:
    return {
        "title": {"text": title},
        "rangemode": "tozero",
        "gridcolor": "var(--grid)",
        "zeroline": False,
        "tickformat": ",d",
    }


def _row(campaign: SimulationCampaign) -> tuple[str, ...]:
    return (
        _commit(campaign),
        clean(campaign.python, 20),
        f"{campaign.seeds:,}",
        f"{campaign.first_seed}",
        f"{campaign.last_seed}",
        f"{campaign.failed:,}",
        f"{campaign.run_again:,}",
        f"{campaign.disagreed:,}",
        f"{campaign.events:,}",
        f"{campaign.cpu_s:.1f}",
        timestamp(campaign.end_ms),
    )
