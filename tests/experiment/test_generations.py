"""The experiment on both generations on real nodes, in a small form. It asserts no times: the machine may be busy."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from kraft.cli.experiment import COMBINATIONS
from kraft.experiment.generations import GenerationsPlan, run
from kraft.story.experiments.generations import GenerationCell
from tests.support.fetchers import APACHE_KAFKA_WITH_ZOOKEEPER, apache_kafka

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]


@pytest.mark.parametrize(("software", "mode"), COMBINATIONS)
def test_another_controller_is_elected_and_creates_a_topic(tmp_path: Path, software: str, mode: str) -> None:
    """Each number of partitions has its losses, and a takeover begins after the loss and ends after the election."""
    jars = apache_kafka(APACHE_KAFKA_WITH_ZOOKEEPER)
    plan = GenerationsPlan(tmp_path, jars, [(software, mode)], partitions=(20, 40), losses=1)
    cells: list[GenerationCell] = []
    trio.run(run, plan, print, cells.append)
    assert [cell.partitions for cell in cells] == [20, 40]
    for cell in cells:
        (loss,) = cell.losses
        assert loss.killed_ms < loss.elected_ms < loss.usable_ms
