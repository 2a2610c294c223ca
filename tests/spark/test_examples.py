"""Every example on Spark runs, ends by itself and prints the lines of its ``.out`` file; and it is short."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.busy import BUSY, MAX_BUSY
from tests.support.node_process import ROOT, environment

LINE_LIMIT = 80
TIMEOUT_S = 580.0
EXAMPLES = sorted((ROOT / "examples").glob("spark_*.py"))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_prints_what_it_promises(example: Path, tmp_path: Path) -> None:
    assert len(example.read_text().splitlines()) <= LINE_LIMIT
    for number in range(MAX_BUSY + 1):
        ran = run(example, tmp_path / str(number))
        if BUSY not in ran.stderr:
            break
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == example.with_suffix(".out").read_text()


def run(example: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    directory.mkdir()
    command = [sys.executable, str(example)]
    return subprocess.run(
        command, cwd=directory, env=environment(), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
