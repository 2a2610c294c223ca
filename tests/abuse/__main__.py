"""``python -m tests.abuse``: the heaviest requests against a node in a process of its own, and a table.

``--steps`` shows instead the longest steps of a node's tasks by CPU time, which needs no quiet machine.
``--peers kraft,apache`` sends Apache Kafka the same bytes. Exit status 1 if a node ended, or if an attack changed the
epoch of its quorum.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.abuse.attacks import ATTACKS
from tests.abuse.campaign import Verdict, judge
from tests.abuse.steps import longest_steps
from tests.support.apache_process import Apache
from tests.support.fetchers import APACHE_KAFKA, QUICK_JVM
from tests.support.node_process import OURS, Kind, NodeProcess

KINDS: dict[str, Callable[[], Kind]] = {
    "kraft": lambda: OURS,
    # The heap that Apache's own start script gives.
    "apache": lambda: Apache(APACHE_KAFKA, (*QUICK_JVM, "-Xmx1g", "-Xms1g")),
}
HEAD = (
    "| attack | node | attacker | neighbour's worst wait | its p99 | quiet p99 | MiB before, peak, after | epoch |\n"
    "|---|---|---|---|---|---|---|---|"
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.abuse", description="Send a node the heaviest requests.")
    parser.add_argument("--peers", default="kraft", help="kraft, apache or both, with a comma")
    parser.add_argument("--only", default="", help="the attacks whose name has this text")
    parser.add_argument("--steps", action="store_true", help="the CPU time of the longest steps of the node's tasks")
    options = parser.parse_args()
    chosen = [attack for name, attack in ATTACKS.items() if options.only in name]
    if options.steps:
        for attack in chosen:
            worst = ", ".join(f"{task} {seconds * 1000:.0f} ms" for task, seconds in longest_steps(attack))
            print(f"{attack.name}: {worst}", flush=True)
        return 0
    failed = False
    print(HEAD, flush=True)
    for attack in chosen:
        for peer in options.peers.split(","):
            with tempfile.TemporaryDirectory(prefix="kraft-abuse-") as directory:
                node = NodeProcess(Path(directory), kind=KINDS[peer]())
                try:
                    verdict = judge(node.start(), attack)
                finally:
                    node.kill()
            print("| " + " | ".join(cells(peer, verdict)) + " |", flush=True)
            failed |= not verdict.alive or verdict.epochs[0] != verdict.epochs[1]
    return int(failed)


def cells(peer: str, verdict: Verdict) -> Iterable[str]:
    yield verdict.attack
    yield peer
    yield str(verdict.outcome) if verdict.alive else "the node ended"
    yield f"{verdict.worst_ms:.0f} ms"
    yield f"{verdict.p99_ms:.1f} ms"
    yield f"{verdict.quiet_ms:.1f} ms"
    yield ", ".join(map(str, verdict.memory_mib))
    yield " → ".join(map(str, verdict.epochs))


if __name__ == "__main__":
    sys.exit(main())
