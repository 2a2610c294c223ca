"""The control plane of a broker with ZooKeeper survives its data plane: whole nodes in virtual time, under load."""

from __future__ import annotations

import pytest

from tests.simulation.virtual_legacy_overload import run_seed
from tests.support.covered import first_covered

SEED = 7
"""600 clients and more load the controller's broker."""
SLICES_SEED = 18
"""50 clients have work in many slices. A LeaderAndIsr that waited for theirs took 3.9 s."""


@pytest.mark.parametrize("seed", first_covered([SEED, 37]))
def test_no_load_delays_or_loses_a_request_of_the_controller(seed: int) -> None:
    """KIP-291: "Controller requests will not longer be blocked by data requests"."""
    outcome = run_seed(seed)
    assert outcome.broken is None, outcome
    assert outcome.seen.of_controller > 20
    assert outcome.seen.requests["data"] > 500


def test_the_brokers_follow_the_next_controller_under_load() -> None:
    """KIP-291, footnote 2: "during controller failovers, a broker might receive multiple controller requests from
    different controllers". Here the controller's session expires in the middle of the load.
    """
    outcome = run_seed(SLICES_SEED, expires=True)
    assert outcome.broken is None, outcome


@pytest.mark.no_cover
def test_without_a_control_plane_the_same_load_delays_them() -> None:
    """ "a controller request is enqueued into the requestQueue after a backlog of data requests, and experiences a long
    queuing time".
    """
    outcome = run_seed(SEED, has_control_plane=False)
    assert outcome.broken is not None, outcome
    assert outcome.broken.startswith(("NoLostRequest: ", "AnswersInTime: "))
