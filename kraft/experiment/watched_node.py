"""``python -m kraft.experiment.watched_node ROUNDS FILE``: a node, with the rounds of its event loop in ``ROUNDS``.

Trio runs all runnable tasks once, and then waits for sockets and timers: a round. A request of the control plane waits
for some rounds, however short its own queue is. An instrument for each round costs about a microsecond, and so is no
part of an ordinary node.
"""

from __future__ import annotations

import json
import sys
import time
from array import array
from collections.abc import Callable
from pathlib import Path

import trio

from kraft.node.__main__ import main
from kraft.world.clock import Clock

SHORTEST_S = 0.0005
MAX_ROUNDS = 2_000_000


class Rounds(trio.abc.Instrument):
    """Notes the rounds of at least ``SHORTEST_S``: the time when each ended, its length, and the CPU time in it.

    The CPU time, from ``cpu_s``, does not count the work of other processes on a busy machine.
    """

    def __init__(self, path: Path, clock: Clock, cpu_s: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._cpu_s = cpu_s
        self._began_s, self._began_cpu_s = clock.now_s(), cpu_s()
        self._rounds = array("d")

    def after_io_wait(self, timeout: float) -> None:
        self._began_s, self._began_cpu_s = self._clock.now_s(), self._cpu_s()

    def before_io_wait(self, timeout: float) -> None:
        now_s = self._clock.now_s()
        took_s = now_s - self._began_s
        if took_s >= SHORTEST_S and len(self._rounds) < 3 * MAX_ROUNDS:
            cpu_s = self._cpu_s() - self._began_cpu_s
            self._rounds.extend((now_s * 1000, took_s * 1000, cpu_s * 1000))

    def after_run(self) -> None:
        self._path.write_text(json.dumps([round(each, 3) for each in self._rounds]))


def read_rounds(path: Path) -> list[tuple[float, float, float]]:
    """Return the rounds that a node noted: when each ended (since the epoch), its length and its CPU time. All are in
    milliseconds.

    Raises OSError, ValueError.
    """
    found = json.loads(path.read_bytes())
    return list(zip(found[::3], found[1::3], found[2::3], strict=True))


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:], [Rounds(Path(sys.argv[1]), Clock(), time.thread_time)]))
