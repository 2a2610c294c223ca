"""The heaviest legal requests of every API leave the quorum of three combined nodes alone, and the brokers' leases.

A sample of ``python -m tests.abuse --tables specs``, which has all versions and arrays at their largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.abuse.campaign import neighbour, strike
from tests.abuse.generated import Case, Likeliest, cases
from tests.abuse.state import everything, id_of_wide_topic
from tests.abuse.target import running_target
from tests.fuzz.strike import CLIENT_APIS, CONTROL_APIS
from tests.support.node_process import OURS
from tests.support.quorum_view import wait_for_leader

ELEMENTS = 10_000
"""A tenth of the most that a request may have, for the sake of the suite's time."""


def sample() -> Iterator[Case]:
    """Of each API the newest version, and there one shape of each array in turn."""
    for at_controller, apis in ((False, CLIENT_APIS), (True, CONTROL_APIS)):
        for key, (_, newest) in apis.items():
            found = list(cases({key: (newest, newest)}, at_controller=at_controller, every_version=False))
            arrays = list(dict.fromkeys(case.array for case in found))
            for number, array in enumerate(arrays):
                of_array = [case for case in found if case.array == array]
                yield of_array[number % len(of_array)]


def test_the_heaviest_requests_at_the_leaders_node_depose_and_fence_nobody(tmp_path: Path) -> None:
    """KIP-595's fetch timeout (2 s) and the brokers' session (9 s) are Kafka's."""
    with running_target(tmp_path, OURS, 3) as target:
        before = wait_for_leader(target.cluster)
        with neighbour(target.address, target.broker_id) as friend:
            everything(friend)
            likeliest = Likeliest(id_of_wide_topic(friend))
            for case in sample():
                address = target.controller_address if case.at_controller else target.address
                strike(address, [case.frame(likeliest, ELEMENTS)])
            everything(friend)
            friend.live()
        after = wait_for_leader(target.cluster)
        assert target.is_alive
        assert (after.leader_id, after.epoch, target.fenced()) == (before.leader_id, before.epoch, 0)
