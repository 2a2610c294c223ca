"""Trace hashes that must be equal on every machine, Python and hash seed.

A hash changes only if the cores, the simulated driver or the world behave differently in that seed. ``python -m
tests.simulation.golden`` records new hashes.
"""

from __future__ import annotations

import json
from pathlib import Path

from kraft.simulation.campaign import run_seed

#: These seeds cover all profiles, one to five voters, and observers.
SEEDS = (*range(12), 15, 19, 29, 30)
RECORD = Path(__file__).with_name("golden.json")


def hashes() -> dict[str, str]:
    return {str(seed): run_seed(seed).trace_hash for seed in SEEDS}


def recorded() -> dict[str, str]:
    found: dict[str, str] = json.loads(RECORD.read_text())
    return found


if __name__ == "__main__":
    RECORD.write_text(json.dumps(hashes(), indent=1) + "\n")
