"""Apache Kafka's metadata shell is run again where it hangs or prints too early, and a hang is never silent."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from tests.support import apache_tool as module
from tests.support.apache_process import Apache
from tests.support.apache_tool import METADATA_SHELL, SHELL_RUNS, HungTool, metadata_shell
from tests.support.hangs import take_hangs
from tests.support.node_process import environment

pytest_plugins = ["pytester"]

LIMIT_S = 3.0
"""A shell prints a line within this."""
SHORT_LIMIT_S = 0.1
"""For a tool that never ends, with or without a line."""
TESTS = """
from tests.support import hangs

def test_that_passes():
    hangs.note_hang("org.apache.Tool did not end within 60 s")

def test_of_something_else():
    pass
"""


@attrs.frozen
class Hanging(Apache):
    """Prints the number of its run, and ends only from its run number ``hangs`` + 1 on."""

    version: str = "none"
    hangs: int = 0
    runs: Path = Path()

    def java(self, main_class: str, *arguments: str) -> list[str]:
        so_far = len(self.runs.read_text()) if self.runs.exists() else 0
        self.runs.write_text("x" * (so_far + 1))
        end = "exec sleep 1000" if so_far < self.hangs else "exit 0"
        return ["sh", "-c", f"echo {so_far + 1}; echo InitializeNewPublishers >&2; {end}"]


def test_a_shell_that_hangs_once_is_run_again_and_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHELL_LIMIT_S", LIMIT_S)
    kind = Hanging(hangs=1, runs=tmp_path / "runs")
    assert metadata_shell("x.checkpoint", "ls", until=bool, kind=kind) == "2\n"
    (hang,) = take_hangs()
    assert hang == f"{METADATA_SHELL} did not end within {LIMIT_S:g} s; it last said: InitializeNewPublishers"
    assert take_hangs() == [], "each is taken once"


def test_a_shell_that_hangs_always_fails_its_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHELL_LIMIT_S", SHORT_LIMIT_S)
    kind = Hanging(hangs=1000, runs=tmp_path / "runs")
    with pytest.raises(HungTool, match=r"MetadataShell did not end"):
        metadata_shell("x.checkpoint", "ls", until=bool, kind=kind)
    assert len(take_hangs()) == len(kind.runs.read_text()) == SHELL_RUNS


def test_a_shell_that_printed_too_early_is_run_again(tmp_path: Path) -> None:
    kind = Hanging(runs=tmp_path / "runs")
    assert metadata_shell("x.checkpoint", "ls", until=lambda answer: answer == "3\n", kind=kind) == "3\n"
    assert metadata_shell("x.checkpoint", "ls", until=lambda answer: False, kind=kind) == f"{3 + SHELL_RUNS}\n"
    assert take_hangs() == []


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_the_summary_has_every_hang(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    """Also those of a test that passed, in whichever process it ran."""
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    pytester.makeconftest("from tests.conftest import *")
    pytester.makepyfile(**{"tests/test_tools": TESTS})
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *workers)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["*1 calls of other programs and clients did not end*", "*test_that_passes: org.apache.Tool did not end*"]
    )
