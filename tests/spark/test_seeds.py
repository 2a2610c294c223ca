"""The loop of the campaigns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.seeds import run_seeds


def test_a_failed_seed_ends_no_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    """ "Return the exit status: 1 if a seed failed.\""""
    directories = set()

    def run(seed: int, directory: Path) -> str:
        assert directory.is_dir()
        directories.add(directory)
        assert seed != 3, "the tables differ"
        return f"seed {seed} is right"

    assert run_seeds("2:5", run, "the files are equal") == 1
    printed = capsys.readouterr().out
    assert printed.startswith("seed 2 is right\nseed 3: failed\nTraceback")
    assert "the tables differ" in printed
    assert printed.endswith("seed 4 is right\n2 of 3 seeds: the files are equal\n")
    assert len(directories) == 3
    assert run_seeds("4:5", run, "") == 0
