"""A bug that a test plants in a core, so that a world of its coordinator must notice it."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

Plant = Callable[[pytest.MonkeyPatch], None]


@attrs.frozen
class PlantedBug:
    """``world`` is a key of :data:`tests.coordinator.campaign.WORLDS`, and ``invariant`` what breaks there. None: the
    table of transitions of the core notices the bug.
    """

    world: str
    plant: Plant
    invariant: str | None

    def __str__(self) -> str:
        return f"{self.world}-{self.plant.__name__}"
