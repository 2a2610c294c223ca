"""``python -m kraft.experiment.watched_node ROUNDS FILE``: a node, with the rounds of its event loop in ``ROUNDS``.

Trio runs all runnable tasks once, and then waits for sockets and timers: a round. A request of the control plane waits
for some rounds, however short its own queue is. An instrument for each round costs about a microsecond, and so is no
part of an ordinary node.
"""

from __future__ import annotations

import json
import sys
from array import array
from pathlib import Path

import trio

from kraft.node.command import run
from kraft.world.clock import Clock

SHORTEST_S = 0.0005
MAX_ROUNDS = 2_000_000


class Rounds(trio.abc.Instrument):
    """Notes the rounds of at least ``SHORTEST_S``, with the times when they ended."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._began_s = clock.now_s()
        self._rounds = array("d")

    def after_io_wait(self, timeout: float) -> None:
        self._began_s = self._clock.now_s()

    def before_io_wait(self, timeout: float) -> None:
        now_s = self._clock.now_s()
        took_s = now_s - self._began_s
        if took_s >= SHORTEST_S and len(self._rounds) < 2 * MAX_ROUNDS:
            self._rounds.append(now_s * 1000)
            self._rounds.append(took_s * 1000)

    def after_run(self) -> None:
        self._path.write_text(json.dumps([round(each, 3) for each in self._rounds]))


def read_rounds(path: Path) -> list[tuple[float, float]]:
    """Return the rounds that a node noted: when each ended, in milliseconds since the epoch, and how long it took.

    Raises OSError, ValueError.
    """
    found = json.loads(path.read_bytes())
    return list(zip(found[::2], found[1::2], strict=True))


if __name__ == "__main__":
    sys.exit(run(sys.argv[2:], instruments=[Rounds(Path(sys.argv[1]), Clock())]))
