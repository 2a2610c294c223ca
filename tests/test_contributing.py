"""CONTRIBUTING.md: its steps for a first API work to the letter, in a copy of the checkout."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from kraft.messages.registry import ApiKey
from tests.support.node_process import environment

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
WALK = TEXT[TEXT.index("## Your first API") :]
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run(line: str, checkout: Path) -> str:
    command = line.replace("python ", f"{sys.executable} ", 1).replace("pytest ", f"{sys.executable} -m pytest -q ", 1)
    variables = {**environment(), "PYTHONPATH": str(checkout)}
    ran = subprocess.run(
        command.split(), cwd=checkout, env=variables, capture_output=True, text=True, timeout=500, check=False
    )
    assert ran.returncode == 0, f"{line}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def test_a_first_api(tmp_path: Path) -> None:
    """Specs, classes, file, test, tables: the API is served, listed, and its own test passes."""
    assert "DESCRIBE_DELEGATION_TOKEN" not in ApiKey.__members__, "served by now: the walk needs another API"
    ignored = shutil.ignore_patterns("__pycache__", ".*", "node_modules")
    for name in ("kraft", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    printed = ""
    for language, path, text in BLOCK.findall(WALK):
        if path:
            (tmp_path / path).write_text(text)
        elif language == "sh":
            printed += "".join(run(line, tmp_path) for line in text.splitlines())
    assert re.search(r"[1-9]\d* passed", printed)
    assert "| 41 | [DescribeDelegationToken]" in (tmp_path / "docs" / "apis.md").read_text()
