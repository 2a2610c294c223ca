"""``python -m tests.bench.profiled FILE``: a node that samples itself.

A timer of consumed CPU time interrupts the node a thousand times per second and counts the function it is in, so C
calls (``send``, ``epoll_wait``, ``write``) count for the Python function that makes them. Unlike a tracing profiler it
charges short functions no more than long ones. The counts are written when the node stops.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

from kraft.node.__main__ import main
from tests.bench.peers import KRAFT, Peer
from tests.support.node_process import Ours

INTERVAL_S = 0.001
OUTPUT = "profile.json"
SHOWN = 16


def profiled_kraft() -> Peer:
    return Peer(KRAFT, "kraft, profiled", True, Ours("tests.bench.profiled"))


def profile_of(directory: Path) -> list[tuple[str, float]]:
    """The functions that took most, with their share of all samples; the rest as one line."""
    counts: dict[str, int] = json.loads((directory / OUTPUT).read_text())
    total = sum(counts.values())
    top = Counter(counts).most_common(SHOWN)
    rest = total - sum(count for _, count in top)
    return [(f"`{name}`", count / total) for name, count in top] + [("everything else", rest / total)]


def _name(frame: FrameType) -> str:
    path = frame.f_code.co_filename
    for root in (os.sep + "site-packages" + os.sep, os.sep + "kraft" + os.sep):
        if root in path:
            path = path.rpartition(root)[2]
            break
    else:
        path = os.path.basename(path)
    return f"{path} {frame.f_code.co_qualname}"


def run() -> int:
    counts: Counter[str] = Counter()

    def sample(_: int, frame: FrameType | None) -> None:
        if frame is not None:
            counts[_name(frame)] += 1

    signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)
    try:
        return main()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        Path(OUTPUT).write_text(json.dumps(counts))


if __name__ == "__main__":
    sys.exit(run())
