"""Which tests coverage watches. Watching doubles or trebles the CPU time of a test.

The mark ``no_cover`` (pytest-cov's) takes it off a test that is long and reaches no branch that other tests do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_covered(values: Iterable[Any]) -> list[Any]:
    """Return parameters of which only the first is watched: the seeds of one test run the same lines."""
    return [pytest.param(value, marks=[pytest.mark.no_cover] * bool(number)) for number, value in enumerate(values)]
