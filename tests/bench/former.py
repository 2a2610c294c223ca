"""This checkout beside a former commit of the same project: a change must not make plain requests slower.

A section of the page that measures other sections again, with the two checkouts as their only brokers.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence

from tests.bench.figures import Section, Table
from tests.bench.peers import FORMER, KRAFT, OursFrom, Peer
from tests.support.node_process import ROOT

SECTIONS = ("startup", "throughput", "latency", "small")
STARTS = 3
"""How often the nodes of both checkouts are started, each time for all rounds. Two processes of one commit differ by
some percent, because their objects lie elsewhere in memory.
"""
GIT_TIMEOUT_S = 60.0


def measure(
    peers: Sequence[Peer], rounds: int, sections: Sequence[Callable[[Sequence[Peer], int], Section]]
) -> Section:
    """Return one table with the rows of the first table of each section."""
    pair = [peer for peer in peers if peer.name in (KRAFT, FORMER)]
    beside = Table("Beside a former commit", [KRAFT, FORMER], base=FORMER)
    for section in sections:
        for _ in range(STARTS):
            table = section(pair, rounds).tables[0]
            for row in table.rows:
                kept = beside.row(f"{table.title}: {row.label}", row.unit)
                for name, samples in row.samples.items():
                    kept.samples.setdefault(name, []).extend(samples)
    notes = [f"`{peer.name}` is commit {commit_of(peer)}." for peer in pair]
    return Section("former", [beside], [], [" ".join(notes)])


def commit_of(peer: Peer) -> str:
    """The commit of its checkout, with ``-dirty`` where tracked files differ from it."""
    checkout = peer.kind.checkout if isinstance(peer.kind, OursFrom) else ROOT
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=GIT_TIMEOUT_S).stdout.strip()
