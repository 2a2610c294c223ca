"""The result of the experiment on the two generations of the control plane: how long a controller's failover takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from kraft.story.experiments.control_plane import Quantiles
from kraft.story.experiments.plots import DEDICATED_COLOUR, SHARED_COLOUR, PlotLine, line_traces, log_axis, plot
from kraft.story.report.page import document
from kraft.story.report.section import Figure, FigureTable, Section
from kraft.story.report.words import duration

TITLE = "Failover of a controller in both generations"
HINT = "Point at a sign to see its value."
FOOTER = "Made by kraft experiment generations."
ZOOKEEPER, QUORUM = "ZooKeeper", "KRaft"
ORDER_OF_MAGNITUDE = 10.0
_COLOURS = {ZOOKEEPER: SHARED_COLOUR, QUORUM: DEDICATED_COLOUR}


@attrs.frozen
class ControllerLoss:
    """The active controller is killed. Times in milliseconds since the epoch.

    ``elected_ms`` is the time when another controller was elected, ``usable_ms`` that of the first change of the
    metadata that it acknowledged.
    """

    killed_ms: float
    elected_ms: float
    usable_ms: float


@attrs.frozen
class GenerationCell:
    """The losses of one software in one mode, with so many partitions."""

    software: str
    mode: str
    partitions: int
    losses: Sequence[ControllerLoss]

    @property
    def detection(self) -> Quantiles:
        """From ``kill -9`` until another controller is elected: a timeout that the user sets."""
        return Quantiles.of(loss.elected_ms - loss.killed_ms for loss in self.losses)

    @property
    def takeover(self) -> Quantiles:
        """From the election until the first acknowledged change."""
        return Quantiles.of(loss.usable_ms - loss.elected_ms for loss in self.losses)


@attrs.frozen
class GenerationsResult:
    """All cells of a run, and the circumstances as (name, text) pairs."""

    circumstances: Sequence[tuple[str, str]]
    cells: list[GenerationCell]

    @property
    def software(self) -> list[str]:
        return list(dict.fromkeys(cell.software for cell in self.cells))

    def ratios(self) -> Iterator[tuple[str, int, float]]:
        """Yield for each software and number of partitions how much longer the ZooKeeper era's takeover takes."""
        found = {(cell.software, cell.partitions, cell.mode): cell.takeover.p50 for cell in self.cells}
        for (software, partitions, mode), legacy in found.items():
            quorum = found.get((software, partitions, QUORUM))
            if mode == ZOOKEEPER and quorum:
                yield software, partitions, legacy / quorum


def render(result: GenerationsResult) -> str:
    """Return the page. Raises PlotlyMissing if plotly is not installed."""
    return document(
        TITLE,
        "; ".join(f"{name}: {text}" for name, text in result.circumstances),
        [_section(result)],
        tiles=[(f"{ratio:.1f}×", f"{software}, {count:,} partitions") for software, count, ratio in result.ratios()],
        hint=HINT,
        footer=FOOTER,
    )


def figures(result: GenerationsResult) -> dict[str, Figure]:
    """Return the figures for pictures, by the names of their files."""
    return {"takeover": _figure(result)}


def markdown(result: GenerationsResult) -> str:
    """Return the table as Markdown."""
    section = _section(result)
    assert section.table is not None
    rows = [f"| {' | '.join(row)} |" for row in (section.table.head, *section.table.rows)]
    said = [f"- {name}: {text}" for name, text in result.circumstances]
    rule = "|---" * len(section.table.head) + "|"
    return "\n".join([*said, "", " ".join(section.sentences), "", rows[0], rule, *rows[1:]]) + "\n"


def _section(result: GenerationsResult) -> Section:
    head = ("software", "mode", "partitions", "losses", "election p50 ms", "max", "takeover p50 ms", "max")
    rows = [
        (cell.software, cell.mode, f"{cell.partitions:,}", len(cell.losses), *_times(cell.detection, cell.takeover))
        for cell in result.cells
    ]
    return Section(
        "takeover",
        "From the election of a controller until its first change",
        list(_sentences(result)),
        [_figure(result)],
        FigureTable.of(head, rows),
        ["Until the election a timeout passes: of the session with ZooKeeper, or of a follower's Fetch."],
    )


def _times(*found: Quantiles) -> list[str]:
    return [f"{value:,.0f}" for each in found for value in (each.p50, each.max)]


def _sentences(result: GenerationsResult) -> Iterator[str]:
    for software, partitions, ratio in result.ratios():
        claim = "an order of magnitude or more" if ratio >= ORDER_OF_MAGNITUDE else "less than an order of magnitude"
        yield f"{software}, {partitions:,} partitions: a takeover with ZooKeeper takes {ratio:.1f}× the time, {claim}."


def _figure(result: GenerationsResult) -> Figure:
    lines = []
    for place, software in enumerate(result.software):
        for mode in (ZOOKEEPER, QUORUM):
            cells = [cell for cell in result.cells if (cell.software, cell.mode) == (software, mode) and cell.losses]
            if cells:
                x = [cell.partitions for cell in cells]
                y = [cell.takeover.p50 for cell in cells]
                texts = [f"{software}, {mode}, {cell.partitions:,}: {duration(cell.takeover.p50)}" for cell in cells]
                dash = "dot" if place else "solid"
                lines.append(PlotLine(f"{software}, {mode}", x, y, _COLOURS[mode], dash, texts))
    traces = line_traces(lines, "lines+markers")
    return plot("From the election until the first change (median)", traces, log_axis("partitions"), log_axis("ms"))
