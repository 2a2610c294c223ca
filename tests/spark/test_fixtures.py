"""The fixture ``kraft_spark`` as a user has it: in a pytest of its own, with a cluster beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kraft.spark.fixtures import session_for_tests
from tests.support.node_process import environment

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 580.0


@pytest.mark.parametrize("line", ["spark.jars", "=x", "jars=x.jar"])
def test_a_line_that_is_no_setting_is_named(line: str) -> None:
    """A wrong option is named; the session does not start."""
    with pytest.raises(ValueError, match=f"kraft_spark_settings: '{line}' is not of the form"):
        session_for_tests([line])


def test_a_job_and_its_cluster_in_one_test(tmp_path: Path) -> None:
    """The docs' test runs as it stands there; the ini option reaches the session."""
    page = (ROOT / "docs" / "spark-tests.md").read_text()
    (ini,) = (block.removeprefix("ini\n") for block in page.split("```") if block.startswith("ini\n"))
    (test,) = (block.removeprefix("python\n") for block in page.split("```") if block.startswith("python\n"))
    (tmp_path / "pytest.ini").write_text(ini)
    (tmp_path / "test_totals.py").write_text(test)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr
