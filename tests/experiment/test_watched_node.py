"""The rounds of an event loop: a step that works is in its round."""

from __future__ import annotations

from pathlib import Path

import trio

from kraft.experiment.watched_node import Rounds, read_rounds
from kraft.world.clock import Clock


class StoppedClock(Clock):
    """Advances only when a test works."""

    seconds = 1000.0

    def now_s(self) -> float:
        return self.seconds


def test_a_round_is_as_long_as_the_steps_of_all_its_tasks(tmp_path: Path) -> None:
    clock = StoppedClock()

    async def work(seconds: float) -> None:
        StoppedClock.seconds += seconds

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(work, 0.25)
        await trio.lowlevel.checkpoint()

    trio.run(main, instruments=[Rounds(tmp_path / "rounds.json", clock, lambda: clock.now_s() / 5)])
    assert read_rounds(tmp_path / "rounds.json") == [(1_000_750.0, 750.0, 150.0)]
