"""Trace hashes that every machine, Python and hash seed must come to.

They change whenever the cores, their driver or the world behave differently in these seeds, and only then;
``python -m tests.simulation.golden`` records them anew.
"""

from __future__ import annotations

import json
from pathlib import Path

from kraft.simulation.campaign import run_seed

#: Among them are all profiles, one to five voters, and observers.
SEEDS = (*range(12), 15, 19, 29, 30)
RECORD = Path(__file__).with_name("golden.json")


def hashes() -> dict[str, str]:
    return {str(seed): run_seed(seed).trace_hash for seed in SEEDS}


def recorded() -> dict[str, str]:
    found: dict[str, str] = json.loads(RECORD.read_text())
    return found


if __name__ == "__main__":
    RECORD.write_text(json.dumps(hashes(), indent=1) + "\n")
