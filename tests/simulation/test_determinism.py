"""A seed gives the same events in every process, with every hash seed and Python, on every machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import attr
import attrs
import pytest

from kraft.simulation.campaign import run_seed
from kraft.simulation.plan import Profile, draw_knobs
from tests.simulation.golden import SEEDS, hashes, recorded

ROOT = Path(__file__).parents[2]
SCRIPT = f"""
import json
from kraft.simulation.campaign import run_seed
print(json.dumps({{str(seed): run_seed(seed).trace_hash for seed in {SEEDS!r}}}))
"""
MINORS = (11, 12, 13, 14)


def hashes_of(python: str, search_path: str, hash_seed: str) -> dict[str, str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": search_path}
    ran = subprocess.run(
        [python, "-c", SCRIPT], env=environment, cwd=ROOT, capture_output=True, check=True, text=True, timeout=100
    )
    found: dict[str, str] = json.loads(ran.stdout)
    return found


def pythons() -> dict[str, str]:
    """The other supported Pythons of this machine, by version: on the path, or installed by pyenv."""
    on_path = [shutil.which(f"python3.{minor}") for minor in MINORS]
    by_pyenv = sorted(Path.home().glob(".pyenv/versions/3.1[1-4]*/bin/python"))
    found = {}
    for python in filter(None, [*on_path, *map(str, by_pyenv)]):
        ran = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2], sep='.')"], **QUIETLY)
        version = ran.stdout.strip()
        if ran.returncode == 0 and version != f"3.{sys.version_info[1]}":
            found.setdefault(version, python)
    return found


QUIETLY = {"capture_output": True, "text": True, "check": False, "timeout": 30}


def test_the_recorded_seeds_are_of_every_profile() -> None:
    knobs = [draw_knobs(seed) for seed in SEEDS]
    assert {knob.profile for knob in knobs} == set(Profile)
    assert {knob.voters for knob in knobs} == {1, 3, 5}
    assert any(knob.observers for knob in knobs)


def test_a_seed_is_the_run_that_was_recorded() -> None:
    """Another process recorded the hashes earlier. After an intended change of behaviour record them again with
    ``python -m tests.simulation.golden``.
    """
    assert hashes() == recorded()


@pytest.mark.parametrize("hash_seed", ["1", "4242"])
def test_a_seed_is_the_same_run_under_any_hash_seed(hash_seed: str) -> None:
    assert hashes_of(sys.executable, str(ROOT), hash_seed) == recorded()


def test_a_seed_is_the_same_run_in_every_python(tmp_path: Path) -> None:
    """The simulator needs only attrs, which is pure Python. So all Pythons use this one's attrs."""
    others = pythons()
    if not others:
        # A machine need not have a second Python, so this is no failure.
        pytest.skip(f"needs a second Python of 3.{MINORS[0]} to 3.{MINORS[-1]}, on the path or by pyenv: not compared")
    for package in (attr, attrs):
        (tmp_path / package.__name__).symlink_to(Path(package.__file__).parent)
    for version, python in others.items():
        assert hashes_of(python, os.pathsep.join([str(ROOT), str(tmp_path)]), "7") == recorded(), version


def test_a_trace_changes_nothing() -> None:
    lines: list[str] = []
    assert run_seed(5, trace=lines.append) == run_seed(5)
    assert any("Leader" in line for line in lines)


def test_other_seeds_are_other_runs() -> None:
    assert len(set(recorded().values())) == len(SEEDS)
