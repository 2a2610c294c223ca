"""The lag that ``kraft groups describe`` prints."""

from __future__ import annotations

import pytest

from kraft.cli.groups import lag_of


@pytest.mark.parametrize(("committed", "end", "lag"), [(3, 10, 7), (10, 3, 0), (None, 10, None), (3, None, None)])
def test_the_lag_is_never_negative_and_unknown_without_both_ends(
    committed: int | None, end: int | None, lag: int | None
) -> None:
    assert lag_of(committed, end) == lag
