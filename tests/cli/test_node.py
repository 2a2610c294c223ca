"""``kraft node``: the same as ``python -m kraft.node``, under its own name."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("command", "name"), [(["kraft", "node"], "kraft node"), (["kraft.node"], "python -m kraft.node")]
)
def test_the_help_has_the_name_of_the_command(command: list[str], name: str) -> None:
    shown = subprocess.run([sys.executable, "-m", *command, "--help"], capture_output=True, text=True, timeout=60)
    assert shown.stdout.startswith(f"usage: {name} ")


INTERRUPTED = """
import runpy, sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "kraft.node.command":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("command", [["kraft", "node"], ["kraft.node"]])
def test_ctrl_c_during_the_imports_prints_no_traceback(command: list[str]) -> None:
    """docs/tools.md: the exit status "of Ctrl-C" is 130. The imports are most of a start."""
    arguments = [sys.executable, "-c", INTERRUPTED, *command]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr.strip()) == (130, "")
