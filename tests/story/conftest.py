"""A stand-in for plotly.js, so that these tests need no extra."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

PLOTLY = "/* plotly.js */"


@pytest.fixture
def _plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("plotly.offline")
    module.get_plotlyjs = lambda: PLOTLY  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "plotly", ModuleType("plotly"))
    monkeypatch.setitem(sys.modules, "plotly.offline", module)
