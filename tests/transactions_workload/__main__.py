"""``python -m tests.transactions_workload --seconds N --seed S``: the workload for a while, and what it found.

Exit status 1 for an anomaly that Kafka does not permit, or a traceback of a node. A run with the printed seed repeats
the order of the faults; the clients' races differ.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.support.node_process import RELEASE
from tests.transactions_workload.campaign import faults, longest, run
from tests.transactions_workload.checker import forbidden

SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.transactions_workload", description="Look for anomalies.")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--release", default=RELEASE, help="4.0: the nodes have transaction.version 2")
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.seconds:g} s, release {options.release}", flush=True)
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="kraft-transactions-") as directory:
        result = run(Path(directory), chance, faults(chance, options.seconds), release=options.release)
    print(f"{result.summary()}; the longest took {longest(result.history.transactions):.1f} s")
    for kind, count in Counter(anomaly.kind.value for anomaly in result.anomalies).most_common():
        print(f"{count} x {kind}")
    for anomaly in result.anomalies[:SHOWN]:
        print(anomaly)
    found = forbidden(result.anomalies)
    print(f"{len(found)} anomalies that Kafka forbids, {len(result.anomalies) - len(found)} that it permits")
    for node_id in result.tracebacks:
        print(f"node {node_id} logged a traceback")
    return 1 if found or result.tracebacks else 0


if __name__ == "__main__":
    sys.exit(main())
