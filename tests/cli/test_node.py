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
