"""tests.abuse.watched_node: a campaign that sees no step would pass every attack."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.abuse import watched_node
from tests.abuse.watched_node import NOTED_S, STEPS, LongSteps


def test_the_node_runs_with_the_instrument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def see(*_: Any, instruments: Any) -> int:
        seen.extend(instruments)
        return 0

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kraft.node.command.trio.run", see)
    assert watched_node.run([]) == 0
    assert [type(each) for each in seen] == [LongSteps]


def test_a_long_step_is_written_with_its_task(tmp_path: Path) -> None:
    async def long_work() -> None:
        began = time.thread_time()
        while time.thread_time() - began < 2 * NOTED_S:
            pass
        await trio.lowlevel.checkpoint()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(long_work, name="handler 3")

    with (tmp_path / STEPS).open("a", buffering=1) as out:
        trio.run(main, instruments=[LongSteps(out)])
    (step,) = [json.loads(line) for line in (tmp_path / STEPS).read_text().splitlines()]
    assert (step["task"], step["api"]) == ("handler", "")
    assert step["cpu_ms"] >= 2 * NOTED_S * 1000
