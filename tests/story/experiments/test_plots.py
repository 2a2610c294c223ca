"""Figures for pictures: colours of the light page, and a clear error without what draws them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kraft.story.experiments.control_plane_page import figures
from kraft.story.experiments.plots import KaleidoMissing, as_picture, write_picture
from tests.story.experiments.results import measured


def test_a_picture_has_no_names_of_a_style_sheet() -> None:
    for figure in figures(measured()).values():
        assert "var(--" in json.dumps(figure)
        assert "var(--" not in json.dumps(as_picture(figure))


def test_without_plotly_a_picture_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "plotly.io", None)
    with pytest.raises(KaleidoMissing, match=r"\.\[experiment\]"):
        write_picture(figures(measured())["times-kraft"], tmp_path / "times.png")
