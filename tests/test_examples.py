"""Every example runs, ends by itself and prints what its ``.out`` file says; it is short, and it is quick.

Where times and winners differ from run to run there is a ``.pattern`` file instead: each of its lines is found in the
output, one after the other.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
CPU_LIMIT_S = 1.0
"""For those that start no process. CPU time, not time on the wall: other tests run beside."""
ATTEMPTS = 4
"""The first run may have to compile modules."""
YARDSTICK, YARDSTICK_S = ("-c", "import trio.testing"), 0.2
"""CPU time, too, grows where neighbours take the caches, to twice as much and more. That of any such start does, and
this is what one takes on a quiet core.
"""
LINE_LIMIT = 100
ELECTION_BY_HAND_LINES = 60


def by_name(path: Path) -> str:
    return path.stem


examples = pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=by_name)


def run(*arguments: str) -> tuple[str, float]:
    """What Python prints, and the CPU time that it and its children take, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@examples
def test_an_example_prints_what_it_promises_and_is_quick(example: Path) -> None:
    output, cpu_s = run(str(example))
    check(example, output)
    taken = [(cpu_s, CPU_LIMIT_S)]
    if "subprocess" in example.read_text():
        return
    while all(cpu_s >= limit_s for cpu_s, limit_s in taken) and len(taken) < ATTEMPTS:
        _, yardstick_s = run(*YARDSTICK)
        taken.append((run(str(example))[1], CPU_LIMIT_S * max(1, yardstick_s / YARDSTICK_S)))
    assert any(cpu_s < limit_s for cpu_s, limit_s in taken), f"CPU seconds, and their limits: {taken}"


def check(example: Path, output: str) -> None:
    pattern = example.with_suffix(".pattern")
    if not pattern.exists():
        assert output == example.with_suffix(".out").read_text()
        return
    lines = iter(output.splitlines())
    for wanted in pattern.read_text().splitlines():
        assert any(re.search(wanted, line) for line in lines), f"no line (from there on) with {wanted!r}:\n{output}"


@examples
def test_an_example_is_short(example: Path) -> None:
    by_hand = example.stem == "04_an_election_by_hand"
    assert len(example.read_text().splitlines()) <= (ELECTION_BY_HAND_LINES if by_hand else LINE_LIMIT)
