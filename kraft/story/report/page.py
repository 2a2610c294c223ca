"""The report as one HTML page with plots, which needs no network and can be sent as a file.

The page holds plotly.js once (some 5 MB), the figures as JSON, and for each figure a table. Its content security policy
allows its own two scripts and nothing from elsewhere, so a name from a client cannot become code.

Bounds keep size and drawing time from growing with the cluster: 40 rows of partitions with 400 bars each, 60 brokers,
4 planes with 720 windows each, 2,000 events of elections, 2,000 changes, 26 marks, 12 campaigns, and 200 rows in each
table. The page says how many of each kind it leaves out.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from string import Template

from kraft.story.report.marks import Marks, marks_of
from kraft.story.report.model import ClusterReport
from kraft.story.report.palette import Palette
from kraft.story.report.section import Figure, FigureTable, Section, left_out_note
from kraft.story.report.sections import (
    brokers,
    campaigns,
    changes,
    failovers,
    latency,
    partitions,
    quorum,
    summary,
    unavailability,
)
from kraft.story.report.words import clean, clock, count, duration, moment, timestamp

HINT = "Point at a bar to see its reason. Drag across a timeline to zoom all of them; double-click to see all again."
CAMPAIGNS_HINT = "Point at a bar to see its figures."
FOOTER = "Times are UTC, by the clock of the node that wrote them. Made by kraft."


class PlotlyMissing(Exception):
    """plotly is not installed."""


def render(report: ClusterReport) -> str:
    """Return the page. Raises PlotlyMissing if plotly, which brings plotly.js, is not installed."""
    marks = marks_of(report)
    return document(
        _title(report),
        _span(report),
        sections(report, marks),
        tiles=summary.tiles(report),
        events="" if report.cluster_id is None else _events(marks),
        hint=CAMPAIGNS_HINT if report.cluster_id is None else HINT,
        footer=FOOTER,
    )


def document(
    title: str,
    span: str,
    found: Sequence[Section],
    *,
    tiles: Sequence[tuple[str, str]],
    hint: str,
    footer: str,
    events: str = "",
) -> str:
    """Return a page with these sections. ``events`` is HTML, and everything else plain text.

    Raises PlotlyMissing if plotly, which brings plotly.js, is not installed.
    """
    plotly, script = _plotly(), _resource("page.js")
    contents = [section for section in found if section.table is not None]
    empty = [section for section in found if section.table is None]
    return Template(_resource("page.html")).substitute(
        title=html.escape(title),
        policy=_policy(plotly, script),
        style=_resource("page.css"),
        span=html.escape(span),
        tiles=_tiles(tiles),
        events=events,
        hint=html.escape(hint),
        nav=" ".join(f'<a href="#{each.id}">{html.escape(each.title)}</a>' for each in contents),
        sections="\n".join([*_numbered(contents), *_empty(empty)]),
        footer=html.escape(footer),
        figures=_json([figure for section in contents for figure in section.figures]),
        plotly=plotly,
        script=script,
    )


def sections(report: ClusterReport, marks: Marks) -> list[Section]:
    """Return the sections of the page, in order."""
    simulated = [campaigns.section(report), campaigns.failures(report)] if report.campaigns else []
    if report.cluster_id is None:
        return simulated
    palette = Palette(summary.node_ids(report))
    return [
        quorum.section(report, palette, marks),
        brokers.section(report, palette, marks),
        partitions.section(report, palette, marks),
        unavailability.section(report, palette, marks),
        latency.section(report, marks),
        changes.section(report, marks),
        failovers.section(report),
        changes.quarantine(report),
        *simulated,
    ]


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise PlotlyMissing("the report page needs plotly: pip install '.[spark]', or pip install plotly") from error
    return str(get_plotlyjs())


def _resource(name: str) -> str:
    return files("kraft.story.report").joinpath(name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts
    )
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'"


def _json(figures: Sequence[Figure]) -> str:
    """Return JSON that cannot end the script element in which it stands."""
    text = json.dumps(figures, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _title(report: ClusterReport) -> str:
    if report.cluster_id is None:
        return "Simulation campaigns"
    return f"What happened in cluster {clean(report.cluster_id, 60)}"


def _span(report: ClusterReport) -> str:
    until = clock(report.end_ms)
    if moment(report.start_ms).date() != moment(report.end_ms).date():
        until = timestamp(report.end_ms)
    return f"{timestamp(report.start_ms)} to {until} UTC, {duration(report.end_ms - report.start_ms)}"


def _tiles(tiles: Sequence[tuple[str, str]]) -> str:
    items = (
        f"<li><strong>{html.escape(figure)}</strong><span>{html.escape(text)}</span></li>" for figure, text in tiles
    )
    return f'<ul class="tiles">{"".join(items)}</ul>'


def _events(marks: Marks) -> str:
    if not marks.marks:
        return "<p>No broker was fenced and no controller changed in this time.</p>"
    items = (
        f"<dt>{mark.letter}</dt><dd>{clock(mark.ms)}</dd><dd>{html.escape(mark.text)}</dd>" for mark in marks.marks
    )
    return f'<dl class="events">{"".join(items)}</dl>{_paragraphs(_left_out(marks), "note")}'


def _left_out(marks: Marks) -> list[str]:
    return left_out_note(marks.left_out, "event", "there are as many as letters, the most important ones")


def _numbered(contents: Sequence[Section]) -> Iterator[str]:
    number = 0
    for section in contents:
        yield _section(section, number)
        number += len(section.figures)


def _empty(empty: Sequence[Section]) -> Iterator[str]:
    """Yield one section in place of those that have nothing to show."""
    if empty:
        items = (
            f'<dt>{html.escape(each.title)}</dt><dd id="{each.id}">{html.escape(" ".join(each.sentences))}</dd>'
            for each in empty
        )
        yield f'<section id="empty"><h2>Nothing to show</h2><dl class="empty">{"".join(items)}</dl></section>'


def _section(section: Section, first: int) -> str:
    sentences = list(section.sentences)
    plots = "".join(
        f'<div class="plot" data-figure="{number}" style="min-height:{figure["layout"]["height"]}px"></div>'
        for number, figure in enumerate(section.figures, first)
    )
    table = "" if section.table is None else _table(section.table, unfolded=not section.figures)
    return (
        f'<section id="{section.id}"><h2>{html.escape(section.title)}</h2>{_paragraphs([" ".join(sentences)], "lead")}'
        f"{plots}{_paragraphs(section.notes, 'note')}{table}</section>"
    )


def _paragraphs(texts: Sequence[str], kind: str) -> str:
    return "".join(f'<p class="{kind}">{html.escape(text)}</p>' for text in texts)


def _table(table: FigureTable, *, unfolded: bool) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in table.head)
    rows = "".join(f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>" for row in table.rows)
    notes = _paragraphs(left_out_note(table.left_out, "row", "the table has the first ones"), "note")
    return (
        f"<details{' open' if unfolded else ''}><summary>Figures: {count(len(table.rows), 'row')}</summary>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{notes}</details>'
    )
