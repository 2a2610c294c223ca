"""Kills between any two steps of a pipeline's store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from kraft.spark.pipeline import files

Step = tuple[Any, str]
"""A function that changes tables: its owner and its name."""
FILES: Sequence[Step] = [(files, "publish"), (files, "remove"), (files, "write_text")]


class Killed(BaseException):
    """The process was killed."""


@attrs.define
class Killer:
    """Lets ``budget`` changes of tables happen, and kills the process at the next. Deletions are cut short."""

    budget: int

    def change(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any, **options: Any) -> Any:
            self.budget -= 1
            if self.budget < 0:
                if real is files.remove:
                    next(Path(arguments[0]).rglob("*.parquet")).unlink()
                raise Killed
            return real(*arguments, **options)

        return changed


def until_done(
    monkeypatch: pytest.MonkeyPatch,
    steps: Sequence[Step],
    attempt: Callable[[], object],
    after: Callable[[], object],
    budgets: Iterable[int],
) -> int:
    """Attempt again until it is done, and check ``after`` each kill. Return the number of kills."""
    for kills, budget in enumerate(budgets):
        killer = Killer(budget)
        with monkeypatch.context() as patch:
            for owner, name in steps:
                patch.setattr(owner, name, killer.change(getattr(owner, name)))
            try:
                attempt()
            except Killed:
                pass
            else:
                return kills
        after()
    raise AssertionError("not done within all budgets")
