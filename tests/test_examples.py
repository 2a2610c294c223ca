"""Every example runs, ends by itself and has the output of its ``.out`` file; and it is short.

If times and leaders differ from run to run, there is a ``.pattern`` file, too. Each of its lines matches a line of the
output, in order, and of the ``.out`` file, which is one such run.

``tests/spark/test_examples.py`` runs the examples that need Spark.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
LIMIT_S = 500
"""For an example that hangs. On a very busy machine the longest takes a minute."""
LINE_LIMIT = 100
ELECTION_BY_HAND_LINES = 60


def by_name(path: Path) -> str:
    return path.stem


examples = pytest.mark.parametrize("example", sorted(EXAMPLES.glob("[0-9]*.py")), ids=by_name)


@examples
def test_an_example_prints_its_recorded_output(example: Path) -> None:
    ran = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ran.returncode == 0, ran.stderr
    recorded = example.with_suffix(".out").read_text()
    pattern = example.with_suffix(".pattern")
    if not pattern.exists():
        assert ran.stdout == recorded
        return
    for output in (recorded, ran.stdout):
        lines = iter(output.splitlines())
        for wanted in pattern.read_text().splitlines():
            assert any(re.search(wanted, line) for line in lines), f"no line (from there on) with {wanted!r}:\n{output}"


@examples
def test_an_example_is_short(example: Path) -> None:
    by_hand = example.stem == "04_an_election_by_hand"
    assert len(example.read_text().splitlines()) <= (ELECTION_BY_HAND_LINES if by_hand else LINE_LIMIT)
