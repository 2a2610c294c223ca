"""The arithmetic of the commit benchmark."""

from __future__ import annotations

import pytest

from tests.bench.commit import _mean_of_last


def test_the_average_excludes_earlier_changes() -> None:
    values = [9.0, 7.0, 8.0, 1.0, 2.0]
    before, last = values[:3], values[3:]
    told = sum(before) / 3, 3, sum(values) / 5, 2
    assert _mean_of_last(*told) == pytest.approx(sum(last) / 2)
