"""The loop of a campaign: one seed after the other, each in a new directory, and the number of those that failed."""

from __future__ import annotations

import argparse
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path


def add_seeds(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--seeds", default=default, metavar="A:B", help="the seeds from A to B - 1")


def run_seeds(seeds: str, run: Callable[[int, Path], object], verdict: str) -> int:
    """Run the seeds, and print each outcome. ``verdict`` is the claim about a seed that did not fail.

    Return the exit status: 1 if a seed failed.
    """
    first, last = map(int, seeds.split(":"))
    failed = 0
    for seed in range(first, last):
        with tempfile.TemporaryDirectory(prefix="kraft-seed-", ignore_cleanup_errors=True) as directory:
            try:
                print(run(seed, Path(directory)), flush=True)
            except Exception:
                failed += 1
                print(f"seed {seed}: failed\n{traceback.format_exc()}", flush=True)
    print(f"{last - first - failed} of {last - first} seeds: {verdict}")
    return int(failed > 0)
