"""Figures of experiments as Plotly takes them, for a page and for pictures.

A picture has no style sheet. :func:`as_picture` therefore replaces the names of colours by those of the light page.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from kraft.story.report.figure import Trace, escaped, legend
from kraft.story.report.section import Figure

SHARED_COLOUR, DEDICATED_COLOUR = "#D55E00", "#0072B2"
PLOT_PX = 300
TOP_PX, BOTTOM_PX, LEFT_PX = 44, 110, 70
PICTURE_WIDTH = 960
_LIGHT = {
    "var(--paper)": "#ffffff",
    "var(--ink)": "#22252b",
    "var(--faint)": "#a3a9b5",
    "var(--grid)": "#e3e6eb",
}


class KaleidoMissing(Exception):
    """kaleido, which draws pictures, or the browser that it needs, is not installed."""


@attrs.frozen
class PlotLine:
    """A line or points of a plot."""

    name: str
    x: Sequence[object]
    y: Sequence[float]
    colour: str
    dash: str = "solid"
    hover: Sequence[str] = ()


def line_traces(lines: Sequence[PlotLine], mode: str) -> list[Trace]:
    return [
        {
            "type": "scatter",
            "mode": mode,
            "name": escaped(line.name),
            "x": list(line.x),
            "y": list(line.y),
            "hovertext": list(line.hover),
            "hoverinfo": "text" if line.hover else "all",
            "line": {"color": line.colour, "dash": line.dash, "width": 2},
            "marker": {"size": 7, "color": line.colour, "symbol": "circle" if line.dash == "solid" else "circle-open"},
        }
        for line in lines
    ]


def plot(title: str, traces: Sequence[Trace], x_axis: dict[str, object], y_axis: dict[str, object]) -> Figure:
    """Return a figure with a title and a legend below."""
    shared: dict[str, object] = {"gridcolor": "var(--grid)", "zeroline": False, "linecolor": "var(--faint)"}
    layout = {
        "title": {"text": escaped(title), "font": {"size": 14}},
        "height": TOP_PX + PLOT_PX + BOTTOM_PX,
        "margin": {"l": LEFT_PX, "r": 24, "t": TOP_PX, "b": BOTTOM_PX},
        "xaxis": {**shared, **x_axis},
        "yaxis": {**shared, **y_axis},
        "legend": legend(-58 / PLOT_PX),
    }
    if x_axis.get("type") == "category":
        layout["scattermode"] = "group"  # signs of one category lie side by side
    return {"data": list(traces), "layout": layout}


def log_axis(title: str) -> dict[str, object]:
    return {"type": "log", "dtick": 1, "title": {"text": escaped(title)}}


def as_picture(figure: Figure) -> Figure:
    """Return the figure in the colours of the light page."""
    found: Figure = _coloured(figure)
    font = {"family": "DejaVu Sans, sans-serif", "size": 12, "color": _LIGHT["var(--ink)"]}
    found["layout"] |= {"font": font, "paper_bgcolor": "#ffffff", "plot_bgcolor": "#ffffff"}
    return found


def _coloured(value: Any) -> Any:
    if isinstance(value, str):
        return _LIGHT.get(value, value)
    if isinstance(value, list | tuple):
        return [_coloured(each) for each in value]
    if isinstance(value, dict):
        return {name: _coloured(each) for name, each in value.items()}
    return value


def check_pictures() -> None:
    """Draw an empty picture, so that a measurement of half an hour does not end without one. Raises KaleidoMissing."""
    with TemporaryDirectory() as directory:
        write_picture({"data": [], "layout": {"height": 100}}, Path(directory) / "empty.png")


def write_picture(figure: Figure, path: Path) -> None:
    """Write the figure as a PNG file. Raises KaleidoMissing if plotly, kaleido or a browser for it is not installed."""
    try:
        from plotly.io import write_image

        height = figure["layout"]["height"]
        write_image(as_picture(figure), path, format="png", width=PICTURE_WIDTH, height=height, validate=False)
    except (ImportError, RuntimeError, ValueError) as error:
        raise KaleidoMissing(
            f"pictures need plotly, kaleido and Chromium: pip install '.[experiment]' ({error})"
        ) from error
