"""The experiment on KIP-291 on real nodes, in a small form. It asserts no times: the machine may be busy."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from kraft.experiment.control_plane import Plan, run
from kraft.experiment.legacy_cluster import APACHE, CLIENTS, CONTROLLER, KRAFT
from kraft.story.experiments.control_plane import DEDICATED, IDLE, SATURATED, SHARED, Cell
from tests.support.fetchers import APACHE_KAFKA_WITH_ZOOKEEPER, apache_kafka

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]

MOVES = 2


@pytest.mark.parametrize(("software", "controller"), [(KRAFT, APACHE), (APACHE, APACHE), (KRAFT, KRAFT)])
def test_the_controllers_requests_are_measured_on_their_plane(tmp_path: Path, software: str, controller: str) -> None:
    """KIP-291: without ``control.plane.listener.name`` they go to the inter-broker listener, with it to their own. No
    acknowledged batch with acks=all is lost.
    """
    jars = apache_kafka(APACHE_KAFKA_WITH_ZOOKEEPER)
    plan = Plan(tmp_path, jars, [software], MOVES, connections=10, warm_up_s=0.5, controller=controller)
    cells: list[Cell] = []
    trio.run(run, plan, print, cells.append)
    assert [(cell.plane, cell.load) for cell in cells] == [
        (plane, load) for plane in (SHARED, DEDICATED) for load in (IDLE, SATURATED)
    ]
    for cell in cells:
        assert {each.listener for each in cell.requests} == {CONTROLLER if cell.plane == DEDICATED else CLIENTS}
        assert {(each.broker, each.api) for each in cell.requests} == {
            (broker, api) for broker in (1, 2) for api in ("LeaderAndIsr", "UpdateMetadata")
        }
        assert (cell.leaderless.count, cell.usurped.count, cell.stale.count) == (MOVES, MOVES, MOVES)
        assert all(each.queue_ms <= each.total_ms for each in cell.requests)
        assert cell.acknowledged > 0
        assert cell.lost_of_all == 0
        assert (cell.rounds is None) == (software == APACHE)
