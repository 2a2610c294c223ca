"""Every example on Spark runs, ends by itself and prints the lines of its ``.out`` file; and it is short."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.node_process import ROOT, environment

LINE_LIMIT = 80
TIMEOUT_S = 580.0
EXAMPLES = sorted((ROOT / "examples").glob("spark_*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_prints_what_it_promises(example: Path, tmp_path: Path) -> None:
    assert len(example.read_text().splitlines()) <= LINE_LIMIT
    command = [sys.executable, str(example)]
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == example.with_suffix(".out").read_text()
