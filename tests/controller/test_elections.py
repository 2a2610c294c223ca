"""Elections that follow a broker: only what concerns it is looked at."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.metadata.partitions import NO_LEADER, Partitions
from tests.controller.toy import ToyCluster


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The partitions that were read since the list was last cleared."""
    seen: list[int] = []
    read = Partitions.__getitem__

    def noted(self: Partitions, index: int) -> Any:
        seen.append(index)
        return read(self, index)

    def refused(self: Partitions) -> Any:
        raise AssertionError("all partitions were looked at")

    monkeypatch.setattr(Partitions, "__getitem__", noted)
    monkeypatch.setattr(Partitions, "items", refused)
    return seen


@pytest.mark.parametrize("stop", [False, True])
def test_only_the_partitions_of_a_broker_that_comes_or_goes_are_looked_at(looked_at: list[int], stop: bool) -> None:
    """A million partitions of other brokers must cost nothing."""
    toy = ToyCluster()
    toy.start(1, 2, 3)
    toy.create(assignment={index: [2, 3] for index in range(200)} | {200: [1, 3], 201: [2, 1]})
    toy.create("alone", assignment={0: [1]})
    epochs = [toy.partition(index=index).partition_epoch for index in (200, 201)]
    looked_at.clear()
    toy.heartbeat(1, fence=not stop, stop=stop)
    if stop:
        toy.heartbeat(1, stop=True)
    toy.heartbeat(1)
    assert set(looked_at) <= {200, 201, 0}
    assert epochs == [0, 0] != [toy.partition(index=index).partition_epoch for index in (200, 201)]
    assert toy.partition("alone").leader == (NO_LEADER if stop else 1)
